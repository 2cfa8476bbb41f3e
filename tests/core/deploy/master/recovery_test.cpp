#include <catch2/catch.hpp>

#include <vector>

#include "core/deploy/master/recovery.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

PersistedApplication recorded_app(const std::string& id) {
  ApplicationDescription d;
  d.name = "count " + id;
  d.max_cores = 8;
  d.command.arguments = {"executor", "--cores", "{{CORES}}"};
  d.command.properties = {{"spark.app.name", "count"}};
  return {AppId{id}, d, "10.0.0.1:7078", 1795250818364000};
}
PersistedDriver recorded_driver(const std::string& id) {
  DriverDescription d;
  d.command.main_class = "wordcount";
  d.supervise = true;
  return {DriverId{id}, d, 7};
}
PersistedWorker recorded_worker(const std::string& id) {
  return {WorkerId{id}, "10.0.0.2", 4000, 16, 4096, "http://10.0.0.2:8081"};
}

const std::vector<PersistedRecord> kRecords = {
    recorded_app("app-1"),
    recorded_worker("worker-1"),
    recorded_driver("driver-1"),
    recorded_app("app-2"),
    ForgottenApplication{AppId{"app-1"}},
    recorded_worker("worker-2"),
    ForgottenWorker{WorkerId{"worker-1"}},
    ForgottenDriver{DriverId{"driver-1"}},
    recorded_driver("driver-2"),
    ForgottenDriver{DriverId{"no such"}},
};

/// The log of the first n records, and where each of them ends.
Bytes log_of(size_t n, std::vector<size_t>* ends = nullptr) {
  Bytes log(kLogMagic);
  for (size_t i = 0; i < n; ++i) {
    log += log_record(kRecords[i]);
    if (ends) ends->push_back(log.size());
  }
  return log;
}

}  // namespace

TEST_CASE("M16 applications, drivers and workers are read back as they were written",
          "[recovery]") {
  Replay r = replay(log_of(kRecords.size()));
  CHECK(r.warning.empty());
  CHECK(r.records == kRecords.size());
  RecoveredState want;
  want.apps = {{AppId{"app-2"}, recorded_app("app-2")}};
  want.workers = {{WorkerId{"worker-2"}, recorded_worker("worker-2")}};
  want.drivers = {{DriverId{"driver-2"}, recorded_driver("driver-2")}};
  CHECK(r.state == want);
}

TEST_CASE("a log cut at any byte replays to the records before the cut", "[recovery]") {
  std::vector<size_t> ends;
  Bytes log = log_of(kRecords.size(), &ends);
  std::vector<RecoveredState> prefixes;
  for (size_t n = 0; n <= kRecords.size(); ++n) prefixes.push_back(replay(log_of(n)).state);
  for (size_t cut = 0; cut < log.size(); ++cut) {
    Replay r = replay(std::string_view(log).substr(0, cut));
    size_t whole = 0;
    while (whole < ends.size() && ends[whole] <= cut) ++whole;
    REQUIRE(r.records == whole);
    REQUIRE(r.state == prefixes[whole]);
    size_t start = whole ? ends[whole - 1] : kLogMagic.size();
    bool at_boundary = cut == 0 || cut == start;
    REQUIRE(r.warning.empty() == at_boundary);
    REQUIRE(r.good_bytes == (cut < kLogMagic.size() ? 0 : start));
  }
}

TEST_CASE("a flipped byte is found, and what is before it counts", "[recovery]") {
  std::vector<size_t> ends;
  Bytes log = log_of(kRecords.size(), &ends);
  for (size_t at = 0; at < log.size(); ++at) {
    for (unsigned char flip : {0x01, 0x80}) {
      Bytes bad = log;
      bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ flip);
      Replay r = replay(bad);
      size_t before = 0;
      while (before < ends.size() && ends[before] <= at) ++before;
      REQUIRE_FALSE(r.warning.empty());
      REQUIRE(r.records == (at < kLogMagic.size() ? 0 : before));
    }
  }
}

TEST_CASE("a compacted log amounts to the same and is never longer", "[recovery]") {
  Bytes log = log_of(kRecords.size());
  Bytes compact = compacted(replay(log).state);
  CHECK(compact.size() < log.size());
  CHECK(replay(compact).state == replay(log).state);
  CHECK(replay(compact).records == 3);
  CHECK(compacted(replay(compact).state) == compact);
  CHECK(replay(compacted({})).state.empty());
  CHECK(replay("").warning.empty());
}
