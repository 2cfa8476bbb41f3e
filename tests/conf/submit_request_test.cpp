// What submit's options become: precedence, managers and modes, merging.
#include "tests/conf/submit_fixture.hpp"

using namespace tinderbox::conf;
using namespace tinderbox::conf::test;
using Catch::Matchers::Contains;

TEST_CASE("U5 no executors are asked for only with dynamic allocation") {
  const std::string line = "--master k8s://h --num-executors 0 --conf ";
  CHECK_THROWS_WITH(parse(words(line + "spark.dynamicAllocation.enabled=false app")),
                    "Number of executors must be a positive number, not 0");
  CHECK_NOTHROW(parse(words(line + "spark.dynamicAllocation.enabled=true --conf "
                                   "spark.kubernetes.container.image=i app")));
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
  check_values(request, {{"spark.executor.memory", "5g"},
                         {"spark.executor.cores", "5"},
                         {"spark.cores.max", "5"},
                         {"spark.driver.memory", "4g"},
                         {"spark.ui.enabled", "false"},
                         {"spark.app.name", "beauty"},
                         {"spark.files", "file:/cwd/a.zip"},
                         {"spark.archives", "file:/cwd/b.zip#x"},
                         {"spark.jars", "file:/cwd/one.jar,file:/cwd/two.jar,file:/cwd/thejar.jar"},
                         {"spark.driver.supervise", "-"}});
}

TEST_CASE("U8 standalone cluster") {
  const SubmitRequest request =
      parse(words("--deploy-mode cluster --master spark://h:1 --class org.SomeClass --supervise "
                  "--driver-memory 4g --driver-cores 5 --conf spark.driver.host=me --conf "
                  "spark.ui.enabled=false "
                  "thejar.jar arg1 arg2"));
  CHECK(request.deploy_mode == DeployMode::kCluster);
  CHECK(request.supervise);
  check_values(request, {{"spark.driver.supervise", "true"},
                         {"spark.driver.memory", "4g"},
                         {"spark.driver.cores", "5"},
                         {"spark.submit.deployMode", "cluster"},
                         {"spark.master", "spark://h:1"},
                         {"spark.app.name", "org.SomeClass"},
                         {"spark.jars", "file:/cwd/thejar.jar"},
                         {"spark.driver.host", "-"}});
  CHECK_THROWS_WITH(parse(words("--deploy-mode cluster --master spark://h:x app")),
                    Contains("Invalid master URL: spark://h:x"));
}

TEST_CASE("U9 Kubernetes: an image is needed, and a scheme that it has") {
  const std::string cluster = "--deploy-mode cluster --master ";
  const std::string image = " --conf spark.kubernetes.container.image=i ";
  CHECK_THROWS_WITH(parse(words(cluster + "k8s://https://h:1 app")),
                    "Must specify the driver container image");
  CHECK_THROWS_WITH(parse(words(cluster + "k8s:// app")),
                    "Must specify the driver container image");
  CHECK_THROWS_WITH(parse(words("--master k8s://h:1 app")),
                    "Must specify the executor container image");
  const SubmitRequest request = parse(words(cluster + "k8s://h:1" + image + "local:///app"));
  CHECK(request.manager == Manager::kKubernetes);
  CHECK(request.master == "k8s://https://h:1");
  CHECK_THROWS_WITH(parse(words("--master k8s://ftp://h app")),
                    "Invalid Kubernetes master scheme: ftp found in URL: ftp://h");
}

TEST_CASE("--dry-run is for pods of cluster mode") {
  const std::string image = " --conf spark.kubernetes.container.image=i --dry-run app";
  CHECK(parse(words("--deploy-mode cluster --master k8s://h" + image)).dry_run);
  CHECK_THROWS_WITH(parse(words("--master k8s://h" + image)), Contains("in client mode"));
  CHECK_THROWS_WITH(parse(words("--deploy-mode cluster --master spark://h:1" + image)),
                    Contains("--dry-run shows what --master k8s://"));
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
  CHECK(memory("--master local --executor-memory 5g --conf spark.executor.memory=4g") == "5g");
  CHECK(memory("--master local --executor-memory 5g") == "-");
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
  check_values(request, {{"spark.files", "file:/cwd/a.zip,file:/cwd/b.zip"},
                         {"spark.archives", "file:/cwd/a.zip#data"},
                         {"spark.jars", "local:/x.jar,file:/cwd/app.elf"}});
  CHECK_THROWS_WITH(parse(words("--archives *.zip#data app")),
                    Contains("resolves ambiguously to multiple files"));
  const SubmitRequest from_file =
      parse(words("--properties-file f app"), world({{"f", "spark.files a.zip,http://h/b"}}));
  CHECK(value(from_file, "spark.files") == "file:/cwd/a.zip,http://h/b");
}

TEST_CASE("a local: file is ignored with one warning, by whatever way it is named") {
  const std::string want = "local:/x of spark.files is ignored";
  for (const std::string line :
       {"--files local:/x,b.zip app", "--master spark://h:1 --files local:/x app",
        "--master spark://h:1 --deploy-mode cluster --conf spark.files=local:/x app"}) {
    INFO(line);
    const SubmitRequest request = parse(words(line));
    REQUIRE(request.warnings.size() == 1);
    CHECK_THAT(request.warnings[0], Contains(want));
  }
  // An archive with this scheme is unpacked.
  CHECK(parse(words("--files b.zip --archives local:/x.tgz app")).warnings.empty());
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
      {"--master foo://x app", "but was foo://x; the masters of this build are local, local[N]"},
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
