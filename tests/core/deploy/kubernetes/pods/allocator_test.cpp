// K1 to K13: which pods are created and deleted, over virtual time.
#include "core/deploy/kubernetes/pods/allocator.hpp"

#include "conf/keys.hpp"
#include "core/deploy/kubernetes/pods/failures.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core::kubernetes;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

using Ids = std::vector<int64_t>;

/// An allocator and the pods that the API server shows.
struct AllocatorBench {
  explicit AllocatorBench(AllocatorOptions options = batches_of_five()) : allocator(options) {}

  static AllocatorOptions batches_of_five() {
    AllocatorOptions o;
    o.batch_size = 5;
    return o;
  }
  void show(int64_t id, PodState state, int32_t profile = 0) {
    PodEntry& entry = table[id];
    if (entry.created == Time{}) entry.created = now;
    entry.state = state;
    entry.profile = profile;
    allocator.seen(id);
  }
  void show_all(const Ids& ids, PodState state, int32_t profile = 0) {
    for (const int64_t id : ids) show(id, state, profile);
  }
  void vanish(int64_t id) {
    table.erase(id);
    allocator.gone(id);
  }
  Allocator::Step step() { return allocator.step(table, now); }
  Ids created() {
    Ids ids;
    for (const auto& c : step().create) ids.push_back(c.executor);
    return ids;
  }

  Allocator allocator;
  PodTable table;
  Time now{1000s};
};

Ids ids_of(const Allocator::Step& step, int32_t profile) {
  Ids ids;
  for (const auto& c : step.create)
    if (c.profile == profile) ids.push_back(c.executor);
  return ids;
}

constexpr auto kPending = PodState::Pending;
constexpr auto kRunning = PodState::Running;

}  // namespace

TEST_CASE("K1 K2 batches: the next one when all of the one before were seen", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 6}});
  CHECK(b.created() == Ids{1, 2, 3, 4, 5});
  CHECK(b.allocator.outstanding() == 5);
  b.show_all({1, 2, 3, 4}, kRunning);
  CHECK(b.created().empty());
  CHECK(b.allocator.outstanding() == 1);
  b.show(5, kRunning);
  CHECK(b.created() == Ids{6});
  CHECK(b.created().empty());
}

TEST_CASE("K3 what failed is replaced at once", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 5}});
  b.step();
  b.show_all({1, 2, 3, 4}, kRunning);
  b.show(5, PodState::Failed);
  CHECK(b.created() == Ids{6});
  CHECK(b.allocator.outstanding() == 1);
}

TEST_CASE("K4 a pod that is never shown is given up after the creation timeout", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 1}});
  CHECK(b.created() == Ids{1});
  b.now += 600s;
  CHECK(b.step() == Allocator::Step{});
  b.now += 1ms;
  const Allocator::Step step = b.step();
  CHECK(step.give_up == Ids{1});
  CHECK(ids_of(step, 0) == Ids{2});
}

TEST_CASE("K5 fewer are wanted: what is new or pending for too long goes, never what runs",
          "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 1}});
  b.step();
  b.show(1, kRunning);
  b.allocator.want({{0, 4}});
  CHECK(b.created() == Ids{2, 3, 4});
  b.show(2, kRunning);
  b.show(3, kPending);
  b.now += 61s;
  b.allocator.want({{0, 1}});
  CHECK(b.step().remove == Ids{4, 3});
  CHECK(b.allocator.was_removed(3));
  CHECK(b.step() == Allocator::Step{});  // once
  b.vanish(3);
  CHECK_FALSE(b.allocator.was_removed(3));
}

TEST_CASE("K6 idle means strictly longer than the timeout", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 1}});
  b.step();
  b.show(1, kPending);
  b.now += 30s;
  b.allocator.want({{0, 2}});
  CHECK(b.created() == Ids{2});
  b.show(2, kPending);
  b.now += 30s;
  b.allocator.want({{0, 1}});
  CHECK(b.step().remove.empty());  // 1 is at the limit
  b.now += 30s;
  CHECK(b.step().remove == Ids{1});  // 2 is at the limit
}

