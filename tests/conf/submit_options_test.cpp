// submit's options: lexing, precedence, validation, the matrix of managers and modes, merging.
#include <catch2/catch.hpp>

#include "conf/submit/submit_options.hpp"
#include "conf/submit/submit_table.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

/// A world with these files and variables only.
Surroundings world(Files files = {}, Environment environment = {}) {
  return {.environment = std::move(environment),
          .directory = "/cwd",
          .self = "/bin/tinderbox",
          .now_ms = 1700000000000,
          .read =
              [files = std::move(files)](const std::string& path) {
                const auto found = files.find(path);
                if (found == files.end()) return FileText{};
                if (found->second == "<dir>") return FileText{FileText::Kind::kDirectory, {}, {}};
                return FileText{FileText::Kind::kRegular, found->second, {}};
              },
          .list =
              [](const std::string& folder) {
                return folder == "/cwd" ? Words{"a.zip", "b.zip"} : Words{};
              }};
}

SubmitRequest parse(const Words& args, const Surroundings& in = world()) {
  return parse_submit(args, in);
}

/// The value of a property, "-" when it is not set.
std::string value(const SubmitRequest& request, const std::string& key) {
  return request.conf.find(key).value_or("-");
}

/// The words of one line.
Words words(const std::string& line) {
  Words out;
  std::string word;
  for (char c : line + " ") {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      out.push_back(std::exchange(word, {}));
  }
  return out;
}

}  // namespace

TEST_CASE("U1 no arguments: the whole help, code 255") {
  try {
    parse({});
    FAIL("not refused");
  } catch (const UsageError& error) {
    CHECK(error.exit_code() == 255);
    CHECK(error.whole_help());
  }
  CHECK_THROWS_AS(parse_run_example(Words{}, world()), UsageError);
}

TEST_CASE("U2 --help and --version end the parsing") {
  for (const char* line : {"--help", "-h", "--master local --help --nonsense"})
    CHECK(parse(words(line)).action == Action::kHelp);
  CHECK(parse(words("--version --master")).action == Action::kVersion);
  try {
    parse({"--usage-error"});
    FAIL("not refused");
  } catch (const UsageError& error) {
    CHECK(error.exit_code() == 1);
    CHECK(error.whole_help());
  }
}

TEST_CASE("U3 U4 lexing") {
  struct Case {
    std::string line, want;
  };
  const Case refused[] = {
      {"--blarg app", "Unrecognized option: --blarg"},
      {"--blarg=x app", "Unrecognized option: --blarg"},
      {"--name= app", "Unrecognized option: --name="},
      {"-x app", "Unrecognized option: -x"},
      {"- app", "Unrecognized option: -"},
      {"--=x app", "Unrecognized option: --=x"},
      {"--master", "Missing argument for option '--master'."},
      {"--master local -c", "Missing argument for option '-c'."},
      {"--master local", "Missing application resource."},
      {"--conf noequals app", "Invalid argument to --conf: noequals"},
      {"--conf --class X app", "Invalid argument to --conf: --class"},
      {"--properties-file nope.conf app",
       "Invalid properties file 'nope.conf'. Properties file "
       "nope.conf does not exist"},
      {"--properties-file folder app",
       "Invalid properties file 'folder'. Properties file folder "
       "is not a normal file"},
  };
  for (const Case& c : refused) {
    INFO(c.line);
    try {
      parse(words(c.line), world({{"folder", "<dir>"}}));
      FAIL("not refused");
    } catch (const UsageError& error) {
      CHECK_THAT(error.what(), Equals(c.want));
      CHECK(error.exit_code() == 1);
    }
  }
  const SubmitRequest request =
      parse(words("--master=local[2] --class=X --name -n --verbose=no --conf=spark.a=b=c "
                  "-c spark.d= /app a --master x --help"));
  CHECK(request.master == "local[2]");
  CHECK(request.main_class == "X");
  CHECK(value(request, "spark.app.name") == "-n");  // a value is taken as it is
  CHECK(request.verbose);                           // a switch drops its value
  CHECK(value(request, "spark.a") == "b=c");
  CHECK(value(request, "spark.d").empty());
  CHECK(request.primary_resource == "file:/app");
  CHECK(request.app_args == words("a --master x --help"));
}

