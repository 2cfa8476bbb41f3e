// submit's options: lexing, validation, actions, warnings, what is shown.
#include "conf/submit/submit_table.hpp"
#include "tests/conf/submit_fixture.hpp"

using namespace tinderbox::conf;
using namespace tinderbox::conf::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

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
  check_values(request, {{"spark.app.name", "b"}, {"spark.x", "3"}, {"spark.y", "2"}});
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
      {"--executor-memory 512k", "Executor memory must be at least 1m, not 512k"},
      {"--conf spark.driver.memory=1023k", "Driver memory must be at least 1m, not 1023k"},
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

TEST_CASE("options for a JVM are accepted with one warning each") {
  for (const SubmitOption& option : submit_options()) {
    if (option.group != Group::kNoEffect) continue;
    INFO(option.name);
    const SubmitRequest request = parse({std::string(option.name), "x", "app"});
    REQUIRE(request.warnings.size() == 1);
    CHECK_THAT(request.warnings[0], Contains(std::string(option.name) + " has no effect"));
  }
  CHECK(parse(words("--remote x app")).warnings[0] ==
        "--remote has no effect: Spark Connect is not supported");
  CHECK_THAT(parse(words("--packages x app")).warnings[0], Contains("without a JVM"));
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

TEST_CASE("an unknown key under spark.kubernetes. is refused where it would count") {
  const std::string call =
      "--master k8s://h --deploy-mode cluster --conf spark.kubernetes.container.image=i ";
  CHECK_THROWS_WITH(parse(words(call + "--conf spark.kubernetes.driver.podTemplateFil=x app")),
                    "Unknown config property: spark.kubernetes.driver.podTemplateFil (--conf); did "
                    "you mean spark.kubernetes.driver.podTemplateFile?");
  CHECK_THROWS_WITH(
      parse(words(call + "--properties-file f app"), world({{"f", "spark.kubernetes.pods 4\n"}})),
      "Unknown config property: spark.kubernetes.pods (file f); Spark has no such key");
  const std::string known =
      "--conf spark.kubernetes.driver.label.x=1 --conf spark.kubernetes.pyspark.pythonVersion=3 ";
  CHECK(parse(words(call + known + "app")).warnings.empty());
  CHECK(parse(words("--master local --conf spark.kubernetes.pods=4 app")).warnings.empty());
}

TEST_CASE("--kill and --status go to a standalone master or to pods") {
  const SubmitRequest kill = parse(words("--kill d1 --master spark://h:1"));
  CHECK(kill.action == Action::kKill);
  CHECK(kill.submission_id == "d1");
  CHECK(kill.master == "spark://h:1");
  CHECK(parse(words("--master spark://h:1 --status d2")).action == Action::kStatus);
  const SubmitRequest pods = parse(words("--kill ns:d* --master k8s://h"));
  CHECK(pods.manager == Manager::kKubernetes);
  CHECK(pods.master == "k8s://https://h");
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
