// Barrier sets that need more than slots. Ids are those of spec/11, section S.
#include "tests/core/scheduler/resources/resources_fixture.hpp"
#include "tests/core/scheduler/tasks/task_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;
using Catch::Matchers::Contains;

namespace {

struct Bed : TaskBed {
  using TaskBed::TaskBed;

  /// Of the resource profile, with so many cores and these GPUs.
  int32_t join(const std::string& id, int32_t cores, Strings gpus, int32_t profile = 0) {
    int32_t slot = -1;
    turn([&](Turn& t) {
      const PeerId peer = 100 + turns;
      executors.hello(peer, {Identity{"", options.app, 0, ""}, ExecutorId{id}, "b1", "c1", profile},
                      t);
      RegisterExecutor m;
      m.id = ExecutorId{id};
      m.host = "h-" + id;
      m.cores = cores;
      m.profile = profile;
      if (!gpus.empty()) m.resources["gpu"] = std::move(gpus);
      slot = executors.register_executor(peer, m, t);
      executors.activate(slot);
      tasks.executor_ready(slot);
    });
    return slot;
  }
  void submit_barrier(int32_t stage, int32_t n, int32_t profile = 0, Locations preferred = {}) {
    turn([&](Turn& t) {
      TaskSetSpec s = spec(stage, n, std::move(preferred));
      s.barrier = true;
      s.profile = profile;
      tasks.submit(std::move(s), t);
    });
  }
  /// Everything that is free.
  std::vector<Launch> offer_all(const std::vector<int32_t>& slots) {
    std::vector<TaskScheduler::Offer> offers;
    for (const int32_t e : slots)
      if (executors.at(e).idle_slots > 0) offers.push_back({e, executors.at(e).idle_slots});
    return offer(std::move(offers));
  }
  /// "executor/address" of each task that the last turn launched.
  Strings places() const {
    Strings v;
    for (const DriverEffect& e : out)
      if (const auto* s = std::get_if<Send<ToExecutor>>(&e))
        if (const auto* m = std::get_if<LaunchTasks>(&s->message))
          for (const ResourceAddresses& r : m->resources)
            for (const std::string& address : r.at("gpu"))
              v.push_back(executors.at(executors.of_peer(s->to)).id.value + "/" + address);
    std::sort(v.begin(), v.end());
    return v;
  }
  void succeed_all(const std::vector<Launch>& launched) {
    for (const Launch& l : launched) succeed(l);
  }
};

}  // namespace

TEST_CASE("S32 a barrier set waits for the cores of each task", "[resources]") {
  DriverOptions o = test_options();
  o.task_cpus = 2;
  Bed b(o);
  const int32_t e0 = b.join("e0", 3, {}), e1 = b.join("e1", 3, {}), e2 = b.join("e2", 3, {});
  b.submit_barrier(0, 3);
  CHECK(b.offer_all({e0, e1}).empty());  // 6 cores are 2 slots
  const auto launched = b.offer_all({e0, e1, e2});
  CHECK(launched.size() == 3);
  b.succeed_all(launched);
  CHECK(b.tasks.idle());
}

TEST_CASE("S32 a barrier set waits for the GPUs of each task", "[resources]") {
  Bed b(gpus(1, 1));
  const int32_t e0 = b.join("e0", 4, {"0"}), e1 = b.join("e1", 4, {"0"});
  const int32_t e2 = b.join("e2", 4, {"0"});
  b.submit_barrier(0, 3);
  CHECK(b.offer_all({e0, e1}).empty());
  const auto launched = b.offer_all({e0, e1, e2});
  CHECK(launched.size() == 3);
  CHECK(b.places() == Strings{"e0/0", "e1/0", "e2/0"});
  b.succeed_all(launched);
  CHECK(b.tasks.idle());
}

