// An application that breaks its own cluster in the middle of a job and checks, from the
// scheduler's events, that the fault hit this job and that the scheduler did what it should. Run by
// tests/processes/cluster/faults_test.sh.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/api/tinderbox.hpp"
#include "tests/apps/shared/executor_process.hpp"
#include "tests/apps/shared/watched.hpp"

namespace {

using namespace tinderbox;
using core::ListenerEvent;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error("FAULT TEST: " + what); }
void require(bool ok, const std::string& what) {
  if (!ok) fail(what);
}

/// Keeps all events.
class Recorder : public Watched {
 public:
  void on_events(std::span<const ListenerEvent> events) override {
    for (const ListenerEvent& e : events) {
      std::lock_guard lock(mutex_);
      all_.push_back(e);
      if (auto* s = std::get_if<core::TaskStarted>(&e))
        running_[s->task.executor.value].insert(s->task.id);
      if (auto* t = std::get_if<core::TaskEnded>(&e))
        running_[t->task.executor.value].erase(t->task.id);
      show(e);
    }
  }
  /// Only while it is watched.
  size_t running_on(const std::string& executor) { return running_[executor].size(); }
  template <class T, class F>
  size_t count(F match) {
    std::lock_guard lock(mutex_);
    size_t n = 0;
    for (const ListenerEvent& e : all_)
      if (auto* t = std::get_if<T>(&e)) n += match(*t);
    return n;
  }

 private:
  std::vector<ListenerEvent> all_;
  std::map<std::string, std::set<TaskId>> running_;
};

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

struct Fault {
  Context& context;
  std::string app;
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  std::string victim;  // executor id
  size_t was_running = 0;

  Fault(Context& c, std::string id) : context(c), app(std::move(id)) {
    context.add_listener(recorder);
  }

  void kill_executor(const std::string& executor, bool its_worker) {
    int pid = pid_of_executor(app, executor);
    if (its_worker) pid = parent_of(pid);
    require(kill(pid, SIGKILL) == 0, "cannot kill " + std::to_string(pid));
    victim = executor;
  }
  void check_lost_tasks_ran_again() {
    std::set<std::pair<int32_t, int32_t>> lost;
    recorder->count<core::TaskEnded>([&](const core::TaskEnded& e) {
      bool is_lost =
          e.kind() == TaskEndKind::ExecutorLostFailure && e.task.executor.value == victim;
      if (is_lost) lost.insert({e.task.stage.value, e.task.index});
      return is_lost;
    });
    require(was_running > 0, "the victim ran no task of this job when it was killed");
    require(!lost.empty(), "no task of executor " + victim + " ended as lost");
    size_t retried = recorder->count<core::TaskStarted>([&](const core::TaskStarted& e) {
      return e.task.attempt >= 1 && lost.contains({e.task.stage.value, e.task.index});
    });
    require(retried > 0, "no lost task was tried again");
  }
};

/// A victim dies while it runs tasks of this job.
void lose_while_running(Fault& f, bool worker) {
  bool some_ended = false;
  const auto watching = f.recorder->watch([&, worker](const ListenerEvent& e) {
    some_ended |= std::holds_alternative<core::TaskEnded>(e);
    auto* started = std::get_if<core::TaskStarted>(&e);
    if (!started || !some_ended || !f.victim.empty()) return;
    const std::string& executor = started->task.executor.value;
    f.was_running = f.recorder->running_on(executor);
    f.kill_executor(executor, worker);
  });
  int64_t sum = f.context.range(0, 24, 1, 24)
                    .map([](int64_t x) { return pause_ms(100), x * x; })
                    .reduce([](int64_t a, int64_t b) { return a + b; });
  require(sum == 4324, "wrong result " + std::to_string(sum));
  require(!f.victim.empty(), "nothing was killed");
  f.check_lost_tasks_ran_again();
}

/// Another one comes in its place: as many cores as before count.
void lose_executor(Fault& f) {
  const int32_t before = f.context.default_parallelism();
  lose_while_running(f, false);
  const auto replaced = [&] {
    const std::vector<core::ExecutorStatus> all = f.context.status_tracker().executor_infos();
    return all.size() == 2 && std::none_of(all.begin(), all.end(), [&](const auto& e) {
             return e.executor.value == f.victim;
           });
  };
  while (!replaced()) pause_ms(10);
  const int32_t now = f.context.default_parallelism();
  require(now == before,
          "default_parallelism() is " + std::to_string(now) + ", was " + std::to_string(before));
}

