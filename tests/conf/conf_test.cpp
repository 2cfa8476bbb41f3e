// Configuration: units, typed reading, layers, files, suggestions, redaction, master URLs,
// addresses, environment.
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"
#include "conf/sources/properties.hpp"
#include "conf/sources/toml.hpp"
#include "conf/suggest.hpp"
#include "conf/values/master_url.hpp"
#include "conf/values/resources.hpp"
#include "conf/values/units.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

namespace {

constexpr int64_t kKi = 1024, kMi = kKi * kKi, kGi = kKi * kMi;

}  // namespace

TEST_CASE("sizes are powers of 1024 in the key's unit") {
  struct Case {
    std::string text;
    Unit unit;
    int64_t want;
  };
  const Case cases[] = {
      {"512", Unit::kMiB, 512 * kMi},
      {"512", Unit::kByte, 512},
      {"4", Unit::kKiB, 4 * kKi},
      {"50b", Unit::kMiB, 50},
      {"100k", Unit::kByte, 100 * kKi},
      {"100kb", Unit::kByte, 100 * kKi},
      {"2m", Unit::kByte, 2 * kMi},
      {"2MB", Unit::kByte, 2 * kMi},
      {"1g", Unit::kMiB, kGi},
      {" 1G ", Unit::kMiB, kGi},
      {"1t", Unit::kByte, kGi * kKi},
      {"3pb", Unit::kByte, 3 * kGi * kMi},
      {"0", Unit::kMiB, 0},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(parse_size(c.text, c.unit) == c.want);
  }
}

TEST_CASE("malformed sizes say what a size is") {
  CHECK_THROWS_WITH(parse_size("1.5g", Unit::kByte),
                    Contains("Fractional values are not supported. Input was: 1.5g"));
  CHECK_THROWS_WITH(parse_size("0.5", Unit::kByte), Contains("Fractional values"));
  CHECK_THROWS_WITH(parse_size("1x", Unit::kByte), Contains("Invalid suffix: \"x\""));
  CHECK_THROWS_WITH(parse_size("1us", Unit::kByte), Contains("Invalid suffix"));
  for (const char* text : {"", "g", "-1", "-1g", "1 g", "1g2", "0x10", "1e3", "1.g"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_size(text, Unit::kByte),
                      Contains("Size must be specified as bytes (b)"));
  }
  CHECK_THROWS_WITH(parse_size("9223372036854775807k", Unit::kByte), Contains("too large"));
  CHECK_THROWS_AS(parse_size("99999999999999999999", Unit::kByte), Error);
}

TEST_CASE("times have suffixes or the key's unit, and may be negative") {
  CHECK(parse_time("250us", Unit::kSecond) == 250us);
  CHECK(parse_time("100ms", Unit::kSecond) == 100ms);
  CHECK(parse_time("50s", Unit::kMillisecond) == 50s);
  CHECK(parse_time("5m", Unit::kMillisecond) == 5min);
  CHECK(parse_time("5MIN", Unit::kMillisecond) == 5min);
  CHECK(parse_time("2h", Unit::kMillisecond) == 2h);
  CHECK(parse_time("365d", Unit::kMillisecond) == 365 * 24h);
  CHECK(parse_time("60", Unit::kSecond) == 60s);
  CHECK(parse_time("60", Unit::kMillisecond) == 60ms);
  CHECK(parse_time("60", Unit::kMinute) == 60min);
  CHECK(parse_time("-1ms", Unit::kMillisecond) == -1ms);
  for (const char* text : {"", "-", "s", "1.5s", "1y", "1 s", "--1"}) {
    INFO(text);
    CHECK_THROWS_WITH(parse_time(text, Unit::kSecond),
                      Contains("Time must be specified as seconds"));
  }
}

TEST_CASE("booleans and numbers") {
  CHECK(parse_bool("true") == true);
  CHECK(parse_bool(" TRUE ") == true);
  CHECK(parse_bool("False") == false);
  for (const char* text : {"", "1", "yes", "tru", "t rue", "on"}) CHECK_FALSE(parse_bool(text));
  CHECK(parse_int(" 12 ") == 12);
  CHECK(parse_int("-3") == -3);
  CHECK(parse_int("+3") == 3);
  for (const char* text : {"", "a", "1a", "1.0", "2147483648", "+-1", "0x1"})
    CHECK_FALSE(parse_int(text));
  CHECK(parse_double("0.25") == 0.25);
  CHECK_FALSE(parse_double("0.25x"));
  CHECK(parse_list(" a, b,,c ") == std::vector<std::string>{"a", "b", "c"});
  CHECK(parse_list("").empty());
}

