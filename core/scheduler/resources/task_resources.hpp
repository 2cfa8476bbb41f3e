// What running tasks have of their executors, where that is more than a slot: addresses of custom
// resources, and cores when tasks of several resource profiles share an executor. There is none of
// it in an application without either, and with it tasks are not sent ahead.
// Source: Spark 4.3 ExecutorResourceInfo, TaskSchedulerImpl.resourcesMeetTaskRequirements.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/scheduler/executors/executors.hpp"

namespace tinderbox::core {

class TaskResources {
 public:
  explicit TaskResources(Executors& executors) : executors_(executors) {}

  /// Tasks of a profile that runs on other profiles' executors exist from now on.
  void share() { shared_ = true; }
  /// What an offer of the executor says: slots of its own profile, or cores when it is shared.
  int32_t free_slots(const Executor& executor) const;
  /// Tasks of the profile that could start on the executor now.
  int32_t room(int32_t profile, const Executor& executor);
  /// Addresses for an attempt that starts; there was room for it.
  ResourceAddresses take(TaskId task, int32_t profile, const Executor& executor);
  /// The attempt runs no more. One that took nothing is no error.
  void give_back(TaskId task);
  void executor_lost(int32_t executor) { stocks_.erase(executor); }
  bool knows(int32_t executor) const { return stocks_.contains(executor); }
  /// No task holds more than a slot of its executor.
  bool unused() const { return holdings_.empty(); }

 private:
  /// Tasks with shares of several sizes can have the same address.
  static constexpr int32_t kWhole = 1 << 30;
  struct Address {
    std::string name;
    int32_t left = kWhole;
  };
  using Addresses = std::vector<Address>;
  struct Stock {
    std::map<std::string, Addresses> resources;
    int32_t extra_cpus = 0;  // of running tasks, beyond as many tasks of the executor's own profile
  };
  struct Hold {
    std::string resource;
    size_t address = 0;
    int32_t units = 0;
  };
  struct Holding {
    int32_t executor = -1;
    int32_t extra_cpus = 0;
    std::vector<Hold> holds;
  };
  Stock& stock_of(const Executor& executor);
  int32_t free_cpus(const Executor& executor) const;
  static int32_t room_in(const Addresses& addresses, const ResourceShare& share);

  Executors& executors_;
  bool shared_ = false;
  std::map<int32_t, Stock> stocks_;  // by executor slot
  std::map<TaskId, Holding> holdings_;
};

}  // namespace tinderbox::core
