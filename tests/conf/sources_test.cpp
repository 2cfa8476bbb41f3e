// Where settings come from: properties, TOML, files, the environment.
#include <catch2/catch.hpp>

#include <algorithm>

#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"
#include "conf/sources/properties.hpp"
#include "conf/sources/toml.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;

TEST_CASE("properties grammar") {
  struct Case {
    std::string name, text;
    Pairs want;
  };
  const Case cases[] = {
      {"separators",
       "a 1\nb=2\nc:3\nd = 4\ne\t:  5\n",
       {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}}},
      {"only the first separator counts", "a=b=c\nd e f\n", {{"a", "b=c"}, {"d", "e f"}}},
      {"comments and blank lines",
       "# x\n  ! y\n\n \t \na 1 # no comment\n",
       {{"a", "1 # no comment"}}},
      {"key without value", "a\nb=\n", {{"a", ""}, {"b", ""}}},
      {"continuation",
       "a 1,\\\n    2,\\\n  3\nb x\\\\\nc y",
       {{"a", "1,2,3"}, {"b", "x\\"}, {"c", "y"}}},
      {"continued line is no comment", "a 1\\\n#2\n", {{"a", "1#2"}}},
      {"CR and CR LF end lines", "a 1\rb 2\r\nc 3", {{"a", "1"}, {"b", "2"}, {"c", "3"}}},
      {"escapes", "a \\u0041\\t.\\n.\\q\nk\\ e\\:y\\=1 v", {{"a", "A\t.\n.q"}, {"k e:y=1", "v"}}},
      {"UTF-8 stays", "a ä\nb \\u00e4\nc \\ud83d\\ude00", {{"a", "ä"}, {"b", "ä"}, {"c", "😀"}}},
      {"a repeated key is kept in order", "a 1\na 2", {{"a", "1"}, {"a", "2"}}},
      {"lone backslash at the end", "a 1\\", {{"a", "1"}}},
      {"byte order mark",
       "\xEF\xBB\xBF"
       "a 1",
       {{"a", "1"}}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(parse_properties(c.text) == c.want);
  }
  CHECK_THROWS_WITH(parse_properties("a \\u12g4"), Contains("Malformed \\uxxxx encoding"));
  CHECK_THROWS_WITH(parse_file("x.conf", "a \\u1"), Contains("Invalid properties file 'x.conf'"));
}

TEST_CASE("U18 CR and LF at a value's ends stay, blanks and form feeds go") {
  CHECK(parse_properties("a \\n\nb \\nblah\nc blah\\r\nd \\rblah\\n\ne \\ blah\\f\nf  x \t\n") ==
        Pairs{{"a", "\n"},
              {"b", "\nblah"},
              {"c", "blah\r"},
              {"d", "\rblah\n"},
              {"e", "blah"},
              {"f", "x"}});
  Layers layers;
  layers.add_conf("spark.my.lf=\n").add_conf("spark.my.blank= blah\f");
  CHECK(layers.build().find("spark.my.lf") == "\n");
  CHECK(layers.build().find("spark.my.blank") == "blah");
}

TEST_CASE("properties survive writing and reading") {
  const Pairs pairs = {
      {"spark.a", "1"},          {"spark.b", "x=y:z #!"},   {"spark.c", "#first"},
      {"spark.d", "a\\b\nc\rd"}, {"spark.e", ""},           {"spark.f", "ä😀"},
      {"spark.g h:i=j", "\n"},   {"#spark", "tab\tinside"}, {"spark.h", "\\u0041"}};
  CHECK(parse_properties(to_properties(pairs)) == pairs);
}

