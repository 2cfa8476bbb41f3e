#include <catch2/catch.hpp>

#include "core/deploy/worker/log_page.hpp"
#include "tests/core/storage/fake_files.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

struct Logs {
  Logs() {
    files.files["/work/app-1/3/stdout"] = std::make_shared<std::string>("0123456789<b>");
    files.files["/work/driver-1/stderr"] = std::make_shared<std::string>();
    files.files["/work/secret"] = std::make_shared<std::string>("secret");
  }
  net::HttpAnswer get(const net::HttpHandler& handler,
                      std::multimap<std::string, std::string> query) const {
    net::HttpRequest request;
    request.method = "GET";
    request.query = std::move(query);
    return handler(request);
  }
  mutable test::FakeFiles files;
  net::HttpHandler text = log_text(files, "/work");
  net::HttpHandler page = log_page(files, "/work");
};

}  // namespace

TEST_CASE("the log of an executor is text, whole or in part", "[worker]") {
  Logs logs;
  const std::multimap<std::string, std::string> executor{
      {"appId", "app-1"}, {"executorId", "3"}, {"logType", "stdout"}};
  CHECK(logs.get(logs.text, executor).body ==
        "==== Bytes 0-13 of 13 of /work/app-1/3/stdout ====\n0123456789<b>");
  auto part = executor;
  part.emplace("byteLength", "4");
  CHECK(logs.get(logs.text, part).body ==
        "==== Bytes 9-13 of 13 of /work/app-1/3/stdout ====\n9<b>");
  part.emplace("offset", "2");
  CHECK(logs.get(logs.text, part).body ==
        "==== Bytes 2-6 of 13 of /work/app-1/3/stdout ====\n2345");
  part.erase("offset");
  part.emplace("offset", "99999999999");
  CHECK(logs.get(logs.text, part).body == "==== Bytes 13-13 of 13 of /work/app-1/3/stdout ====\n");
}

TEST_CASE("the log of a driver", "[worker]") {
  Logs logs;
  CHECK(logs.get(logs.text, {{"driverId", "driver-1"}, {"logType", "stderr"}}).body ==
        "==== Bytes 0-0 of 0 of /work/driver-1/stderr ====\n");
}

TEST_CASE("a log's page is escaped and leads to earlier and later bytes", "[worker]") {
  Logs logs;
  const std::string page = logs.get(logs.page, {{"appId", "app-1"},
                                                {"executorId", "3"},
                                                {"logType", "stdout"},
                                                {"byteLength", "5"},
                                                {"offset", "7"}})
                               .body;
  CHECK(page.find("789&lt;b</pre>") != std::string::npos);
  CHECK(page.find("stdout of app-1/3") != std::string::npos);
  CHECK(page.find("byteLength=5&amp;offset=2\">Earlier") != std::string::npos);
  CHECK(page.find("byteLength=5&amp;offset=12\">Later") != std::string::npos);
}

TEST_CASE("a log's page gives nothing else away", "[worker]") {
  struct Case {
    std::string name;
    std::multimap<std::string, std::string> query;
    int status;
  };
  const std::vector<Case> cases = {
      {"no identifiers", {{"logType", "stdout"}}, 400},
      {"both",
       {{"appId", "app-1"}, {"executorId", "3"}, {"driverId", "driver-1"}, {"logType", "stdout"}},
       400},
      {"no executor", {{"appId", "app-1"}, {"logType", "stdout"}}, 400},
      {"a way out", {{"appId", ".."}, {"executorId", "3"}, {"logType", "stdout"}}, 400},
      {"a long way out", {{"driverId", "driver-1/../.."}, {"logType", "stdout"}}, 400},
      {"an absolute way", {{"driverId", "/etc"}, {"logType", "stdout"}}, 400},
      {"another file", {{"driverId", "driver-1"}, {"logType", "../secret"}}, 400},
      {"no number", {{"driverId", "driver-1"}, {"logType", "stderr"}, {"offset", "-1"}}, 400},
      {"not there", {{"driverId", "driver-2"}, {"logType", "stderr"}}, 404},
  };
  Logs logs;
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(logs.get(logs.text, c.query).status == c.status);
    CHECK(logs.get(logs.page, c.query).status == c.status);
  }
}