TEST_CASE("K7 what registered with the driver is in use", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 5}});
  b.step();
  b.show_all({1, 2}, kPending);
  b.allocator.want({{0, 0}});
  const Allocator::Step early = b.step();
  CHECK(early.remove.empty());
  CHECK(early.too_young);
  b.now += 61s;
  for (const int64_t id : {1, 3, 4}) b.allocator.registered(id);
  CHECK(b.step().remove == Ids{5, 2});
}

TEST_CASE("K8 K9 resource profiles are counted apart", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 3}, {1, 4}});
  Allocator::Step step = b.step();
  CHECK(ids_of(step, 0) == Ids{1, 2, 3});
  CHECK(ids_of(step, 1) == Ids{4, 5, 6, 7});
  for (const int64_t id : {1, 2, 4, 5}) b.allocator.registered(id);
  b.allocator.want({{0, 1}, {1, 1}});
  b.now += 61s;
  CHECK(b.step().remove == Ids{3, 6, 7});
  b.allocator.want({{0, 2}, {1, 2}});
  CHECK(b.step() == Allocator::Step{});  // those known count
  b.allocator.want({{0, 3}, {1, 3}});
  step = b.step();
  CHECK(ids_of(step, 0) == Ids{8});
  CHECK(ids_of(step, 1) == Ids{9});
}

TEST_CASE("K9 running pods stay when fewer are wanted", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 1}, {1, 2}});
  b.step();
  b.show(1, kRunning);
  b.show_all({2, 3}, kRunning, 1);
  b.allocator.want({{0, 4}, {1, 3}});
  const Allocator::Step step = b.step();
  CHECK(ids_of(step, 0) == Ids{4, 5, 6});
  CHECK(ids_of(step, 1) == Ids{7});
  b.now += 61s;
  b.show_all({5, 6}, kPending);
  b.now += 61s;
  b.allocator.want({{0, 1}, {1, 1}});
  CHECK(b.step().remove == Ids{4, 5, 6, 7});
}

TEST_CASE("K10 pods that wait for a node do not hold up the next batch", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 6}});
  b.step();
  b.show(1, kPending);
  b.show_all({2, 3, 4, 5}, kRunning);
  CHECK(b.created() == Ids{6});
}

TEST_CASE("K11 slots are split evenly, the first get what is over", "[pods]") {
  using Shares = std::vector<int32_t>;
  CHECK(Allocator::split_slots(1, 0) == Shares{0});
  CHECK(Allocator::split_slots(1, 1) == Shares{1});
  CHECK(Allocator::split_slots(1, 2) == Shares{2});
  CHECK(Allocator::split_slots(3, 0) == Shares{0, 0, 0});
  CHECK(Allocator::split_slots(3, 1) == Shares{1, 0, 0});
  CHECK(Allocator::split_slots(3, 2) == Shares{1, 1, 0});
  CHECK(Allocator::split_slots(3, 3) == Shares{1, 1, 1});
  CHECK(Allocator::split_slots(3, 4) == Shares{2, 1, 1});
}

TEST_CASE("K12 no more than maxPendingPods are pending", "[pods]") {
  AllocatorOptions options = AllocatorBench::batches_of_five();
  options.max_pending = 3;
  AllocatorBench b(options);
  b.allocator.want({{0, 2}, {1, 3}});
  Allocator::Step step = b.step();
  CHECK(ids_of(step, 0) == Ids{1, 2});
  CHECK(ids_of(step, 1) == Ids{3});
  b.show_all({1, 2}, kPending);
  b.show(3, kPending, 1);
  CHECK(b.step() == Allocator::Step{});
  b.now += 61s;
  b.allocator.want({{0, 1}, {1, 3}});
  step = b.step();
  CHECK(step.remove == Ids{1});
  CHECK(ids_of(step, 1) == Ids{4});
  b.vanish(1);
  b.show(4, kPending, 1);
  b.show(3, kRunning, 1);
  CHECK(ids_of(b.step(), 1) == Ids{5});
}