TEST_CASE("S32 a barrier set runs on executors of its own profile", "[resources]") {
  const size_t each = GENERATE(1, 2);
  Bed b(test_options());
  const ResourceProfile profile = make(ExecutorResourceRequests().cores(4).resource("gpu", 2),
                                       TaskResourceRequests().resource("gpu", 1));
  const int32_t rp = b.executors.profiles().id_of(profile);
  const Strings addresses = each == 1 ? Strings{"7"} : Strings{"7", "8"};
  const int32_t e0 = b.join("e0", 4, addresses, rp), e1 = b.join("e1", 4, addresses, rp);
  const int32_t other = b.join("other", 16, {"0", "1", "2", "3"});
  b.submit_barrier(0, 3, rp);
  const auto launched = b.offer_all({other, e0, e1});
  CHECK(b.tasks.total_slots(rp) == static_cast<int32_t>(2 * each));
  CHECK(b.tasks.total_slots(kDefaultProfile) == 16);
  if (each == 1) {
    CHECK(launched.empty());
    return;
  }
  CHECK(launched.size() == 3);
  CHECK(b.places().size() == 3);
  b.succeed_all(launched);
  CHECK(b.tasks.idle());
}

TEST_CASE("a barrier set that fits in part gives its addresses back", "[resources]") {
  Bed b(gpus(2, 1));
  const int32_t e0 = b.join("e0", 4, {"0", "1"}), e1 = b.join("e1", 4, {"0", "1"});
  const Strings there = {"executor_h-e0_e0"}, elsewhere = {"executor_h-far_far"};
  b.join("far", 0, {});
  b.submit_barrier(0, 3, kDefaultProfile, {there, there, elsewhere});
  b.turn([&](Turn& t) { b.tasks.submit(b.spec(1, 4), t); });
  const auto others = b.offer_all({e0, e1});
  REQUIRE(others.size() == 4);
  for (const auto& l : others) CHECK(l.stage == 1);
  CHECK(b.places() == Strings{"e0/0", "e0/1", "e1/0", "e1/1"});
  b.succeed_all(others);
  b.now += 7s;  // any place will do now
  const auto together = b.offer_all({e0, e1});
  CHECK(together.size() == 3);
  CHECK(b.places().size() == 3);
  b.succeed_all(together);
  CHECK(b.tasks.idle());
}

TEST_CASE("a barrier set of a profile without executors shares those that there are",
          "[resources]") {
  Bed b(gpus(2, 0.5));
  const int32_t rp = b.executors.profiles().id_of(gpu_tasks(2, 1));
  const int32_t e0 = b.join("e0", 4, {"0", "1"}), e1 = b.join("e1", 5, {"0", "1"});
  CHECK(b.tasks.total_slots(kDefaultProfile) == 8);
  CHECK(b.tasks.total_slots(rp) == 4);
  b.turn([&](Turn& t) { b.tasks.submit(b.spec(0, 1), t); });
  b.submit_barrier(1, 4, rp);
  const auto first = b.offer_all({e0, e1});
  REQUIRE(first.size() == 1);  // its address and its core are missing
  CHECK(first[0].stage == 0);
  b.succeed_all(first);
  const auto together = b.offer_all({e0, e1});
  CHECK(together.size() == 4);
  CHECK(b.places() == Strings{"e0/0", "e0/1", "e1/0", "e1/1"});
  b.succeed_all(together);
  CHECK(b.tasks.idle());
}

TEST_CASE("a job waits for what its barrier stage's profile needs", "[resources]") {
  Gpus c(gpus(2, 0.5));
  c.join("A", 8, {"0", "1"});
  auto all = c.with(gpu_tasks(1, 1), rdd(3));
  all->barrier = all->starts_barrier = true;
  const uint64_t job = c.submit(all);
  CHECK(c.live().empty());
  CHECK_THAT(c.warnings().back(), Contains("requires 3 slots, but only 2 are available"));
  c.join("B", 1, {"5"});
  CHECK(c.live().empty());
  c.advance(15s);
  REQUIRE(c.live().size() == 3);
  c.end_all();
  CHECK(c.ended(job));
  CHECK(c.error(job).empty());
  CHECK(c.driver.idle_state_is_clean());
}
