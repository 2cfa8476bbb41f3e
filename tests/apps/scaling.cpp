// An application whose executors come and go while it runs: by dynamic allocation, by
// decommissioning, by a signal. It checks the scheduler's events. Run by
// tests/processes/cluster/scaling_test.sh.
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/api/tinderbox.hpp"
#include "core/status/listener_bus.hpp"

namespace {

using namespace tinderbox;
using core::ListenerEvent;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("SCALING TEST: " + what);
}
void require(bool ok, const std::string& what) {
  if (!ok) fail(what);
}
void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Which executors are there, and why the others went.
class Executors : public core::Listener {
 public:
  /// Sees each event, on the listener's thread.
  std::function<void(const ListenerEvent&)> watch;
  void on_events(std::span<const ListenerEvent> events) override {
    std::lock_guard lock(mutex_);
    for (const ListenerEvent& e : events) {
      if (auto* joined = std::get_if<core::ExecutorJoined>(&e)) here_.insert(joined->executor);
      if (auto* gone = std::get_if<core::ExecutorRemoved>(&e)) {
        here_.erase(gone->executor);
        gone_[gone->executor] = gone->reason;
      }
      if (auto* task = std::get_if<core::TaskEnded>(&e))
        failed_ += task->reason.kind != TaskEndKind::Success;
      most_ = std::max(most_, here_.size());
      if (watch) watch(e);
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<ExecutorId> here_;
  std::map<ExecutorId, std::string> gone_;
  size_t most_ = 0, failed_ = 0;
};

void work(Context& context, int32_t tasks) {
  const int64_t count =
      context.range(0, tasks, 1, tasks).map([](int64_t x) { return pause_ms(250), x; }).count();
  require(count == tasks, "wrong result " + std::to_string(count));
}

/// Grows with the load, goes down to nothing, and comes back from there.
void grow_and_shrink(Context& context, Executors& executors) {
  executors.wait_for(1);
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

/// The first executor whose task ends gets `number`; the job must not notice.
std::string signal_one(Context& context, Executors& executors, int number, int (*pid)(int)) {
  std::string victim;
  executors.watch = [&, number, pid](const ListenerEvent& e) {
    auto* task = std::get_if<core::TaskEnded>(&e);
    if (!task || !victim.empty()) return;
    victim = task->task.executor.value;
    kill(pid(std::stoi(victim)), number);
  };
  work(context, 40);
  require(!victim.empty(), "no task ended");
  return victim;
}

/// Found by its command line.
std::string application;
int pid_of_executor(int id) {
  const std::string command =
      "pgrep -f -- '--executor-id " + std::to_string(id) + " .*--app-id " + application + " '";
  FILE* out = popen(command.c_str(), "r");
  int pid = 0;
  // The shell that runs this has the pattern on its own command line: it comes last.
  if (std::fscanf(out, "%d", &pid) != 1) pid = 0;
  pclose(out);
  return pid;
}

int pid_of_its_worker(int id) {
  std::ifstream file("/proc/" + std::to_string(pid_of_executor(id)) + "/stat");
  std::string line;
  std::getline(file, line);
  int parent = 0;
  char state = 0;
  const char* rest = line.c_str() + line.rfind(')') + 1;
  if (std::sscanf(rest, " %c %d", &state, &parent) != 2) fail("no worker of executor " + line);
  return parent;
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
  } else if (args[0] == "decommission" || args[0] == "worker") {
    const std::string victim = signal_one(
        context, *executors, SIGPWR, args[0] == "worker" ? pid_of_its_worker : pid_of_executor);
    require(executors->reason(victim) == "Finished decommissioning", executors->reason(victim));
    require(executors->failed_tasks() == 0, "tasks failed");
  } else if (args[0] == "signal") {
    const std::string reason =
        executors->reason(signal_one(context, *executors, SIGKILL, pid_of_executor));
    require(reason.find("died from signal 9, SIGKILL") != std::string::npos, reason);
  } else {
    fail("unknown case " + args[0]);
  }
  std::printf("%s: right result\n", args[0].c_str());
  return 0;
}

TINDERBOX_APPLICATION(scaling,
                      "executors come and go: grow | idle | decommission | worker | signal", run);

}  // namespace
