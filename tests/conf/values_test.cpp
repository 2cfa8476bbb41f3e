// Values in their own notation: sizes, times, master URLs, addresses, lists of resources.
#include <catch2/catch.hpp>

#include "conf/error.hpp"
#include "conf/values/address.hpp"
#include "conf/values/master_url.hpp"
#include "conf/values/resources.hpp"
#include "conf/values/units.hpp"
#include "tests/conf/sizes.hpp"

using namespace tinderbox::conf;
using namespace tinderbox::conf::test;
using Catch::Matchers::Contains;
using namespace std::chrono_literals;

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

TEST_CASE("a list that was resolved stays as it is, though a file has a pattern's name") {
  const ListDirectory list = [](const std::string& folder) {
    return folder == "/d" ? std::vector<std::string>{"data[1].csv", "data1.csv", "{a}", "a"}
                          : std::vector<std::string>{};
  };
  const auto resolve = [&](std::string_view text) { return resolve_list(text, "/d", list); };
  using Uris = std::vector<std::string>;
  CHECK(resolve("data*.csv") == Uris{"file:/d/data1.csv", "file:/d/data[1].csv"});
  CHECK(resolve("file:/d/data1.csv,file:/d/data[1].csv") ==
        Uris{"file:/d/data1.csv", "file:/d/data[1].csv"});
  CHECK(resolve("file:///d/data[1].csv#t") == Uris{"file:///d/data[1].csv#t"});
  CHECK(resolve("{a}") == Uris{"file:/d/{a}"});
  CHECK(resolve("{a,data1.csv}") == Uris{"file:/d/a", "file:/d/data1.csv"});
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
  CHECK(resolve("file://localhost/d/[bc].*") == Uris{"file:/d/b.zip", "file:/d/c.txt"});
  CHECK(local_path("file:///x%20y#n") == "/x%20y");
  CHECK(local_path("file://localhost/x") == "/x");
  CHECK(local_path("file://localhostess/x") == "//localhostess/x");
  CHECK_THROWS_WITH(resolve("*.zip#archive3"), Contains("resolves ambiguously to multiple files"));
  CHECK_THROWS_WITH(resolve("z*"), Contains("file:/d/z* matches no file"));
  CHECK(resolve("").empty());
}