TEST_CASE("a repeated option counts once, the last one; --conf adds up by key") {
  const SubmitRequest request =
      parse(words("--name a --name b --conf spark.x=1 --conf spark.y=2 --conf spark.x=3 app"));
  CHECK(value(request, "spark.app.name") == "b");
  CHECK(value(request, "spark.x") == "3");
  CHECK(value(request, "spark.y") == "2");
}

TEST_CASE("U5 no executors are asked for only with dynamic allocation") {
  const std::string line = "--master k8s://h --num-executors 0 --conf ";
  CHECK_THROWS_WITH(parse(words(line + "spark.dynamicAllocation.enabled=false app")),
                    "Number of executors must be a positive number, not 0");
  CHECK_THROWS_WITH(parse(words(line + "spark.dynamicAllocation.enabled=true app")),
                    Contains("no Kubernetes backend"));
  CHECK_NOTHROW(parse(words("--num-executors 0 --conf spark.dynamicAllocation.enabled=true app")));
}

TEST_CASE("U6 deploy mode: option over conf over environment, client by default") {
  const std::string master = "--master spark://h:1 ";
  CHECK(parse(words(master + "--conf spark.submit.deployMode=client app")).deploy_mode ==
        DeployMode::kClient);
  CHECK(parse(words(master + "--deploy-mode cluster --conf spark.submit.deployMode=client app"))
            .deploy_mode == DeployMode::kCluster);
  CHECK(parse(words(master + "app"), world({}, {{"DEPLOY_MODE", "cluster"}})).deploy_mode ==
        DeployMode::kCluster);
  const SubmitRequest none = parse(words(master + "app"));
  CHECK(none.deploy_mode == DeployMode::kClient);
  CHECK(value(none, "spark.submit.deployMode") == "client");
  CHECK(std::find(none.parsed.begin(), none.parsed.end(),
                  std::pair<std::string, std::string>("deployMode", "null")) != none.parsed.end());
  CHECK_THROWS_WITH(parse(words("--deploy-mode bogus app")),
                    "--deploy-mode must be either \"client\" or \"cluster\"");
  CHECK_THROWS_WITH(parse(words("--conf spark.submit.deployMode=bogus app")),
                    Contains("Deploy mode must be either client or cluster"));
}

TEST_CASE("U7 standalone client") {
  const SubmitRequest request = parse(words(
      "--deploy-mode client --master spark://h:p --executor-memory 5g --executor-cores 5 "
      "--class org.SomeClass --jars one.jar,two.jar --driver-memory 4g --total-executor-cores 5 "
      "--name beauty --files a.zip --archives b.zip#x --conf spark.ui.enabled=false "
      "thejar.jar arg1 arg2"));
  CHECK(request.app_args == Words{"arg1", "arg2"});
  CHECK(request.main_class == "org.SomeClass");
  CHECK(value(request, "spark.executor.memory") == "5g");
  CHECK(value(request, "spark.executor.cores") == "5");
  CHECK(value(request, "spark.cores.max") == "5");
  CHECK(value(request, "spark.driver.memory") == "4g");
  CHECK(value(request, "spark.ui.enabled") == "false");
  CHECK(value(request, "spark.app.name") == "beauty");
  CHECK(value(request, "spark.files") == "file:/cwd/a.zip");
  CHECK(value(request, "spark.archives") == "file:/cwd/b.zip#x");
  CHECK(value(request, "spark.jars") == "file:/cwd/one.jar,file:/cwd/two.jar,file:/cwd/thejar.jar");
  CHECK(value(request, "spark.driver.supervise") == "-");
}

TEST_CASE("U8 standalone cluster") {
  const SubmitRequest request =
      parse(words("--deploy-mode cluster --master spark://h:1 --class org.SomeClass --supervise "
                  "--driver-memory 4g --driver-cores 5 --conf spark.driver.host=me --conf "
                  "spark.ui.enabled=false "
                  "thejar.jar arg1 arg2"));
  CHECK(request.deploy_mode == DeployMode::kCluster);
  CHECK(request.supervise);
  CHECK(value(request, "spark.driver.supervise") == "true");
  CHECK(value(request, "spark.driver.memory") == "4g");
  CHECK(value(request, "spark.driver.cores") == "5");
  CHECK(value(request, "spark.submit.deployMode") == "cluster");
  CHECK(value(request, "spark.master") == "spark://h:1");
  CHECK(value(request, "spark.app.name") == "org.SomeClass");
  CHECK(value(request, "spark.jars") == "file:/cwd/thejar.jar");
  CHECK(value(request, "spark.driver.host") == "-");
  CHECK_THROWS_WITH(parse(words("--deploy-mode cluster --master spark://h:x app")),
                    Contains("Invalid master URL: spark://h:x"));
}

