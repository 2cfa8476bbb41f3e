// An application whose executors come and go while it runs: by dynamic allocation, by
// decommissioning, by a signal. It checks the scheduler's events. Run by
// tests/processes/cluster/scaling_test.sh.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/api/tinderbox.hpp"
#include "tests/apps/shared/executor_process.hpp"
#include "tests/apps/shared/watched.hpp"

namespace {

using namespace tinderbox;
using core::ListenerEvent;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("SCALING TEST: " + what);
}
void require(bool ok, const std::string& what) {
  if (!ok) fail(what);
}
void require_value(int64_t got, int64_t wanted, const std::string& what) {
  require(got == wanted,
          what + ": " + std::to_string(got) + " instead of " + std::to_string(wanted));
}
void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Which executors are there, and why the others went.
class Executors : public Watched {
 public:
  void on_events(std::span<const ListenerEvent> events) override {
    std::lock_guard lock(mutex_);
    for (const ListenerEvent& e : events) {
      if (auto* joined = std::get_if<core::ExecutorJoined>(&e)) here_.insert(joined->executor);
      if (auto* gone = std::get_if<core::ExecutorRemoved>(&e)) {
        here_.erase(gone->executor);
        gone_[gone->executor] = gone->reason;
      }
      if (auto* task = std::get_if<core::TaskEnded>(&e))
        failed_ += task->kind() != TaskEndKind::Success;
      if (auto* task = std::get_if<core::TaskStarted>(&e)) {
        started_.push_back(task->task);
        // Some may have joined before this listener.
        here_.insert(task->task.executor);
      }
      jobs_ended_ += std::holds_alternative<core::JobEnded>(e);
      most_ = std::max(most_, here_.size());
      show(e);
    }
    changed_.notify_all();
  }
  /// Waits until `n` are left.
  void wait_for(size_t n) {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(40), [&] { return here_.size() == n; }),
            std::to_string(here_.size()) + " executors instead of " + std::to_string(n));
  }
  /// Waits for the reason why `executor` went.
  std::string reason(const std::string& executor) {
    std::unique_lock lock(mutex_);
    const ExecutorId id{executor};
    require(changed_.wait_for(lock, std::chrono::seconds(40), [&] { return gone_.contains(id); }),
            "executor " + executor + " is still there");
    return gone_[id];
  }
  /// Waits until an executor is gone, and says why.
  std::string first_reason() {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(40), [&] { return !gone_.empty(); }),
            "all executors are still there");
    return gone_.begin()->second;
  }
  /// All task attempts so far: waits until `jobs` are over, or for the first attempt.
  std::vector<core::TaskInfo> started(size_t jobs) {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(40),
                              [&] { return jobs_ended_ >= jobs && !started_.empty(); }),
            std::to_string(jobs) + " jobs do not end");
    return started_;
  }
  size_t most() {
    std::lock_guard lock(mutex_);
    return most_;
  }
  size_t failed_tasks() {
    std::lock_guard lock(mutex_);
    return failed_;
  }
  std::set<std::string> reasons() {
    std::lock_guard lock(mutex_);
    std::set<std::string> all;
    for (const auto& [id, reason] : gone_) all.insert(reason);
    return all;
  }

 private:
  std::condition_variable changed_;
  std::set<ExecutorId> here_;
  std::map<ExecutorId, std::string> gone_;
  std::vector<core::TaskInfo> started_;
  size_t most_ = 0, failed_ = 0, jobs_ended_ = 0;
};

void work(Context& context, int32_t tasks) {
  const int64_t count =
      context.range(0, tasks, 1, tasks).map([](int64_t x) { return pause_ms(250), x; }).count();
  require(count == tasks, "wrong result " + std::to_string(count));
}

/// Grows with the load, goes down to nothing, and comes back from there.
void grow_and_shrink(Context& context, Executors& executors) {
  work(context, 40);
  require(executors.most() == 3, "at most " + std::to_string(executors.most()) + " executors");
  executors.wait_for(0);
  require(executors.reasons() == std::set<std::string>{"Executor killed by driver."},
          "they went for other reasons: " + *executors.reasons().begin());
  work(context, 4);
  require(executors.failed_tasks() == 0, "tasks failed");
}

