// Configuration: keys, typed reading, layers, suggestions, redaction.
#include <catch2/catch.hpp>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "conf/suggest.hpp"
#include "tests/conf/sizes.hpp"

using namespace tinderbox::conf;
using namespace tinderbox::conf::test;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

TEST_CASE("the catalogue lists every defined key once, and every default is of its type") {
  std::string header;
  for (const char* path : {"conf/keys.hpp", "conf/kubernetes_keys.hpp"}) {
    std::ifstream file(path);
    REQUIRE(file);  // run from the top of the tree
    header.append(std::istreambuf_iterator<char>(file), {});
  }
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
      {"spark.io.compression.codec", "snappy",
       "spark.io.compression.codec must be lz4 or zstd, the codecs that are here, but is snappy"},
      {"spark.io.compression.codec", "org.apache.spark.io.LZFCompressionCodec",
       "the codecs that are here, but is org.apache.spark.io.LZFCompressionCodec"},
      {"spark.io.compression.zstd.level", "fast",
       "spark.io.compression.zstd.level should be int, but was fast"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const Conf conf = Conf::of({{c.name, c.value}});
    CHECK_THROWS_WITH(conf.check(), Contains(c.want));
  }
  CHECK_THROWS_WITH(Conf::of({{"spark.locality.wait", "x"}}).get(kLocalityWaitNode),
                    Contains("spark.locality.wait should be a time"));
  Layers layers;
  layers.add(Source::kEnvironment, kMasterPort.spec.name, "abc", "SPARK_MASTER_PORT");
  CHECK_THROWS_WITH(layers.build().check(), "SPARK_MASTER_PORT should be int, but was abc");
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
      {"spark.max.cores", "spark.cores.max"},
      {"spark.executor.mem", "spark.executor.memory"},
      {"tinderbox.launchAhead", "tinderbox.task.launchAhead"},
      {"tinderbox.task.launchahead", "tinderbox.task.launchAhead"},
      {"spark.kubernetes.container.imag", "spark.kubernetes.container.image"},
      {"spark.worker.resource.gpu.amuont", "spark.worker.resource.gpu.amount"},
      {"spark.driver.resource.gpu.discoveryscript", "spark.driver.resource.gpu.discoveryScript"},
  };
  for (const Case& c : cases) {
    INFO(c.key);
    CHECK(nearest_key(c.key) == c.want);
  }
  for (const char* key :
       {"spark.executor.memory", "spark.yarn.queue", "spark.executorEnv.MEMROY",
        "spark.hadoop.fs.x", "spark.deploy.spreadOut", "spark.my.password", "spark.myapp.input",
        "spark.sql.anything", "spark.task.resource.fpga.amount",
        "spark.executor.resource.fpga.slots"}) {
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

TEST_CASE("the reference page has a row for every key") {
  const std::string page = reference_page();
  for (const KeySpec* key : catalogue())
    CHECK_THAT(page, Contains("| " + std::string(key->name) + " |"));
  CHECK_THAT(page, Contains("| spark.executor.memory | size (MiB) | 1g |"));
  CHECK_THAT(page, Contains("secret\\|password"));
}