TEST_CASE("U9 Kubernetes: Spark's own checks, then what this build lacks") {
  const std::string cluster = "--deploy-mode cluster --master ";
  const std::string image = " --conf spark.kubernetes.container.image=i ";
  CHECK_THROWS_WITH(parse(words(cluster + "k8s://https://h:1 app")),
                    "Must specify the driver container image");
  CHECK_THROWS_WITH(parse(words(cluster + "k8s:// app")),
                    "Must specify the driver container image");
  CHECK_THROWS_WITH(parse(words(cluster + "k8s://h:1" + image + "app")),
                    "Please specify spark.kubernetes.file.upload.path property.");
  CHECK_THROWS_WITH(
      parse(words(cluster + "k8s://h:1" + image + "local:///app")),
      Contains("k8s://https://h:1") && Contains("no Kubernetes backend") && Contains("local[N]"));
  CHECK_THROWS_WITH(parse(words("--master k8s://ftp://h app")),
                    "Invalid Kubernetes master scheme: ftp found in URL: ftp://h");
}

TEST_CASE("U11 the submit time is set when it is missing") {
  CHECK(value(parse({"app"}), "spark.app.submitTime") == "1700000000000");
  CHECK(value(parse(words("--conf spark.app.submitTime=5 app")), "spark.app.submitTime") == "5");
}

TEST_CASE("U12 precedence: option, --conf, file, environment, default") {
  const Files files = {{"f.conf", "spark.executor.memory 3g\nspark.master local[7]\n"}};
  const Environment environment = {{"SPARK_EXECUTOR_MEMORY", "2g"}, {"MASTER", "spark://e:1"}};
  const auto memory = [&](const std::string& options) {
    return value(
        parse(words("--master spark://h:1 " + options + " app"), world(files, environment)),
        "spark.executor.memory");
  };
  CHECK(memory("--executor-memory 5g --conf spark.executor.memory=4g --properties-file f.conf") ==
        "5g");
  CHECK(memory("--conf spark.executor.memory=4g --properties-file f.conf") == "4g");
  CHECK(memory("--properties-file f.conf") == "3g");
  CHECK(memory("") == "2g");
  CHECK(parse(words("--conf spark.master=local[3] app"), world(files, environment)).master ==
        "local[3]");
  CHECK(parse(words("--properties-file f.conf app"), world(files, environment)).master ==
        "local[7]");
  CHECK(parse(words("app"), world(files, environment)).master == "spark://e:1");
  CHECK(parse(words("app")).master == "local[*]");
  CHECK(parse(words("--master local --conf spark.master=local[3] app")).master == "local");
}

TEST_CASE("U13 nothing is said about the progress bar") {
  CHECK(value(parse({"app"}), "spark.ui.showConsoleProgress") == "-");
}

TEST_CASE("U16 lists become absolute, patterns expand, the application's file is last") {
  const SubmitRequest request =
      parse(words("--files *.zip --archives a*.zip#data --conf spark.jars=local:/x.jar app.elf"));
  CHECK(value(request, "spark.files") == "file:/cwd/a.zip,file:/cwd/b.zip");
  CHECK(value(request, "spark.archives") == "file:/cwd/a.zip#data");
  CHECK(value(request, "spark.jars") == "local:/x.jar,file:/cwd/app.elf");
  CHECK_THROWS_WITH(parse(words("--archives *.zip#data app")),
                    Contains("resolves ambiguously to multiple files"));
  const SubmitRequest from_file =
      parse(words("--properties-file f app"), world({{"f", "spark.files a.zip,http://h/b"}}));
  CHECK(value(from_file, "spark.files") == "file:/cwd/a.zip,http://h/b");
}