/// As that, but each executor says itself that it is done.
void decommissioned_when_idle(Context& context, Executors& executors) {
  work(context, 20);
  executors.wait_for(0);
  require(executors.reasons() == std::set<std::string>{"Finished decommissioning"},
          "they went for other reasons: " + *executors.reasons().begin());
}

/// The first executor whose task ends is told to end by `tell`; the job must not notice.
std::string tell_one(Context& context, Executors& executors,
                     const std::function<void(const std::string&)>& tell) {
  std::string victim;
  const auto watching = executors.watch([&](const ListenerEvent& e) {
    auto* task = std::get_if<core::TaskEnded>(&e);
    if (!task || !victim.empty()) return;
    victim = task->task.executor.value;
    tell(victim);
  });
  work(context, 40);
  require(!victim.empty(), "no task ended");
  return victim;
}

std::string application;
int executor_process(const std::string& id) { return pid_of_executor(application, id); }
int worker_process(const std::string& id) { return parent_of(executor_process(id)); }

std::string signal_one(Context& context, Executors& executors, int number,
                       int (*pid)(const std::string&)) {
  return tell_one(context, executors, [=](const std::string& id) { kill(pid(id), number); });
}

void require_left(Executors& executors, const std::string& victim) {
  require(executors.reason(victim) == "Finished decommissioning", executors.reason(victim));
  require(executors.failed_tasks() == 0, "tasks failed");
}

/// What a container's preStop hook runs.
pid_t start_hook(int executor) {
  const std::string pid = std::to_string(executor);
  std::string words[] = {"tinderbox", "decommission", "--pid", pid, "--signal", "USR2"};
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  args.push_back(nullptr);
  pid_t hook = 0;
  require(posix_spawn(&hook, "/proc/self/exe", nullptr, nullptr, args.data(), environ) == 0,
          "no hook");
  return hook;
}

/// The hook ends after the executor, whose container would be ended otherwise.
void by_hook(Context& context, Executors& executors) {
  int executor = 0;
  pid_t hook = 0;
  const std::string victim = tell_one(context, executors, [&](const std::string& id) {
    executor = executor_process(id);
    hook = start_hook(executor);
  });
  require_left(executors, victim);
  int status = -1;
  require(waitpid(hook, &status, 0) == hook && status == 0, "the hook failed");
  require(kill(executor, 0) != 0, "the hook ended before the executor");
}

/// What a decommissioned executor holds outlives it: nothing is computed again.
void migrate(Context& context, Executors& executors) {
  executors.wait_for(4);
  auto computed = context.long_accumulator("computed");
  auto numbers = context.range(0, 1000, 1, 8)
                     .map(capture(computed,
                                  [](const auto& count, int64_t x) {
                                    count.add(1);
                                    return x;
                                  }))
                     .cache();
  auto sums = numbers.map([](int64_t x) { return std::pair(x % 10, x); })
                  .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 4);
  const std::map<int64_t, int64_t> right = [] {
    std::map<int64_t, int64_t> sum;
    for (int64_t x = 0; x < 1000; ++x) sum[x % 10] += x;
    return sum;
  }();
  const auto check = [&] {
    const auto got = sums.collect();
    require(std::map<int64_t, int64_t>(got.begin(), got.end()) == right, "wrong sums");
  };
  check();
  require(numbers.count() == 1000, "wrong count");
  require_value(computed.value(), 1000, "records computed by the first jobs");
  const std::vector<core::TaskInfo> before = executors.started(2);
  const std::string victim = before.front().executor.value;  // it ran a map task
  kill(executor_process(victim), SIGPWR);
  require(executors.reason(victim) == "Finished decommissioning", executors.reason(victim));
  check();
  require(numbers.count() == 1000, "wrong count");
  const std::vector<core::TaskInfo> after = executors.started(4);
  require(after.size() - before.size() == 4 + 8, "map tasks ran again");
  for (const core::TaskInfo& task : after) require(task.stage_attempt == 0, "a stage ran again");
  require_value(computed.value(), 1000, "records computed");
  require(executors.failed_tasks() == 0, "tasks failed");
}