/// The holder of map outputs dies between the stages.
void lose_map_outputs(Fault& f) {
  std::set<std::string> holders;
  const auto watching = f.recorder->watch([&](const ListenerEvent& e) {
    if (auto* t = std::get_if<core::TaskEnded>(&e); t && t->task.stage.value == 0)
      holders.insert(t->task.executor.value);
    auto* stage = std::get_if<core::StageCompleted>(&e);
    if (stage && stage->stage.stage.value == 0 && f.victim.empty())
      f.kill_executor(*holders.begin(), false);
  });
  auto sums = f.context.range(0, 4000, 1, 8)
                  .map([](int64_t x) { return std::pair<int64_t, int64_t>(x % 40, x); })
                  .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 8)
                  .map([](const std::pair<int64_t, int64_t>& p) { return pause_ms(20), p.second; })
                  .reduce([](int64_t a, int64_t b) { return a + b; });
  require(sums == 4000 * 3999 / 2, "wrong result " + std::to_string(sums));
  require(!f.victim.empty(), "nothing was killed");
  size_t again = f.recorder->count<core::StageSubmitted>(
      [](const core::StageSubmitted& s) { return s.stage.attempt >= 1; });
  require(again > 0, "no stage was tried again");
}

/// A task ends its executor's process: four attempts, then the job fails, and the next job works.
void exit_in_task(Fault& f) {
  std::string message;
  try {
    f.context.range(0, 2, 1, 2).foreach ([](int64_t x) {
      if (x == 1) _exit(42);
    });
  } catch (const JobFailed& e) {
    message = e.what();
  }
  require(message.find("failed 4 times") != std::string::npos,
          "not 'failed 4 times' but: " + message);
  require(f.context.range(0, 10, 1, 4).count() == 10, "the next job has a wrong result");
}

template <class Act>
std::string failure_of(Fault& f, Act act) {
  try {
    f.context.range(0, 16, 1, 16).foreach (act);
  } catch (const JobFailed& e) {
    return e.what();
  }
  return "no failure";
}

/// Tasks behind a short one are there before the driver hears that it ended: the one that crashes
/// on its first record is blamed all the same, and no other.
void crash_in_task(Fault& f) {
  const std::string message = failure_of(f, [](int64_t x) {
    if (x == 9) std::abort();
    pause_ms(10);
  });
  require(message.find("Task 9 in stage 0.0 failed 4 times") != std::string::npos,
          "not 'Task 9 failed 4 times' but: " + message);
  require(f.context.range(0, 10, 1, 4).count() == 10, "the next job has a wrong result");
}

/// With exit code 0 an executor is as lost as with any other.
void exit_with_0(Fault& f) {
  const std::string message = failure_of(f, [](int64_t x) {
    if (x == 1) _exit(0);
  });
  require(message.find("failed 4 times") != std::string::npos,
          "not 'failed 4 times' but: " + message);
  require(f.context.range(0, 10, 1, 4).count() == 10, "the next job has a wrong result");
}

/// User code writes where nothing is, divides by zero: the error says by which signal it ended.
void fault_in_task(Fault& f) {
  const auto ended_by = [&](auto act, const std::string& signal) {
    const std::string message = failure_of(f, act);
    require(message.find("Task 3 in stage") != std::string::npos &&
                message.find("failed 4 times") != std::string::npos &&
                message.find(signal) != std::string::npos,
            "not 'Task 3 … failed 4 times … " + signal + "' but: " + message);
    require(f.context.range(0, 10, 1, 4).count() == 10, "the next job has a wrong result");
  };
  ended_by(
      [](int64_t x) {
        if (x == 3) *reinterpret_cast<volatile int*>(x) = 1;
      },
      "SIGSEGV");
  ended_by(
      [](int64_t x) {
        volatile int64_t zero = 0;
        if (x == 3) zero = x / zero;
      },
      "SIGFPE");
}

/// A task without memory takes its executor with it: others of it would fail as well.
void exhaust_memory(Fault& f) {
  const std::string message = failure_of(f, [](int64_t x) {
    if (x == 1) throw std::bad_alloc();
  });
  require(message.find("Task 1 in stage 0.0 failed 4 times") != std::string::npos &&
              message.find("std::bad_alloc") != std::string::npos,
          "not 'Task 1 failed 4 times … std::bad_alloc' but: " + message);
  const size_t ended = f.recorder->count<core::ExecutorRemoved>([](const core::ExecutorRemoved& e) {
    return e.reason.find("out of memory") != std::string::npos;
  });
  require(ended >= 3, std::to_string(ended) + " executors ended, not one for each attempt");
}

