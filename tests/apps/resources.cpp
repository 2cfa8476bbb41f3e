// An application whose tasks use custom resources: which addresses they got is checked. Run by
// tests/processes/cluster/resources_test.sh.
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("RESOURCES TEST: " + what);
}
void require(bool ok, const std::string& what) {
  if (!ok) fail(what);
}

/// "executor cpus address,address" of this task, after it has run for a while.
std::string seen_here() {
  const TaskContext& task = *TaskContext::current();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::string text = task.services->executor_id().value + " " + std::to_string(task.cpus) + " ";
  const auto gpu = task.resources().find("gpu");
  if (gpu == task.resources().end()) return text + "none";
  for (const std::string& address : gpu->second) text += (text.back() == ' ' ? "" : ",") + address;
  return text;
}

std::vector<std::string> seen(const Rdd<int64_t>& rdd) {
  return rdd.map([](int64_t) { return seen_here(); }).collect();
}

struct Seen {
  std::string executor, cpus, addresses;
};
Seen parts(const std::string& line) {
  const size_t a = line.find(' '), b = line.find(' ', a + 1);
  return {line.substr(0, a), line.substr(a + 1, b - a - 1), line.substr(b + 1)};
}

/// Two executors with one address each: every task has its executor's, and they differ.
void one_each(Context& context) {
  std::map<std::string, std::string> by_executor;
  for (const std::string& line : seen(context.range(0, 40, 1, 40))) {
    const Seen s = parts(line);
    require(s.addresses == "0" || s.addresses == "1", line);
    require(by_executor.try_emplace(s.executor, s.addresses).first->second == s.addresses,
            "two addresses in executor " + s.executor);
  }
  std::set<std::string> different;
  for (const auto& [executor, address] : by_executor)
    require(different.insert(address).second, "two executors have address " + address);
}

/// One executor with two addresses, two tasks a time: both are used, one by each task.
void of_two(Context& context) {
  std::set<std::string> used;
  for (const std::string& line : seen(context.range(0, 20, 1, 20)))
    used.insert(parts(line).addresses);
  require(used == std::set<std::string>{"0", "1"}, "not both addresses were used");
}

/// Only tasks of the profile have an address, in an executor of their own.
void own_profile(Context& context) {
  const ResourceProfile profile =
      ResourceProfileBuilder()
          .require(ExecutorResourceRequests().cores(2).memory("300m").resource("gpu", 2))
          .require(TaskResourceRequests().cpus(2).resource("gpu", 2))
          .build();
  std::set<std::string> theirs, others;
  const auto plain = context.range(0, 6, 1, 3);
  for (const std::string& line : seen(plain)) {
    require(parts(line).addresses == "none" && parts(line).cpus == "1", line);
    others.insert(parts(line).executor);
  }
  for (const std::string& line : seen(context.range(0, 6, 1, 3).with_resources(profile))) {
    require(parts(line).addresses == "0,1" && parts(line).cpus == "2", line);
    theirs.insert(parts(line).executor);
  }
  for (const std::string& executor : theirs)
    require(!others.contains(executor), "a plain task ran in executor " + executor);
}

/// Tasks of two cpus on executors that are there.
void task_profile(Context& context) {
  const ResourceProfile profile =
      ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build();
  for (const std::string& line : seen(context.range(0, 6, 1, 6).with_resources(profile)))
    require(parts(line).cpus == "2", line);
  for (const std::string& line : seen(context.range(0, 6, 1, 6)))
    require(parts(line).cpus == "1", line);
}

/// The driver itself has two addresses.
void of_driver(Context& context) {
  const auto gpu = context.resources().find("gpu");
  require(gpu != context.resources().end() && gpu->second == std::vector<std::string>{"0", "1"},
          "the driver does not have both addresses");
}

int run(Context& context, std::span<const std::string> args) {
  const std::map<std::string, void (*)(Context&)> cases = {{"one_each", one_each},
                                                           {"of_two", of_two},
                                                           {"own_profile", own_profile},
                                                           {"task_profile", task_profile},
                                                           {"of_driver", of_driver}};
  const auto chosen = cases.find(args.empty() ? "" : args[0]);
  if (chosen == cases.end()) fail("which?");
  chosen->second(context);
  std::printf("%s: right result\n", args[0].c_str());
  return 0;
}

TINDERBOX_APPLICATION(
    resources, "custom resources: one_each | of_two | own_profile | task_profile | of_driver", run);

}  // namespace