/// A task that does not heed its kill takes its executor with it; another one comes. It is
/// cancelled once it says that it is in its body: one that only waits there heeds a kill.
void reap(Context& context, Executors& executors) {
  const std::string here = std::filesystem::temp_directory_path() / ("reap-" + application);
  std::thread cancels([&] {
    while (!std::filesystem::exists(here)) pause_ms(10);
    context.cancel_all_jobs();
  });
  bool failed = false;
  try {
    context.range(0, 1, 1, 1)
        .map(capture(here,
                     [](const std::string& file, int64_t x) {
                       std::ofstream{file};
                       return pause_ms(3'600'000), x;
                     }))
        .count();
  } catch (const std::exception&) {
    failed = true;
  }
  cancels.join();
  std::filesystem::remove(here);
  require(failed, "a cancelled job succeeded");
  const std::string victim = executors.started(1).front().executor.value;
  const std::string reason = executors.reason(victim);
  require(reason == "Killing executor because killed task 0 could not be stopped within 500 ms.",
          reason);
  work(context, 8);
}

/// One after the other is replaced, and no task notices.
void roll(Context& context, Executors& executors) {
  const auto variable = context.range(0, 1, 1, 1).map([](int64_t) {
    const char* value = std::getenv("ROLLED");
    return std::string(value ? value : "");
  });
  require(variable.first() == "yes", "spark.executorEnv.ROLLED did not reach the executors");
  work(context, 40);
  require(executors.first_reason() == "Finished decommissioning", executors.first_reason());
  executors.wait_for(4);
  work(context, 8);
  require(executors.failed_tasks() == 0, "tasks failed");
}

/// Fewer and more of them, and certain ones gone, as the application says.
void by_will(Context& context, Executors& executors) {
  executors.wait_for(4);
  work(context, 8);
  const std::string victim = executors.started(1).front().executor.value;
  require(context.kill_executor(ExecutorId{victim}), "it was not killed");
  require(!context.kill_executor(ExecutorId{victim}), "it was killed twice");
  require(executors.reason(victim) == "Executor killed by driver.", executors.reason(victim));
  work(context, 8);
  executors.wait_for(3);
  require(context.request_executors(1), "one more was not asked for");
  executors.wait_for(4);
  require(context.request_total_executors(2), "two in all were not asked for");
  require(!context.kill_executors({ExecutorId{"99"}}), "one that never was was killed");
  work(context, 8);
  require(executors.failed_tasks() == 0, "tasks failed");
}

int run(Context& context, std::span<const std::string> args) {
  if (args.empty()) fail("which?");
  application = context.application_id();
  auto executors = std::make_shared<Executors>();
  context.add_listener(executors);
  if (args[0] == "grow") {
    grow_and_shrink(context, *executors);
  } else if (args[0] == "idle") {
    decommissioned_when_idle(context, *executors);
  } else if (args[0] == "migrate") {
    migrate(context, *executors);
  } else if (args[0] == "reap") {
    reap(context, *executors);
  } else if (args[0] == "roll") {
    roll(context, *executors);
  } else if (args[0] == "will") {
    by_will(context, *executors);
  } else if (args[0] == "hook") {
    by_hook(context, *executors);
  } else if (args[0] == "decommission" || args[0] == "worker") {
    const bool worker = args[0] == "worker";
    const auto named = context.conf().find("spark.worker.decommission.signal");
    const std::string victim = signal_one(context, *executors, named == "USR2" ? SIGUSR2 : SIGPWR,
                                          worker ? worker_process : executor_process);
    require_left(*executors, victim);
  } else if (args[0] == "signal") {
    const std::string reason =
        executors->reason(signal_one(context, *executors, SIGKILL, executor_process));
    require(reason.find("died from signal 9, SIGKILL") != std::string::npos, reason);
  } else {
    fail("unknown case " + args[0]);
  }
  std::printf("%s: right result\n", args[0].c_str());
  return 0;
}

TINDERBOX_APPLICATION(scaling,
                      "executors come and go: grow | idle | decommission | hook | worker | "
                      "signal | migrate | reap | roll | will",
                      run);

}  // namespace