TEST_CASE("TOML tables flatten to the same keys") {
  Pairs pairs = parse_toml(R"(
[spark]
master = "spark://h:7077"
[spark.executor]
memory = "2g"
cores = 4
[spark.task]
cpus = 1
[spark.speculation]
interval = "1s"
[spark.files]
useFetchCache = true
[tinderbox.task]
launchAhead = 8
[other]
"spark.jars" = ["a", "b"]
real = 0.5
)");
  std::sort(pairs.begin(), pairs.end());
  CHECK(pairs == Pairs{{"other.real", "0.5"},
                       {"other.spark.jars", "a,b"},
                       {"spark.executor.cores", "4"},
                       {"spark.executor.memory", "2g"},
                       {"spark.files.useFetchCache", "true"},
                       {"spark.master", "spark://h:7077"},
                       {"spark.speculation.interval", "1s"},
                       {"spark.task.cpus", "1"},
                       {"tinderbox.task.launchAhead", "8"}});
  CHECK(parse_toml("\"spark.speculation\" = true") == Pairs{{"spark.speculation", "true"}});
  CHECK_THROWS_WITH(parse_toml("a = \nb = 1"), Contains("line 1"));
  const std::string below = "spark.speculation = true\nspark.speculation.interval = '1s'";
  CHECK_THROWS_WITH(parse_toml(below), Contains("line 2") && Contains("in quotes"));
  CHECK(parse_toml("spark.speculation = true\n\"spark.speculation.interval\" = '1s'").size() == 2);
  CHECK_THROWS_WITH(parse_file("c.toml", "a ="), Contains("Invalid properties file 'c.toml'"));
  CHECK_THROWS_WITH(parse_toml("spark.x = [[1]]"), Contains("spark.x must be a plain value"));
  CHECK(parse_file("c.toml", "spark.a = 1") == Pairs{{"spark.a", "1"}});
  CHECK(parse_file("c.conf", "spark.a = 1") == Pairs{{"spark.a", "1"}});
}

TEST_CASE("files are told from directories and from nothing") {
  CHECK(read_file("/no/such/file").kind == FileText::Kind::kMissing);
  CHECK(read_file("conf").kind == FileText::Kind::kDirectory);
  CHECK(read_file("/dev/null").kind == FileText::Kind::kOther);
  const FileText own = read_file("conf/keys.hpp");
  CHECK(own.kind == FileText::Kind::kRegular);
  CHECK_THAT(own.text, Contains("spark.executor.memory"));
}

TEST_CASE("environment variables reach their keys, each role its own") {
  const char* variables[] = {"MASTER=local[3]",
                             "SPARK_EXECUTOR_MEMORY=2g",
                             "SPARK_WORKER_CORES=3",
                             "SPARK_MASTER_PORT=tcp://10.0.0.1:7077",
                             "SPARK_MASTER_HOST=m",
                             "SPARK_LOCAL_DIRS=/a,/b",
                             "SPARK_LOCAL_IP=127.0.0.1",
                             "SPARK_WORKER_DIR=",
                             "PATH=/bin",
                             "NOEQUALS",
                             nullptr};
  const Environment environment = environment_of(variables);
  const auto with = [&](Scope scope) {
    Layers layers;
    layers.add_file("f", "spark.local.dir /file\ntinderbox.local.ip=::1\n");
    add_environment(layers, environment, scope);
    return layers.build();
  };
  CHECK(with(Scope::kSubmit).get(kMaster) == "local[3]");
  CHECK(with(Scope::kSubmit).get(kExecutorMemory) == int64_t{2} << 30);
  CHECK_FALSE(with(Scope::kSubmit).get(kWorkerCores));
  CHECK(with(Scope::kWorker).get(kWorkerCores) == 3);
  CHECK(with(Scope::kWorker).get(kWorkerDir) == Conf().get(kWorkerDir));  // empty: not set
  CHECK(with(Scope::kMaster).get(kMasterHost) == "m");
  CHECK(with(Scope::kMaster).get(kMasterPort) == 7077);  // a Kubernetes service link is no port
  // SPARK_LOCAL_DIRS beats the file, SPARK_LOCAL_IP does not.
  const Conf node = with(Scope::kNode);
  CHECK(node.get(kLocalDir) == std::vector<std::string>{"/a", "/b"});
  CHECK(node.get(kLocalIp) == "::1");
  CHECK_FALSE(without_node_values(node).has(kLocalDir));
  CHECK(without_node_values(node).has(kLocalIp));
  CHECK(default_properties_path({{"SPARK_CONF_DIR", "/c"}, {"SPARK_HOME", "/h"}}) ==
        "/c/spark-defaults.conf");
  CHECK(default_properties_path({{"SPARK_HOME", "/h"}}) == "/h/conf/spark-defaults.conf");
  CHECK(default_properties_path({}).empty());
}
