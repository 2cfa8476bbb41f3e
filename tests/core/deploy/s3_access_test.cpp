// Which keys and variables say where an object store is and as whom to ask it.
#include "core/deploy/s3_access.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using core::s3_access;

namespace {

conf::Pairs keys(std::initializer_list<std::pair<std::string, std::string>> more = {}) {
  conf::Pairs pairs = {{"spark.hadoop.fs.s3a.access.key", "K"},
                       {"spark.hadoop.fs.s3a.secret.key", "S"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pairs;
}

std::string refused(const conf::Pairs& pairs, const conf::Environment& environment = {}) {
  try {
    s3_access(conf::Conf::of(pairs), environment, "b");
  } catch (const conf::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("credentials of an object store: a pair of keys, else one of the environment", "[s3]") {
  const conf::Environment env = {
      {"AWS_ACCESS_KEY_ID", "EK"}, {"AWS_SECRET_ACCESS_KEY", "ES"}, {"AWS_SESSION_TOKEN", "ET"}};
  const net::S3Access of_keys = s3_access(conf::Conf::of(keys()), env, "b");
  CHECK(of_keys.access_key == "K");
  CHECK(of_keys.secret_key == "S");
  CHECK(of_keys.session_token.empty());
  const net::S3Access of_env = s3_access({}, env, "b");
  CHECK(of_env.access_key == "EK");
  CHECK(of_env.secret_key == "ES");
  CHECK(of_env.session_token == "ET");
  CHECK_THAT(refused({}), Contains("s3a://b: no credentials: set spark.hadoop.fs.s3a.access.key"));
  CHECK_THAT(refused({{"spark.hadoop.fs.s3a.access.key", "K"}}, env), Contains("no credentials"));
}

TEST_CASE("a bucket's own keys come before those of all", "[s3]") {
  const conf::Conf conf =
      conf::Conf::of(keys({{"spark.hadoop.fs.s3a.bucket.b.access.key", "BK"},
                           {"spark.hadoop.fs.s3a.bucket.b.endpoint", "http://own:1"}}));
  CHECK(s3_access(conf, {}, "b").access_key == "BK");
  CHECK(s3_access(conf, {}, "b").secret_key == "S");
  CHECK(s3_access(conf, {}, "b").endpoint == "http://own:1");
  CHECK(s3_access(conf, {}, "c").access_key == "K");
  CHECK(s3_access(conf, {}, "c").endpoint.empty());
}

TEST_CASE("where an object store is", "[s3]") {
  struct Case {
    conf::Pairs pairs;
    conf::Environment environment;
    std::string bucket, endpoint, region;
    bool path_style;
  };
  const std::string e = "spark.hadoop.fs.s3a.endpoint";
  const Case cases[] = {
      {keys(), {}, "b", "", "us-east-1", false},
      {keys({{e, "minio:9000"}}), {}, "b", "https://minio:9000", "us-east-1", false},
      {keys({{e, "10.0.0.1:9000"}, {"spark.hadoop.fs.s3a.connection.ssl.enabled", "false"}}),
       {},
       "b",
       "http://10.0.0.1:9000",
       "us-east-1",
       true},
      {keys({{e, "http://h"}, {"spark.hadoop.fs.s3a.path.style.access", "true"}}),
       {{"AWS_REGION", "eu-west-1"}},
       "b",
       "http://h",
       "eu-west-1",
       true},
      {keys({{"spark.hadoop.fs.s3a.endpoint.region", "r"}}),
       {{"AWS_REGION", "eu"}, {"AWS_ENDPOINT_URL", "http://x"}},
       "b",
       "http://x",
       "r",
       false},
      {keys(), {{"AWS_DEFAULT_REGION", "d"}}, "with.dots", "", "d", true},
  };
  for (const Case& c : cases) {
    const net::S3Access a = s3_access(conf::Conf::of(c.pairs), c.environment, c.bucket);
    INFO(c.endpoint << " " << c.region);
    CHECK(a.endpoint == c.endpoint);
    CHECK(a.region == c.region);
    CHECK(a.path_style == c.path_style);
  }
  CHECK_THAT(refused(keys({{e, "ftp://h"}})), Contains("it must be http(s)://host[:port]"));
  CHECK_THAT(refused(keys({{e, "http://h/path"}})), Contains("it must be"));
}

TEST_CASE("what executors are told of the driver's variables: what no key says", "[s3]") {
  const conf::Environment env{{"AWS_ACCESS_KEY_ID", "K"},          {"AWS_SECRET_ACCESS_KEY", "S"},
                              {"AWS_SESSION_TOKEN", "T"},          {"AWS_ENDPOINT_URL", "http://h"},
                              {"AWS_ENDPOINT_URL_S3", "http://s"}, {"AWS_REGION", ""},
                              {"AWS_DEFAULT_REGION", "r"}};
  using Keys = std::map<std::string, std::string>;
  const Keys all{{"spark.hadoop.fs.s3a.access.key", "K"},
                 {"spark.hadoop.fs.s3a.secret.key", "S"},
                 {"spark.hadoop.fs.s3a.session.token", "T"},
                 {"spark.hadoop.fs.s3a.endpoint", "http://s"},
                 {"spark.hadoop.fs.s3a.endpoint.region", "r"}};
  CHECK(core::s3_keys_of(env, {}) == all);
  CHECK(core::s3_keys_of({}, {}).empty());
  // Never one half of each.
  CHECK(core::s3_keys_of(env, conf::Conf::of({{"spark.hadoop.fs.s3a.access.key", "own"},
                                              {"spark.hadoop.fs.s3a.endpoint", "e"}})) ==
        Keys{{"spark.hadoop.fs.s3a.endpoint.region", "r"}});
}
