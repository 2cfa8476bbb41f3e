#include <catch2/catch.hpp>

#include <limits>
#include <random>
#include <vector>

#include "core/deploy/master/placement.hpp"

using namespace tinderbox::core;

namespace {
constexpr int32_t kAll = std::numeric_limits<int32_t>::max();
using Cores = std::vector<int32_t>;

struct Case {
  const char* name;
  ExecutorNeed need;
  Cores spread;
  Cores packed;
};
const std::vector<WorkerOffer> kWorkers(3, WorkerOffer{10, 4096, true});

// Cores max and executor cores are optional in the scenarios: 0 means unset.
ExecutorNeed need(int64_t memory, int32_t each, int32_t max, int64_t limit = kAll) {
  ExecutorNeed n;
  if (each) n.cores = each;
  n.memory_mib = memory;
  n.cores_left = max ? max : kAll;
  n.limit = limit;
  return n;
}
}  // namespace

TEST_CASE("M1–M12 cores of three workers (10 cores, 4096 MiB) for one application", "[placement]") {
  const std::vector<Case> cases = {
      {"M1", need(1024, 0, 0), {10, 10, 10}, {10, 10, 10}},
      {"M2", need(3072, 0, 0), {10, 10, 10}, {10, 10, 10}},
      {"M3", need(1024, 0, 8), {3, 3, 2}, {8, 0, 0}},
      {"M4", need(1024, 0, 16), {6, 5, 5}, {10, 6, 0}},
      {"M5 1024 MiB", need(1024, 2, 0), {8, 8, 8}, {8, 8, 8}},
      {"M5 256 MiB", need(256, 2, 0), {10, 10, 10}, {10, 10, 10}},
      {"M5 3 cores", need(256, 3, 0), {9, 9, 9}, {9, 9, 9}},
      {"M6", need(256, 2, 4), {2, 2, 0}, {4, 0, 0}},
      {"M7", need(256, 2, 20), {8, 6, 6}, {10, 10, 0}},
      {"M8", need(256, 3, 20), {6, 6, 6}, {9, 9, 0}},
      {"M9 limit 0", need(256, 0, 0, 0), {0, 0, 0}, {0, 0, 0}},
      {"M9 limit 2", need(256, 0, 0, 2), {10, 10, 0}, {10, 10, 0}},
      {"M9 limit 5", need(256, 0, 0, 5), {10, 10, 10}, {10, 10, 10}},
      {"M10 limit 2", need(256, 0, 16, 2), {8, 8, 0}, {10, 6, 0}},
      {"M10 limit 5", need(256, 0, 16, 5), {6, 5, 5}, {10, 6, 0}},
      {"M11 limit 0", need(256, 4, 0, 0), {0, 0, 0}, {0, 0, 0}},
      {"M11 limit 2", need(256, 4, 0, 2), {4, 4, 0}, {8, 0, 0}},
      {"M11 limit 5", need(256, 4, 0, 5), {8, 8, 4}, {8, 8, 4}},
      {"M12 limit 0", need(256, 4, 18, 0), {0, 0, 0}, {0, 0, 0}},
      {"M12 limit 2", need(256, 4, 18, 2), {4, 4, 0}, {8, 0, 0}},
      {"M12 limit 5", need(256, 4, 18, 5), {8, 4, 4}, {8, 8, 0}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    CHECK(assign_cores(c.need, kWorkers, true) == c.spread);
    CHECK(assign_cores(c.need, kWorkers, false) == c.packed);
  }
}

TEST_CASE("M12 48 cores in executors of 16 on four workers of 16 are exactly three",
          "[placement]") {
  std::vector<WorkerOffer> four(4, WorkerOffer{16, 65536, true});
  CHECK(assign_cores(need(1024, 16, 48), four, true) == Cores{16, 16, 16, 0});
}

TEST_CASE("M13 resource profiles one after the other over four workers", "[placement]") {
  struct Profile {
    ExecutorNeed need;
    int64_t want_unlimited, want_30;
  };
  const std::vector<Profile> profiles = {
      {need(1024, 0, 0, 1), 1, 1}, {need(1024, 15, 0, 1), 0, 0}, {need(8192, 0, 0, 1), 0, 0},
      {need(2048, 5, 0, 1), 1, 1}, {need(2048, 10, 0, 2), 2, 1},
  };
  for (int32_t max : {kAll, 30}) {
    std::vector<WorkerOffer> workers(4, WorkerOffer{10, 4096, true});
    int32_t left = max;
    for (const Profile& p : profiles) {
      ExecutorNeed n = p.need;
      n.cores_left = left;
      std::vector<size_t> usable = usable_workers(n, workers, WorkerOrder::kCoresFreeDesc);
      std::vector<WorkerOffer> offers;
      for (size_t i : usable) offers.push_back(workers[i]);
      Cores got = assign_cores(n, offers, true);
      int64_t executors = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        int64_t count = n.cores ? got[i] / *n.cores : (got[i] > 0);
        executors += count;
        left -= got[i];
        workers[usable[i]].cores_free -= got[i];
        workers[usable[i]].memory_free_mib -= count * n.memory_mib;
      }
      CHECK(executors == (max == kAll ? p.want_unlimited : p.want_30));
    }
  }
}

TEST_CASE("usable workers come in the order of the selection policy, equal ones in their own",
          "[placement]") {
  struct Case {
    WorkerOrder order;
    std::vector<size_t> want;
  };
  const std::vector<WorkerOffer> offers = {
      {2, 4096, false}, {8, 512, false}, {4, 4096, false}, {4, 2048, false}, {0, 4096, false}};
  const std::vector<Case> cases = {{WorkerOrder::kCoresFreeDesc, {2, 3, 0}},
                                   {WorkerOrder::kCoresFreeAsc, {0, 2, 3}},
                                   {WorkerOrder::kMemoryFreeDesc, {0, 2, 3}},
                                   {WorkerOrder::kMemoryFreeAsc, {3, 0, 2}},
                                   {WorkerOrder::kWorkerId, {0, 2, 3}}};
  for (const Case& c : cases) CHECK(usable_workers(need(1024, 0, 0), offers, c.order) == c.want);
  CHECK(usable_workers(need(1024, 4, 0), offers, WorkerOrder::kWorkerId) ==
        std::vector<size_t>{2, 3});
}

TEST_CASE("drivers go round the workers, each search starting after the last placement",
          "[placement]") {
  std::vector<WorkerOffer> workers = {{2, 2048, true}, {2, 2048, true}, {2, 2048, true}};
  std::vector<DriverNeed> drivers = {{1, 1024}, {1, 1024}, {1, 1024}, {1, 1024}, {3, 1024}};
  std::vector<DriverPlace> places = place_drivers(drivers, workers, true);
  for (size_t i = 0; i < 4; ++i) CHECK(places[i].worker == i % 3);
  CHECK_FALSE(places[4].worker);
  CHECK_FALSE(places[4].hopeless);
  CHECK(place_drivers(std::vector<DriverNeed>{{3, 1024}}, workers, true)[0].hopeless);
  CHECK(place_drivers(drivers, workers, false)[2].worker == 1);
  CHECK_FALSE(place_drivers(drivers, {}, true)[0].worker);
}

TEST_CASE("the same seed shuffles the same way, and every position stays", "[placement]") {
  std::mt19937_64 a(7), b(7);
  std::vector<size_t> order = shuffled(100, a);
  CHECK(order == shuffled(100, b));
  CHECK(order != shuffled(100, b));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
}
