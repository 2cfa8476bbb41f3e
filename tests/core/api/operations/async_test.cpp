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