/// A user function throws: four attempts, its message, and the process goes on.
void throw_in_task(Fault& f) {
  std::string message;
  try {
    f.context.range(0, 4, 1, 4).foreach ([](int64_t x) {
      if (x == 2) throw std::runtime_error("record 2 is bad");
    });
  } catch (const JobFailed& e) {
    message = e.what();
  }
  require(message.find("failed 4 times") != std::string::npos,
          "not 'failed 4 times' but: " + message);
  require(message.find("record 2 is bad") != std::string::npos,
          "without the user's message: " + message);
  require(f.context.range(0, 10, 1, 4).count() == 10, "the next job has a wrong result");
}

[[noreturn]] void compute_for_ever() {
  while (true) pause_ms(100);
}

/// Tasks that look at no record any more, until somebody kills the driver.
void compute(Fault& f) {
  f.context.range(0, 2, 1, 2).foreach ([](int64_t) { compute_for_ever(); });
}

/// A job fails while another task of it computes: the program ends all the same.
void fail_beside_one_that_computes(Fault& f) {
  try {
    f.context.range(0, 2, 1, 2).foreach ([](int64_t x) {
      if (x == 0) throw std::runtime_error("record 0 is bad");
      compute_for_ever();
    });
  } catch (const JobFailed&) {
    return;
  }
  fail("the job did not fail");
}

/// A file comes slower than an executor may be silent: none is lost, and the tasks after it find
/// it.
void slow_file(Fault& f, const std::string& url) {
  require(f.context.range(0, 4, 1, 2).count() == 4, "a count before the file");
  f.context.add_file(url);
  const int64_t found =
      f.context.range(0, 4, 1, 4)
          .filter([](int64_t) { return access(shipped_file("slow.txt").c_str(), F_OK) == 0; })
          .count();
  require(found == 4, std::to_string(found) + " of 4 tasks found the file");
  require(f.recorder->count<core::ExecutorRemoved>([](const auto&) { return true; }) == 0,
          "an executor was lost");
}

/// Tasks of 100 ms for `seconds`, so that a script can break things meanwhile; the rest takes no
/// time once the file `enough` is there.
void long_job(Fault& f, int seconds, const std::string& enough) {
  int32_t tasks = seconds * 20;
  int64_t count = f.context.range(0, tasks, 1, tasks)
                      .map(capture(enough,
                                   [](const std::string& file, int64_t x) {
                                     if (access(file.c_str(), F_OK) != 0) pause_ms(100);
                                     return x;
                                   }))
                      .count();
  require(count == tasks, "wrong result " + std::to_string(count));
}

/// It computes on by itself whatever becomes of the context, after a line that says so.
[[noreturn]] void deaf(Fault& f) {
  if (f.context.range(0, 7, 1, 2).count() != 7) fail("deaf: wrong count");
  std::printf("deaf\n");
  std::fflush(stdout);
  for (;;) ::pause();
}

int run(Context& context, std::span<const std::string> args) {
  if (args.empty()) fail("which fault?");
  Fault f(context, context.application_id());
  if (args[0] == "executor")
    lose_executor(f);
  else if (args[0] == "worker")
    lose_while_running(f, true);
  else if (args[0] == "map-output")
    lose_map_outputs(f);
  else if (args[0] == "exit")
    exit_in_task(f);
  else if (args[0] == "exit-0")
    exit_with_0(f);
  else if (args[0] == "fault")
    fault_in_task(f);
  else if (args[0] == "crash")
    crash_in_task(f);
  else if (args[0] == "memory")
    exhaust_memory(f);
  else if (args[0] == "throw-number")
    throw 7;
  else if (args[0] == "throw")
    throw_in_task(f);
  else if (args[0] == "compute")
    compute(f);
  else if (args[0] == "fail-beside")
    fail_beside_one_that_computes(f);
  else if (args[0] == "leave")
    std::exit(f.context.range(0, 7, 1, 2).count() == 7 ? 7 : 1);
  else if (args[0] == "deaf")
    deaf(f);
  else if (args[0] == "slow-file")
    slow_file(f, args[1]);
  else if (args[0] == "long")
    long_job(f, std::stoi(args[1]), args.size() > 2 ? args[2] : "");
  else
    fail("unknown fault " + args[0]);
  std::printf("%s: right result\n", args[0].c_str());
  return 0;
}

TINDERBOX_APPLICATION(
    faults,
    "break the cluster: executor | worker | map-output | exit | crash | memory | throw | "
    "throw-number | compute | fail-beside | leave | deaf | slow-file URL | long SECONDS [FILE]",
    run);

}  // namespace