TEST_CASE(
    "a profile has no more than maxPendingPodsPerRp pending, an application no more than its "
    "maximum",
    "[pods]") {
  AllocatorOptions options = AllocatorBench::batches_of_five();
  options.max_pending_per_profile = 2;
  options.max_pods = 4;
  AllocatorBench b(options);
  b.allocator.want({{0, 5}, {1, 1}});
  CHECK(b.created() == Ids{1, 2, 3});
  b.show_all({1, 2}, kRunning);
  b.show(3, kRunning, 1);
  const Allocator::Step step = b.step();
  CHECK(ids_of(step, 0) == Ids{4});
  CHECK(step.exhausted);
}

TEST_CASE("a pod that could not be created is asked for again under another number", "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 1}});
  CHECK(b.created() == Ids{1});
  b.allocator.not_created(1);
  CHECK(b.created() == Ids{2});
}

TEST_CASE("a number that nobody was asked for is given again, unless a higher one is in use",
          "[pods]") {
  AllocatorBench b;
  b.allocator.want({{0, 3}});
  CHECK(b.created() == Ids{1, 2, 3});
  b.allocator.not_asked(3);
  b.show_all({1, 2}, kRunning);
  CHECK(b.created() == Ids{3});
  b.show(3, kRunning);
  b.vanish(2);
  b.vanish(3);
  CHECK(b.created() == Ids{4, 5});
  b.allocator.not_asked(4);
  b.show(5, kRunning);
  CHECK(b.created() == Ids{6});
}

TEST_CASE("K13 failures count for a while", "[pods]") {
  Failures failures({2, 2s});
  Time now{100s};
  failures.failed(true, now);
  failures.failed(true, now);
  CHECK(failures.count(now) == 2);
  CHECK_FALSE(failures.too_many(now));
  now += 2001ms;
  CHECK(failures.count(now) == 0);
  for (int i = 0; i < 3; ++i) failures.failed(true, now);
  CHECK(failures.too_many(now));
}

TEST_CASE("executors that fail before they serve are started ever more slowly", "[pods]") {
  Failures failures({100, Duration::max()});
  std::vector<Duration> pauses;
  for (int i = 0; i < 12; ++i) {
    failures.failed(false, Time{1s});
    pauses.push_back(failures.pause());
  }
  CHECK(pauses == std::vector<Duration>{0s, 0s, 1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s, 60s});
  failures.served();
  CHECK(failures.pause() == 0s);
}

TEST_CASE("a pod that could not be made is a reason to pause, but no executor's failure",
          "[pods]") {
  Failures failures({1, Duration::max()});
  for (int i = 0; i < 3; ++i) failures.refused();
  CHECK(failures.pause() == 1s);
  CHECK(failures.count(Time{1s}) == 0);
  failures.failed(false, Time{1s});
  CHECK(failures.pause() == 2s);
  CHECK_FALSE(failures.too_many(Time{1s}));
}

TEST_CASE("settings of the allocator and of failures", "[pods]") {
  const auto conf = [](const conf::Pairs& pairs) { return conf::Conf::of(pairs); };
  CHECK(allocator_options(conf({})).batch_size == 20);
  CHECK(allocator_options(conf({{"spark.kubernetes.allocation.batch.delay", "200s"}}))
            .creation_timeout == 1000s);
  CHECK_THROWS_WITH(allocator_options(conf({{"spark.kubernetes.allocation.batch.size", "0"}})),
                    Contains("spark.kubernetes.allocation.batch.size is invalid"));
  CHECK_THROWS_WITH(allocator_options(conf({{"spark.kubernetes.allocation.batch.delay", "100ms"}})),
                    Contains("must be greater than 0.1s"));
  CHECK(failure_options(conf({})).max_failures == 4);
  CHECK(failure_options(conf({{"spark.executor.instances", "1"}})).max_failures == 3);
  CHECK(failure_options(conf({{"spark.dynamicAllocation.enabled", "true"}})).max_failures ==
        INT32_MAX);
  CHECK(failure_options(conf({{"spark.executor.maxNumFailures", "7"}})).max_failures == 7);
  CHECK(failure_options(conf({{"spark.executor.failuresValidityInterval", "1m"}})).validity == 60s);
}
