#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

#include "core/deploy/pages.hpp"
#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;
using namespace std::chrono_literals;

namespace {
ClusterStatus sample_status() {
  ClusterStatus s;
  s.url = "spark://127.0.0.1:7077";
  s.state = RecoveryState::Alive;
  s.workers.push_back({{"worker-20261121084647-127.0.0.1-44085"},
                       "127.0.0.1",
                       44085,
                       "http://127.0.0.1:8081",
                       2,
                       2,
                       4096,
                       2048,
                       WorkerState::Alive,
                       Time(Duration(1795250823820000))});
  AppRow a;
  a.id = {"app-20261121084658-0000"};
  a.name = "Spark shell";
  a.user = "root";
  a.cores_granted = 2;
  a.memory_per_executor_mib = 1024;
  a.submitted = kStart;
  a.duration = 19566ms;
  a.state = AppState::Running;
  s.active_apps.push_back(a);
  return s;
}

std::string without_blanks(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ' ' && c != '\n')) out += c;
  }
  return out;
}
}  // namespace

TEST_CASE("M32 the master's JSON has Spark's fields in Spark's order", "[master]") {
  ClusterStatus s = sample_status();
  const std::string workers =
      R"("workers":[{"id":"worker-20261121084647-127.0.0.1-44085","host":"127.0.0.1","port":44085,)"
      R"("webuiaddress":"http://127.0.0.1:8081","cores":2,"coresused":2,"coresfree":0,"memory":4096,)"
      R"("memoryused":2048,"memoryfree":2048,"resources":{},"resourcesused":{},"resourcesfree":{},)"
      R"("state":"ALIVE","lastheartbeat":1795250823820}])";
  CHECK(
      without_blanks(master_json(s, {}, "")) ==
      R"({"url":"spark://127.0.0.1:7077",)" + workers +
          R"(,"aliveworkers":1,"cores":2,"coresused":2,"memory":4096,"memoryused":2048,)"
          R"("resources":[{}],"resourcesused":[{}],"activeapps":[{"id":"app-20261121084658-0000",)"
          R"("starttime":1795250818364,"name":"Spark shell","cores":2,"user":"root",)"
          R"("memoryperexecutor":1024,"memoryperslave":1024,"resourcesperexecutor":[],)"
          R"("resourcesperslave":[],"submitdate":"Sat Nov 21 08:46:58 UTC 2026","state":"RUNNING",)"
          R"("duration":19566}],"completedapps":[],"activedrivers":[],"completeddrivers":[],)"
          R"("status":"ALIVE"})");
  CHECK(without_blanks(master_json(s, {}, "workers")) == "{" + workers + "}");
  CHECK(without_blanks(master_json(s, {}, "applications")) == R"({"applications":""})");
  CHECK(without_blanks(master_json(s, {}, "clusterutilization")) ==
        R"({"waitingDrivers":0,"cores":2,"coresused":2,"coresutilization":100,"memory":4096,)"
        R"("memoryused":2048,"memoryutilization":50})");
  s.active_apps[0].name = "\xff\xfe broken";
  CHECK_FALSE(master_json(s, {}, "").empty());
}

TEST_CASE("M32 the master's page names its URL and escapes what peers said", "[master]") {
  ClusterStatus s = sample_status();
  s.active_apps[0].name = "<script>alert(1)</script>";
  s.active_apps[0].ui_url = "javascript:alert(1)";
  s.workers[0].web_ui_url = "http://x/\"onclick=\"y";
  std::string page = master_page(s, {});
  CHECK(page.find("<title>Spark Master at spark://127.0.0.1:7077</title>") != std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("&lt;script&gt;") != std::string::npos);
  CHECK(page.find("javascript:") == std::string::npos);
  CHECK(page.find("\"onclick") == std::string::npos);
  CHECK(page.find("2026/11/21 08:46:58") != std::string::npos);
}
