// Threads that wait for jobs, and the accumulator updates that they merge.
#include "core/api/runtime/job_waiters.hpp"

#include <atomic>
#include <thread>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

using Updates = std::vector<AccumulatorUpdate>;

DeliverJobEnd end_of(uint64_t ticket, std::string error = {}) {
  DeliverJobEnd end;
  end.ticket = ticket;
  end.error = std::move(error);
  return end;
}
ApplyAccumulators one_update() {
  ApplyAccumulators all;
  all.updates.resize(1);
  return all;
}

}  // namespace

TEST_CASE("an application's error ends with its cause, not with a heading of nothing",
          "[job_waiters]") {
  struct Case {
    std::string told, want;
  };
  for (const Case& c : std::vector<Case>{{"failed: oops\n\nDriver stacktrace:", "failed: oops"},
                                         {"failed: oops\nDriver stacktrace:", "failed: oops"},
                                         {"two\nlines\n", "two\nlines\n"}}) {
    JobWaiters waiters;
    const uint64_t ticket = waiters.open();
    waiters.put(end_of(ticket, c.told));
    waiters.end_of_turn();
    CHECK(waiters.wait(ticket, [](const Updates&) {}).error == c.want);
  }
}

TEST_CASE("a waiter gets its results and its end, and merges what came before them",
          "[job_waiters]") {
  JobWaiters waiters;
  const uint64_t ticket = waiters.open(), other = waiters.open();
  size_t merged = 0;
  const auto merge = [&](const Updates& updates) { merged += updates.size(); };
  DeliverResult result;
  result.ticket = ticket;
  result.position = 3;
  waiters.put(one_update());
  waiters.put(result);
  waiters.end_of_turn();
  JobWaiters::Taken taken = waiters.wait(ticket, merge);
  CHECK(taken.results.size() == 1);
  CHECK_FALSE(taken.ended);
  CHECK(merged == 1);
  waiters.put(end_of(ticket, "lost"));
  waiters.put(end_of(other));
  waiters.end_of_turn();
  taken = waiters.wait(ticket, merge);
  CHECK(taken.ended);
  CHECK(taken.error == "lost");
  CHECK(waiters.wait(other, merge).ended);
  CHECK(merged == 1);
}

TEST_CASE("at the end who waits is told, and who comes later; what had ended stays as it was",
          "[job_waiters]") {
  JobWaiters waiters;
  const auto error_of = [&](uint64_t ticket) {
    return waiters.wait(ticket, [](const Updates&) {}).error;
  };
  const uint64_t over = waiters.open(), waiting = waiters.open();
  waiters.put(end_of(over, "lost"));
  waiters.end_of_turn();
  std::string told;
  std::thread other([&] { told = error_of(waiting); });
  waiters.close("all is over");
  other.join();
  CHECK(told == "all is over");
  CHECK(error_of(waiters.open()) == "all is over");
  CHECK(error_of(over) == "lost");
}

TEST_CASE("listeners find merged what was put before the events that they get", "[job_waiters]") {
  JobWaiters waiters;
  size_t merged = 0;
  const auto merge = [&](const Updates& updates) { merged += updates.size(); };
  waiters.put(one_update());
  waiters.merge_now(merge);
  CHECK(merged == 0);
  waiters.end_of_updates();
  waiters.merge_now(merge);
  waiters.merge_now(merge);
  CHECK(merged == 1);
  const uint64_t ticket = waiters.open();
  waiters.put(end_of(ticket));
  waiters.end_of_turn();
  CHECK(waiters.wait(ticket, merge).ended);
  CHECK(merged == 1);
}

TEST_CASE("no job returns while updates that came before its end are being merged",
          "[job_waiters]") {
  JobWaiters waiters;
  const uint64_t first = waiters.open(), second = waiters.open();
  waiters.put(one_update());
  waiters.put(end_of(first));
  waiters.end_of_turn();
  std::atomic<bool> merged{false}, returned{false};
  bool saw_it_merged = false;
  std::thread other;
  waiters.wait(first, [&](const Updates&) {
    waiters.put(end_of(second));
    waiters.end_of_turn();
    other = std::thread([&] {
      waiters.wait(second, [](const Updates&) {});
      saw_it_merged = merged;
      returned = true;
    });
    for (int i = 0; i < 2000 && !returned; ++i) std::this_thread::yield();
    merged = true;
  });
  other.join();
  CHECK(saw_it_merged);
}