TEST_CASE("U17 U35 spark-defaults.conf, alone and below a named file") {
  const Files files = {{"/c/spark-defaults.conf", "spark.a 1\nspark.b 1\n"},
                       {"f", "spark.b 2\n"},
                       {"t.toml", "[spark]\nb = 3\n"}};
  const Environment environment = {{"SPARK_CONF_DIR", "/c"}};
  const auto both = [&](const std::string& options) {
    const SubmitRequest r = parse(words(options + " app"), world(files, environment));
    return value(r, "spark.a") + value(r, "spark.b");
  };
  CHECK(both("") == "11");
  CHECK(both("--properties-file f") == "-2");
  CHECK(both("--properties-file f --load-spark-defaults") == "12");
  CHECK(both("--properties-file t.toml") == "-3");
  CHECK(both("--load-spark-defaults") == "11");
}

TEST_CASE("U21 managers × modes") {
  struct Case {
    std::string line, want;
  };
  const Case refused[] = {
      {"--master spark://h:1 --deploy-mode cluster a.py",
       "Cluster deploy mode is currently not supported for python applications on standalone "
       "clusters."},
      {"--master spark://h:1 --deploy-mode cluster a.R",
       "Cluster deploy mode is currently not supported for R applications on standalone clusters."},
      {"--master local[2] --deploy-mode cluster app",
       "Cluster deploy mode is not compatible with master \"local\""},
      {"--master local-cluster[1,1,1] --deploy-mode cluster app",
       "Cluster deploy mode is not compatible with master \"local\""},
      {"--master spark://h:1 --deploy-mode cluster spark-shell",
       "Cluster deploy mode is not applicable to Spark shells."},
      {"--master spark://h:1 --deploy-mode cluster --class "
       "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver spark-internal",
       "Cluster deploy mode is not applicable to Spark SQL shell."},
      {"--master spark://h:1 --deploy-mode cluster --class "
       "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2 spark-internal",
       "Cluster deploy mode is not applicable to Spark Thrift server."},
      {"--master spark://h:1 --deploy-mode cluster --class "
       "org.apache.spark.sql.connect.service.SparkConnectServer spark-internal",
       "Cluster deploy mode is not applicable to Spark Connect server."},
      {"--master bogus app", "Master must either be yarn or start with spark, k8s, or local"},
      {"--master mesos://h:1 app", "Master must either be yarn or start with spark, k8s, or local"},
      {"--master yarn app",
       "When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR "
       "must be set in the environment."},
      {"--master local a.py", "Cannot run a.py: the application must be an executable file"},
      {"--master local spark-shell", "Cannot run spark-shell"},
  };
  for (const Case& c : refused) {
    INFO(c.line);
    CHECK_THROWS_WITH(parse(words(c.line)), Contains(c.want));
  }
  CHECK_THROWS_WITH(parse(words("--master yarn app"), world({}, {{"YARN_CONF_DIR", "/y"}})),
                    Contains("no YARN backend"));
  CHECK_NOTHROW(parse(words("--master spark:// app")));  // the driver parses it, not submit
  CHECK_NOTHROW(parse(words("--master local[0] app")));
  CHECK(parse(words("--master tinderbox://h:1 --deploy-mode cluster app")).manager ==
        Manager::kStandalone);
}

TEST_CASE("validation, wherever the value comes from") {
  struct Case {
    std::string line, want;
  };
  const Case refused[] = {
      {"--driver-memory abc",
       "Driver memory must be a positive number with a unit such as m or g, not abc"},
      {"--driver-memory 0",
       "Driver memory must be a positive number with a unit such as m or g, not 0"},
      {"--executor-memory 1x",
       "Executor memory must be a positive number with a unit such as m or g, not 1x"},
      {"--executor-memory 1.5g",
       "Executor memory must be a positive number with a unit such as m or g, not 1.5g"},
      {"--conf spark.executor.memory=0",
       "Executor memory must be a positive number with a unit such as m or g, not 0"},
      {"--driver-cores 0", "Driver cores must be a positive number, not 0"},
      {"--executor-cores a", "Executor cores must be a positive number, not a"},
      {"--executor-cores -1", "Executor cores must be a positive number, not -1"},
      {"--conf spark.cores.max=0", "Total executor cores must be a positive number, not 0"},
      {"--num-executors 0", "Number of executors must be a positive number, not 0"},
      {"--proxy-user u --principal p", "Only one of --proxy-user or --principal can be provided."},
      {"--remote sc://x", "Remote cannot be specified with master and/or deploy mode."},
      {"--conf spark.task.maxFailures=many", "spark.task.maxFailures should be int, but was many"},
      {"--conf spark.dynamicAllocation.enabled=1",
       "spark.dynamicAllocation.enabled should be boolean, but was 1"},
      // The first failure in Spark's order is the one that is told.
      {"--driver-cores 0 --executor-memory x",
       "Executor memory must be a positive number with a unit such as m or g, not x"},
  };
  for (const Case& c : refused) {
    INFO(c.line);
    CHECK_THROWS_WITH(parse(words("--master local " + c.line + " app")), Equals(c.want));
  }
  CHECK_THROWS_WITH(parse({"app"}, world({}, {{"SPARK_EXECUTOR_MEMORY", "x"}})),
                    "Executor memory must be a positive number with a unit such as m or g, not x");
}