TEST_CASE("sizes for people change unit at twice its size") {
  CHECK(show_size(17) == "17.0 B");
  CHECK(show_size(2047) == "2047.0 B");
  CHECK(show_size(2048) == "2.0 KiB");
  CHECK(show_size(512 * kMi) == "512.0 MiB");
}

TEST_CASE("the catalogue lists every key of keys.hpp once, and every default is of its type") {
  std::ifstream file("conf/keys.hpp");
  REQUIRE(file);  // run from the top of the tree
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const std::regex definition("inline constexpr Key<");
  const auto defined = std::distance(std::sregex_iterator(header.begin(), header.end(), definition),
                                     std::sregex_iterator());
  CHECK(static_cast<size_t>(defined) == catalogue().size());
  std::set<std::string_view> names;
  Layers all_defaults;
  for (const KeySpec* key : catalogue()) {
    INFO(key->name);
    CHECK(names.insert(key->name).second);
    CHECK_FALSE(key->doc.empty());
    CHECK((key->name.starts_with("spark.") || key->name.starts_with("tinderbox.")));
    CHECK((key->type != Type::kTime && key->type != Type::kSize) == (key->unit == Unit::kNone));
    if (key->default_text) all_defaults.add(Source::kConf, key->name, *key->default_text);
  }
  CHECK_NOTHROW(all_defaults.build().check());
}

TEST_CASE("defaults are Spark's") {
  const Conf conf;
  CHECK(conf.get(kMaster) == "local[*]");
  CHECK(conf.get(kExecutorMemory) == kGi);
  CHECK(conf.get(kTaskMaxFailures) == 4);
  CHECK(conf.get(kNetworkTimeout) == 120s);
  CHECK(conf.get(kExecutorHeartbeatInterval) == 10s);
  CHECK(conf.get(kWorkerTimeout) == 60s);
  CHECK(conf.get(kReducerMaxSizeInFlight) == 48 * kMi);
  CHECK(conf.get(kBroadcastBlockSize) == 4 * kMi);
  CHECK(conf.get(kRpcMessageMaxSize) == 128 * kMi);
  CHECK(conf.get(kWorkerCleanupAppDataTtl) == 7 * 24h);
  CHECK(conf.get(kMemoryFraction) == 0.6);
  CHECK(conf.get(kLocalDir) == std::vector<std::string>{"/tmp"});
  CHECK_FALSE(conf.get(kCoresMax));
  CHECK_FALSE(conf.get(kDriverBindAddress));
}

