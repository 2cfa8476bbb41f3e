// Actions that run beside their caller, on a real driver with a local executor.
#include <atomic>
#include <thread>

#include "conf/keys.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/api/tinderbox.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;

namespace {

struct LocalDriver {
  std::unique_ptr<core::DriverRuntime> runtime = core::DriverRuntime::start(
      conf::Conf::of({{"spark.master", "local[2]"}, {"spark.app.name", "test"}}), {});
  Context context{*runtime};
};

std::atomic<int> begun{0};
std::atomic<bool> may_end{false};

/// Tasks that run until they are killed or may end.
auto endless(Context& context) {
  begun = 0;
  may_end = false;
  return context.range(0, 2, 1, 2).flat_map<int64_t>([](int64_t x, auto& emit) {
    ++begun;
    while (!may_end && emit(x)) {
    }
  });
}
/// Two tasks that each wait for the other: one slot that is still taken and it hangs.
bool all_slots_free(Context& context) {
  static std::atomic<int> met;
  met = 0;
  return context.range(0, 2, 1, 2)
             .map([](int64_t x) {
               for (++met; met < 2;) std::this_thread::yield();
               return x;
             })
             .count() == 2;
}
void until_begun() {
  while (begun == 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("asynchronous actions give what the others give", "[async]") {
  LocalDriver driver;
  auto numbers = driver.context.range(0, 100, 1, 4);
  auto count = numbers.count_async();
  auto all = numbers.collect_async();
  auto some = numbers.take_async(3);
  CHECK(count.get() == 100);
  CHECK(count.is_completed());
  CHECK(count.get() == 100);
  CHECK(all.get().size() == 100);
  CHECK(some.get() == std::vector<int64_t>{0, 1, 2});
  auto sum = driver.context.long_accumulator();
  numbers.foreach_async(capture(sum, [](const auto& s, int64_t x) { s.add(x); })).get();
  CHECK(sum.value() == 4950);
  numbers
      .foreach_partition_async(capture(sum,
                                       [](const auto& s, auto& part) {
                                         for (const int64_t x : part) s.add(-x);
                                       }))
      .get();
  CHECK(sum.value() == 0);
}

TEST_CASE("an asynchronous action that fails throws when it is asked", "[async]") {
  LocalDriver driver;
  auto failing = driver.context.range(0, 2, 1, 1).map([](int64_t x) -> int64_t {
    throw std::runtime_error("oops " + std::to_string(x));
  });
  auto count = failing.count_async();
  count.wait();
  CHECK(count.is_completed());
  CHECK_THROWS_WITH(count.get(), Contains("oops 0"));
}

TEST_CASE("a cancelled action ends, others go on", "[async]") {
  LocalDriver driver;
  driver.context.add_job_tag("mine");
  auto first = endless(driver.context).count_async();
  until_begun();
  CHECK_FALSE(first.is_completed());
  first.cancel();
  CHECK(first.is_completed());
  CHECK_THROWS_AS(first.get(), JobFailed);
  CHECK_THROWS_WITH(first.get(), Contains("cancelled"));
  CHECK(all_slots_free(driver.context));
  first.cancel();

  auto other = endless(driver.context).foreach_async([](int64_t) {});
  until_begun();
  may_end = true;
  other.get();
  other.cancel();
  CHECK(driver.context.job_tags() == std::vector<std::string>{"mine"});
}

TEST_CASE("the last copy of an action that goes waits for its end", "[async]") {
  LocalDriver driver;
  static std::atomic<int> ran;
  ran = 0;
  driver.context.range(0, 10, 1, 2).foreach_async([](int64_t) { ++ran; });
  CHECK(ran == 10);
}

TEST_CASE("an asynchronous action knows its jobs", "[async]") {
  LocalDriver driver;
  auto first = endless(driver.context).count_async();
  until_begun();
  // The tracker hears of a job a little later than its tasks begin.
  while (first.job_ids().empty()) std::this_thread::yield();
  const auto jobs = first.job_ids();
  CHECK(jobs.size() == 1);
  CHECK(driver.context.status_tracker().active_job_ids() == jobs);
  may_end = true;
  CHECK(first.get() > 0);
  CHECK(driver.context.range(0, 4, 1, 2).count_async().job_ids() != jobs);
}

TEST_CASE("jobs are cancelled by group, by id and by stage; their slots are free again",
          "[async]") {
  LocalDriver driver;
  Context& context = driver.context;
  const auto cancelled = [&](auto cancel, const std::string& why) {
    context.set_job_group("night", "what runs at night");
    auto action = endless(context).count_async();
    context.clear_job_group();
    until_begun();
    while (action.job_ids().empty() || context.status_tracker().active_stage_ids().empty())
      std::this_thread::yield();
    cancel(action.job_ids().at(0), context.status_tracker().active_stage_ids().at(0));
    CHECK_THROWS_WITH(action.get(), Contains(why));
    CHECK(all_slots_free(context));
  };
  cancelled([&](JobId, StageId) { context.cancel_job_group("night"); },
            "part of cancelled job group night");
  cancelled([&](JobId job, StageId) { context.cancel_job(job, "too slow"); }, "too slow");
  cancelled([&](JobId, StageId stage) { context.cancel_stage(stage, "wrong one"); }, "wrong one");
  cancelled([&](JobId, StageId) { context.cancel_all_jobs(); }, "cancelled");

  auto other = endless(context).count_async();
  until_begun();
  context.cancel_job_group("day");  // not its group
  may_end = true;
  CHECK(other.get() > 0);
  context.cancel_job_group_and_future_jobs("night");
  context.set_job_group("night", "");
  CHECK_THROWS_WITH(context.range(0, 2, 1, 2).count(), Contains("night"));
  context.clear_job_group();
  CHECK(all_slots_free(context));
}

TEST_CASE("jobs are cancelled by tag, those of other tags go on", "[async]") {
  LocalDriver driver;
  Context& context = driver.context;
  context.add_job_tag("slow");
  auto slow = endless(context).count_async();
  context.clear_job_tags();
  context.add_job_tag("other");
  until_begun();
  context.cancel_jobs_with_tag("others");
  context.cancel_jobs_with_tag("slow");
  CHECK_THROWS_WITH(slow.get(), Contains("job tag(s) slow"));
  CHECK(all_slots_free(context));
  auto other = endless(context).count_async();
  until_begun();
  context.cancel_jobs_with_tag("slow");
  may_end = true;
  CHECK(other.get() > 0);
}

TEST_CASE("a task attempt that is killed runs again", "[async]") {
  LocalDriver driver;
  struct Attempts final : core::Listener {
    std::atomic<int64_t> first{-1};
    std::atomic<int> started{0};
    void on_events(std::span<const core::ListenerEvent> events) override {
      for (const auto& event : events)
        if (const auto* e = std::get_if<core::TaskStarted>(&event)) {
          int64_t none = -1;
          first.compare_exchange_strong(none, e->task.id.value);
          ++started;
        }
    }
  };
  const auto attempts = std::make_shared<Attempts>();
  driver.context.add_listener(attempts);
  auto action = endless(driver.context).foreach_async([](int64_t) {});
  while (attempts->started < 2) std::this_thread::yield();
  driver.context.kill_task_attempt(TaskId{attempts->first}, true, "once more");
  while (attempts->started < 3) std::this_thread::yield();
  may_end = true;
  action.get();
  CHECK(attempts->started == 3);
}