TEST_CASE("which options become properties, by manager and mode") {
  const Words all = words(
      "--executor-memory 2g --executor-cores 2 --total-executor-cores 4 --num-executors 3 "
      "--driver-memory 3g --driver-cores 2 --supervise --queue q --packages a:b:c");
  struct Case {
    std::string where;
    Words set, unset;
  };
  const Case cases[] = {
      {"--master local",
       {"spark.driver.memory"},
       {"spark.executor.memory", "spark.executor.cores", "spark.cores.max",
        "spark.executor.instances", "spark.driver.cores", "spark.driver.supervise",
        "spark.yarn.queue", "spark.jars.packages"}},
      {"--master spark://h:1",
       {"spark.driver.memory", "spark.executor.memory", "spark.executor.cores", "spark.cores.max"},
       {"spark.executor.instances", "spark.driver.cores", "spark.driver.supervise",
        "spark.jars.packages"}},
      {"--master spark://h:1 --deploy-mode cluster",
       {"spark.driver.memory", "spark.executor.memory", "spark.executor.cores", "spark.cores.max",
        "spark.driver.cores", "spark.driver.supervise", "spark.jars.packages"},
       {"spark.executor.instances", "spark.yarn.queue"}},
  };
  for (const Case& c : cases) {
    INFO(c.where);
    Words args = words(c.where);
    args.insert(args.end(), all.begin(), all.end());
    args.push_back("app");
    const SubmitRequest request = parse(args);
    for (const std::string& key : c.set) {
      INFO(key);
      CHECK(request.conf.find(key));
    }
    for (const std::string& key : c.unset) {
      INFO(key);
      CHECK_FALSE(request.conf.find(key));
    }
  }
  // Written as a property, the same value passes everywhere.
  CHECK(value(parse(words("--master local --conf spark.executor.memory=2g app")),
              "spark.executor.memory") == "2g");
}

TEST_CASE("the application's name: option, conf, class, file") {
  CHECK(value(parse(words("--name n --conf spark.app.name=c --class C x/app")), "spark.app.name") ==
        "n");
  CHECK(value(parse(words("--conf spark.app.name=c --class C x/app")), "spark.app.name") == "c");
  CHECK(value(parse(words("--class C x/app")), "spark.app.name") == "C");
  CHECK(value(parse(words("x/app")), "spark.app.name") == "app");
  CHECK(value(parse(words("http://h/d/app")), "spark.app.name") == "app");
}

TEST_CASE("options for a JVM are accepted with one warning each") {
  for (const SubmitOption& option : submit_options()) {
    if (option.group != Group::kNoEffect) continue;
    INFO(option.name);
    const SubmitRequest request = parse({std::string(option.name), "x", "app"});
    REQUIRE(request.warnings.size() == 1);
    CHECK_THAT(request.warnings[0], Contains(std::string(option.name) + " has no effect"));
  }
}

TEST_CASE("warnings for keys of others and for misspelt keys") {
  const SubmitRequest request =
      parse(words("--conf a.b=c --conf =x --conf spark.executor.memroy=1g --properties-file f app"),
            world({{"f", "key value\n"}}));
  CHECK(request.warnings ==
        Words{"Ignoring non-Spark config property: key", "Ignoring non-Spark config property: a.b",
              "Ignoring non-Spark config property: ",
              "Unknown config property: spark.executor.memroy (--conf); did you mean "
              "spark.executor.memory?"});
}

