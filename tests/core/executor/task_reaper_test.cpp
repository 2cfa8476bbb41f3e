// The task reaper in virtual time.
#include "core/executor/task_reaper.hpp"

#include "core/status/exit_codes.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

/// Answers each look by a table, and prints what happens with the time of it.
struct Reaping {
  TaskReaper reaper;
  Time now{};
  std::map<TaskId, Time> ends;  // of tasks that heed their kill
  std::multimap<Time, ReaperTimer> timers;
  std::vector<std::string> seen;
  std::optional<GiveUpProcess> given_up;

  explicit Reaping(TaskReaperOptions options) : reaper(options) {}
  void feed(TaskReaper::Event event) {
    TaskReaper::Effects out;
    reaper.on(event, now, out);
    for (const TaskReaper::Effect& effect : out)
      std::visit(overloaded{
                     [&](const LookAtTask& e) {
                       const auto end = ends.find(e.task);
                       feed(TaskSeen{e.task, end == ends.end() || now < end->second});
                     },
                     [&](const GiveUpProcess& e) { given_up = e; },
                     [&](const After<ReaperTimer>& e) { timers.emplace(now + e.delay, e.event); },
                     [&](const Log& e) {
                       seen.push_back(std::to_string(now.time_since_epoch() / 1s) + "s " + e.line);
                     },
                 },
                 effect);
  }
  void kill(int64_t task) { feed(KillTask{TaskId{task}, true, "cancelled"}); }
  void pass(Duration d) {
    const Time until = now + d;
    while (!timers.empty() && timers.begin()->first <= until) {
      const auto due = timers.extract(timers.begin());
      now = due.key();
      feed(due.mapped());
    }
    now = until;
  }
};
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a killed task that ends is looked at once and forgotten", "[task_reaper]") {
  Reaping r({.polling_interval = 10s, .kill_timeout = 1s});
  r.ends[TaskId{5}] = Time{3s};
  r.kill(5);
  r.pass(9s);
  CHECK(r.reaper.watched() == 1);
  r.pass(1h);
  CHECK(r.seen.empty());
  CHECK(r.timers.empty());
  CHECK(r.reaper.watched() == 0);
  CHECK_FALSE(r.given_up);
}

TEST_CASE("one that does not is reported at each poll; without a timeout for ever",
          "[task_reaper]") {
  Reaping r({.polling_interval = 10s, .kill_timeout = -1ms});
  r.ends[TaskId{5}] = Time{35s};
  r.kill(5);
  r.pass(5s);
  r.kill(5);  // again: watched once, since the first
  r.pass(1h);
  CHECK(r.seen == Lines{"10s Killed task 5 is still running after 10000 ms",
                        "20s Killed task 5 is still running after 20000 ms",
                        "30s Killed task 5 is still running after 30000 ms"});
  CHECK_FALSE(r.given_up);
}

TEST_CASE("the process is given up at the first poll after the timeout", "[task_reaper]") {
  Reaping r({.polling_interval = 10s, .kill_timeout = 20s});
  r.kill(5);
  r.pass(20s);
  CHECK_FALSE(r.given_up);  // not longer than the timeout yet
  r.pass(9s);
  CHECK_FALSE(r.given_up);
  r.pass(1s);
  CHECK(r.given_up == GiveUpProcess{kExitUncaughtException,
                                    "Killing executor because killed task 5 could not be stopped "
                                    "within 20000 ms."});
}

TEST_CASE("in local mode the process goes on, and says so once", "[task_reaper]") {
  Reaping r({.polling_interval = 10s, .kill_timeout = 5s, .is_local = true});
  r.kill(5);
  r.kill(6);
  r.ends[TaskId{6}] = Time{};
  r.pass(1h);
  CHECK(r.seen ==
        Lines{"10s Killed task 5 is still running after 10000 ms",
              "10s Killed task 5 could not be stopped within 5000 ms; not killing the process "
              "because it runs in local mode"});
  CHECK_FALSE(r.given_up);
  CHECK(r.reaper.watched() == 0);
}