TEST_CASE("values of another type are refused by name") {
  struct Case {
    std::string name, value, want;
  };
  const Case cases[] = {
      {"spark.shuffle.compress", "yes", "spark.shuffle.compress should be boolean, but was yes"},
      {"spark.task.maxFailures", "x", "spark.task.maxFailures should be int, but was x"},
      {"spark.cores.max", "2.5", "spark.cores.max should be int, but was 2.5"},
      {"spark.memory.fraction", "big", "spark.memory.fraction should be double, but was big"},
      {"spark.app.submitTime", "now", "spark.app.submitTime should be long, but was now"},
      {"spark.executor.memory", "1x", "spark.executor.memory should be a size, but was 1x: "},
      {"spark.network.timeout", "1y", "spark.network.timeout should be a time, but was 1y: "},
      {"spark.authenticate", "true",
       "spark.authenticate=true: connections cannot be authenticated"},
      {"spark.deploy.spreadOut", "no", "spark.deploy.spreadOut should be boolean, but was no"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const Conf conf = Conf::of({{c.name, c.value}});
    CHECK_THROWS_WITH(conf.check(), Contains(c.want));
  }
  CHECK_THROWS_WITH(Conf::of({{"spark.locality.wait", "x"}}).get(kLocalityWaitNode),
                    Contains("spark.locality.wait should be a time"));
}

TEST_CASE("a key falls back to another, and reads its older name") {
  const Conf base = Conf::of({{"spark.locality.wait", "5s"}, {"spark.network.timeout", "300"}});
  CHECK(base.get(kLocalityWaitNode) == 5s);
  CHECK(base.with(kLocalityWaitNode, "0").get(kLocalityWaitNode) == 0s);
  CHECK(base.get(kExecutorTimeout) == 300s);
  // The key's own unit is milliseconds in Spark's name, seconds in the key it falls back to.
  CHECK(base.with("spark.storage.blockManagerSlaveTimeoutMs", "7s").get(kExecutorTimeout) == 7s);
  CHECK_FALSE(base.has(kLocalityWaitNode));
  CHECK(Conf::of({{"spark.deploy.spreadOut", "false"}}).get(kDeploySpreadOutApps) == false);
  CHECK(Conf::of({{"spark.deploy.spreadOut", "false"}, {"spark.deploy.spreadOutApps", "true"}})
            .get(kDeploySpreadOutApps) == true);
  CHECK(Conf::of({{"spark.deploy.spreadOut", "false"}}).has(kDeploySpreadOutApps));
}

TEST_CASE("a conf is a value: copies differ, pairs travel") {
  const Conf one = Conf::of({{"spark.app.name", "a"}, {"spark.executorEnv.X", "1"}});
  const Conf two = one.with(kAppName, "b").without("spark.executorEnv.X");
  CHECK(one.get(kAppName) == "a");
  CHECK(two.get(kAppName) == "b");
  CHECK(two.all().size() == 1);
  CHECK(one.with_prefix("spark.executorEnv.") == Pairs{{"X", "1"}});
  CHECK(Conf::of(one.pairs()).pairs() == one.pairs());
  CHECK_FALSE(one.find("spark.nope"));
}

TEST_CASE("the higher layer wins whatever the order, in one layer the last") {
  Layers layers;
  layers.add(Source::kOption, "spark.executor.memory", "5g", "--executor-memory")
      .add_conf("spark.executor.memory=4g")
      .add_conf("spark.executor.cores=1")
      .add_conf("spark.executor.cores=2")
      .add_file("x.conf", "spark.executor.memory 3g\nspark.executor.cores 9\nspark.task.cpus 2\n")
      .add(Source::kEnvironment, "spark.task.cpus", "7", "X")
      .add(Source::kEnvironment, "spark.master", "local", "MASTER");
  const Conf conf = layers.build();
  CHECK(conf.get(kExecutorMemory) == 5 * kGi);
  CHECK(conf.get(kExecutorCores) == 2);
  CHECK(conf.get(kTaskCpus) == 2);
  CHECK(conf.get(kMaster) == "local");
  CHECK(show_origin(conf.all().at("spark.executor.memory")) == "--executor-memory");
  CHECK(show_origin(conf.all().at("spark.executor.cores")) == "--conf");
  CHECK(show_origin(conf.all().at("spark.task.cpus")) == "file x.conf");
  CHECK(show_origin(conf.all().at("spark.master")) == "environment MASTER");
}

TEST_CASE("keys of others are dropped with a warning") {
  Layers layers;
  layers.add_conf("a.b=c").add_conf("=x").add_conf("tinderbox.x=1").add_file("f", "key value\n");
  CHECK(layers.build().all().size() == 1);
  CHECK(layers.warnings() == std::vector<std::string>{"Ignoring non-Spark config property: a.b",
                                                      "Ignoring non-Spark config property: ",
                                                      "Ignoring non-Spark config property: key"});
  CHECK_THROWS_WITH(layers.add_conf("noequals"), "Invalid argument to --conf: noequals");
}

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

TEST_CASE("misspelt keys are answered with the nearest known one") {
  struct Case {
    std::string key, want;
  };
  const Case cases[] = {
      {"spark.executor.memroy", "spark.executor.memory"},
      {"spark.executor.Memory", "spark.executor.memory"},
      {"spark.executors.memory", "spark.executor.memory"},
      {"spark.task.maxfailures", "spark.task.maxFailures"},
      {"spark.core.max", "spark.cores.max"},
      {"spark.shuffle.compres", "spark.shuffle.compress"},
      {"spark.mastre", "spark.master"},
      {"tinderbox.task.launchahead", "tinderbox.task.launchAhead"},
      {"spark.kubernetes.container.imag", "spark.kubernetes.container.image"},
  };
  for (const Case& c : cases) {
    INFO(c.key);
    CHECK(nearest_key(c.key) == c.want);
  }
  for (const char* key : {"spark.executor.memory", "spark.yarn.queue", "spark.executorEnv.MEMROY",
                          "spark.hadoop.fs.x", "spark.deploy.spreadOut", "spark.my.password",
                          "spark.myapp.input", "spark.sql.anything"}) {
    INFO(key);
    CHECK_FALSE(nearest_key(key));
  }
  Layers layers;
  layers.add_conf("spark.executor.memroy=1g").add_conf("spark.my.password=x");
  layers.add_conf("tinderbox.nothing.like.it=1").add_file("f.conf", "spark.rdd.compres true");
  CHECK(misspelling_warnings(layers.build()) ==
        std::vector<std::string>{
            "Unknown config property: spark.executor.memroy (--conf); did you mean "
            "spark.executor.memory?",
            "Unknown config property: spark.rdd.compres (file f.conf); did you mean "
            "spark.rdd.compress?",
            "Unknown config property: tinderbox.nothing.like.it (--conf); it has no effect"});
}

TEST_CASE("edit distance counts inserts, deletes, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("memory", "memroy") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("secrets are not shown") {
  const Conf conf;
  for (const char* key :
       {"spark.my.password", "spark.SECRET.x", "spark.access.key", "spark.hadoop.fs.s3a.accesskey",
        "spark.api.Token", "spark.credentialFile", "spark.authenticate.secret"}) {
    INFO(key);
    CHECK(redact(conf, key, "v") == kRedacted);
  }
  CHECK(redact(conf, "spark.app.name", "my-token-1") == kRedacted);
  CHECK(redact(conf, "spark.app.name", "wordcount") == "wordcount");
  CHECK(redact(conf, "spark.files", std::string(100000, 'a')) == kRedacted);
  const Conf own = conf.with(kRedactionRegex, "name$");
  CHECK(redact(own, "spark.app.name", "x") == kRedacted);
  CHECK(redact(own, "spark.my.password", "x") == "x");
  // The type decides even when the pattern does not match.
  CHECK(redact(own, "spark.authenticate.secret", "x") == kRedacted);
  CHECK_THROWS_WITH(redact(conf.with(kRedactionRegex, "("), "a", "b"),
                    Contains("spark.redaction.regex should be a regular expression, but was ("));
  const auto text = text_redaction(conf);
  CHECK(text("run --conf my.password=abc --conf a=b x==") ==
        "run --conf my.password=" + std::string(kRedacted) + " --conf a=b x==");
  CHECK(text("\"db.token=x y\", secret=") ==
        "\"db.token=" + std::string(kRedacted) + " y\", secret=" + std::string(kRedacted));
  CHECK(text("no pair at all") == "no pair at all");
  CHECK(text("=") == "=");
  const auto secret = conf.with(kAuthenticateSecret, "s3cret").get(kAuthenticateSecret);
  REQUIRE(secret);
  CHECK(secret->reveal() == "s3cret");
}

TEST_CASE("master URLs") {
  struct Case {
    std::string url;
    MasterUrl want;
  };
  const Case cases[] = {
      {"local", LocalMaster{1, 1}},
      {"local[4]", LocalMaster{4, 1}},
      {"local[*]", LocalMaster{std::nullopt, 1}},
      {"local[2,3]", LocalMaster{2, 3}},
      {"local[2 , 3]", LocalMaster{2, 3}},
      {"local[*, 2]", LocalMaster{std::nullopt, 2}},
      {"local-cluster[2,1,1024]", LocalClusterMaster{2, 1, 1024}},
      {"local-cluster[ 2 , 1 , 1024 ]", LocalClusterMaster{2, 1, 1024}},
      {"spark://h:7077", StandaloneMaster{{{"h", 7077}}}},
      {"spark://h1:1,h2:2", StandaloneMaster{{{"h1", 1}, {"h2", 2}}}},
      {"spark://h1:1,spark://h2:2", StandaloneMaster{{{"h1", 1}, {"h2", 2}}}},
      {"tinderbox://h:7077", StandaloneMaster{{{"h", 7077}}}},
      {"spark://[::1]:7077", StandaloneMaster{{{"::1", 7077}}}},
      {"k8s://h:6443", KubernetesMaster{"https://h:6443", false}},
      {"k8s://https://h", KubernetesMaster{"https://h", false}},
      {"k8s://http://h", KubernetesMaster{"http://h", true}},
      {"yarn", YarnMaster{}},
  };
  for (const Case& c : cases) {
    INFO(c.url);
    CHECK(parse_master_url(c.url) == c.want);
  }
}

TEST_CASE("bad master URLs say what there is") {
  for (const char* url : {"bogus", "bogus://h", "mesos://h:5050", "", "local[x]", "local[",
                          "local[]", "local[-1]", "local[1,2,3]", "localhost", "local-cluster[1,2]",
                          "local-cluster[a,b,c]", "local[1]x", "yarn-client"}) {
    INFO(url);
    CHECK_THROWS_WITH(parse_master_url(url),
                      Contains("Could not parse Master URL: '" + std::string(url) + "'") &&
                          Contains("spark://host:port"));
  }
  CHECK_THROWS_WITH(parse_master_url("local[0]"), "Asked to run locally with 0 threads");
  CHECK_THROWS_WITH(parse_master_url("local[2,0]"), Contains("0 task failures"));
  CHECK_THROWS_WITH(parse_master_url("local-cluster[0,1,1]"), Contains("at least 1 worker"));
  for (const char* url : {"spark://", "spark://h", "spark://h:x", "spark://h:0", "spark://h:1,",
                          "spark://::1:7077", "spark://h:1/x", "spark://h:99999"}) {
    INFO(url);
    CHECK_THROWS_WITH(parse_master_url(url), Contains("Invalid master URL: " + std::string(url)));
  }
  CHECK_THROWS_WITH(parse_master_url("k8s://ftp://h"),
                    "Invalid Kubernetes master scheme: ftp found in URL: ftp://h");
}

TEST_CASE("managers are told by prefix alone") {
  CHECK(manager_of("local-cluster[1,1,1]") == Manager::kLocal);
  CHECK(manager_of("spark://") == Manager::kStandalone);
  CHECK(manager_of("tinderbox://h:1") == Manager::kStandalone);
  CHECK(manager_of("k8s://") == Manager::kKubernetes);
  CHECK(manager_of("yarn") == Manager::kYarn);
  CHECK_FALSE(manager_of("bogus"));
  CHECK(to_url(StandaloneMaster{{{"a", 1}, {"::1", 2}}}) == "spark://a:1,[::1]:2");
}

TEST_CASE("addresses keep IPv6 in brackets") {
  CHECK(parse_host_port("h:1") == HostPort{"h", 1});
  CHECK(parse_host_port("127.0.0.1:0") == HostPort{"127.0.0.1", 0});
  CHECK(parse_host_port("[fe80::1%eth0]:65535") == HostPort{"fe80::1%eth0", 65535});
  for (const char* text : {"", "h", ":1", "h:", "h:65536", "h:-1", "h: 1", "::1:1", "[::1]", "[]:1",
                           "[::1:1", "[h]:1", "a b:1", "h:1x", "spark://h:1"}) {
    INFO(text);
    CHECK_FALSE(parse_host_port(text));
  }
  CHECK(to_string(HostPort{"::1", 7077}) == "[::1]:7077");
  CHECK(to_string(HostPort{"h", 7077}) == "h:7077");
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
  CHECK(with(Scope::kSubmit).get(kExecutorMemory) == 2 * kGi);
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

TEST_CASE("U16 patterns expand and fragments need one file") {
  const std::map<std::string, std::vector<std::string>> tree = {
      {"/", {"d"}},
      {"/d", {"a.zip", "b.zip", "c.txt", ".hidden.zip", "sub"}},
      {"/d/sub", {"x.zip"}}};
  const ListDirectory list = [&](const std::string& folder) {
    const auto found = tree.find(folder);
    return found == tree.end() ? std::vector<std::string>{} : found->second;
  };
  const auto resolve = [&](std::string_view text) { return resolve_list(text, "/d", list); };
  using Uris = std::vector<std::string>;
  CHECK(resolve("/jar1,/jar2") == Uris{"file:/jar1", "file:/jar2"});
  CHECK(resolve("local:/file1,file2") == Uris{"local:/file1", "file:/d/file2"});
  CHECK(resolve("../x/./y#n") == Uris{"file:/x/y#n"});
  CHECK(resolve("hdfs://h/*.zip,http://h/a?b=c") == Uris{"hdfs://h/*.zip", "http://h/a?b=c"});
  CHECK(resolve("*.zip") == Uris{"file:/d/a.zip", "file:/d/b.zip"});
  CHECK(resolve("/d/*/x.zip") == Uris{"file:/d/sub/x.zip"});
  CHECK(resolve("file:/d/[bc].*") == Uris{"file:/d/b.zip", "file:/d/c.txt"});
  CHECK(resolve("{a,b}.zip,c.txt") == Uris{"file:/d/a.zip", "file:/d/b.zip", "file:/d/c.txt"});
  CHECK(resolve("a*.zip#archive3") == Uris{"file:/d/a.zip#archive3"});
  CHECK_THROWS_WITH(resolve("*.zip#archive3"), Contains("resolves ambiguously to multiple files"));
  CHECK_THROWS_WITH(resolve("z*"), Contains("file:/d/z* matches no file"));
  CHECK(resolve("").empty());
}

TEST_CASE("the reference page has a row for every key") {
  const std::string page = reference_page();
  for (const KeySpec* key : catalogue())
    CHECK_THAT(page, Contains("| " + std::string(key->name) + " |"));
  CHECK_THAT(page, Contains("| spark.executor.memory | size (MiB) | 1g |"));
  CHECK_THAT(page, Contains("secret\\|password"));
}