TEST_CASE("--kill and --status go to a standalone master") {
  const SubmitRequest kill = parse(words("--kill d1 --master spark://h:1"));
  CHECK(kill.action == Action::kKill);
  CHECK(kill.submission_id == "d1");
  CHECK(kill.master == "spark://h:1");
  CHECK(parse(words("--master spark://h:1 --status d2")).action == Action::kStatus);
  struct Case {
    std::string line, want;
  };
  const Case refused[] = {
      {"--kill d1 --status d2 --master spark://h:1",
       "Action cannot be both KILL and REQUEST_STATUS."},
      {"--status d2 --kill d1", "Action cannot be both REQUEST_STATUS and KILL."},
      {"--kill d1", "No external SparkSubmitOperations clients found for master url: 'local[*]'"},
      {"--status d1 --master local",
       "No external SparkSubmitOperations clients found for master url: 'local'"},
      {"--kill d1 --master bogus://h",
       "No external SparkSubmitOperations clients found for master url: 'bogus://h'"},
      {"--kill d1 --master k8s://h", "no Kubernetes backend"},
      {"--kill d1 --master spark://h:x", "Invalid master URL: spark://h:x"},
  };
  for (const Case& c : refused) {
    INFO(c.line);
    CHECK_THROWS_WITH(parse(words(c.line)), Contains(c.want));
  }
  CHECK_THROWS_WITH(parse({"--kill", "", "--master", "spark://h:1"}),
                    "Please specify a submission to kill.");
  CHECK_THROWS_WITH(parse({"--status", "", "--master", "spark://h:1"}),
                    "Please specify a submission to request status for.");
}

TEST_CASE("run-example is submit of this executable with the name as class") {
  const SubmitRequest request =
      parse_run_example(words("--master local[2] wordcount in --out x"), world());
  CHECK(request.primary_resource == "file:/bin/tinderbox");
  CHECK(request.main_class == "wordcount");
  CHECK(request.app_args == words("in --out x"));
  CHECK(value(request, "spark.app.name") == "wordcount");
  const SubmitRequest with_class = parse_run_example(words("--class pi 10"), world());
  CHECK(with_class.main_class == "pi");
  CHECK(with_class.app_args == Words{"10"});
  CHECK(parse_run_example(words("--class pi"), world()).app_args.empty());
  CHECK_THROWS_WITH(parse_run_example(words("--master local"), world()),
                    "Missing example class name.");
  CHECK(parse_run_example(words("--help"), world()).action == Action::kHelp);
}

TEST_CASE("--verbose shows every value with its origin and no secret") {
  const SubmitRequest request = parse(
      words("--verbose --master local --name N --executor-memory 2g --conf spark.eventLog.dir=/e "
            "--conf spark.my.password=s3cret --properties-file f --class X J a b --c"),
      world({{"f", "spark.task.cpus 2"}}));
  const std::string text = verbose_text(request);
  CHECK_THAT(text, Contains("Parsed arguments:\n"
                            "  master                  local\n"
                            "  remote                  null\n"
                            "  deployMode              null\n"
                            "  executorMemory          2g\n"
                            "  executorCores           null\n"
                            "  totalExecutorCores      null\n"
                            "  propertiesFile          f\n"));
  CHECK_THAT(text, Contains("  childArgs               [a b --c]\n"));
  CHECK_THAT(text, Contains("  spark.master=local  (--master)\n"));
  CHECK_THAT(text, Contains("  spark.eventLog.dir=/e  (--conf)\n"));
  CHECK_THAT(text, Contains("  spark.task.cpus=2  (file f)\n"));
  CHECK_THAT(text, Contains("  spark.my.password=*********(redacted)  (--conf)\n"));
  CHECK_THAT(text, !Contains("s3cret"));
}

TEST_CASE("the help names every option and every form of master") {
  const std::string help = submit_help();
  for (const SubmitOption& option : submit_options()) {
    INFO(option.name);
    CHECK_THAT(help, Contains("  " + std::string(option.name)));
    CHECK(find_option(option.name) == &option);
  }
  CHECK(find_option("-c") == find_option("--conf"));
  CHECK(find_option("") == nullptr);
  CHECK_THAT(help, Contains("local-cluster[W,C,M]"));
}
