// What an executor is ordered while shipped files come.
#pragma once

#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "core/executor/executor.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// What the driver ordered after files that have not come: launches, which must find them, and
/// what must not overtake a launch. Files that cannot be had fail the launches after them; before a
/// later one they are tried again. Thread: one loop's. Source: Spark Executor.updateDependencies.
class HeldOrders {
 public:
  using Order = std::variant<KeepProgram, DropProgram, StartTasks>;
  struct Released {
    std::vector<Order> orders;       // to be carried out, in order
    std::vector<TaskUpdate> failed;  // ends of tasks that were held and never start
  };
  /// Files are still to come.
  bool holds() const { return !groups_.empty(); }
  /// What is held from now on waits for these, too.
  void files_ordered(AddFiles files) { groups_.push_back({std::move(files), {}}); }
  /// Only while holds().
  void hold(Order order) { groups_.back().orders.push_back(std::move(order)); }
  /// The oldest files came, or why not. Returns what waited for them and for no later ones; without
  /// them all launches fail that are held.
  Released files_came(const Result<bool>& got);
  /// Files that did not come, for the caller to order again: a launch is to be held.
  std::vector<AddFiles> take_missing() { return std::exchange(missing_, {}); }
  /// Those of `tasks` whose launches are held; they never start.
  std::vector<TaskId> take_back(std::vector<TaskId> tasks);

 private:
  struct Group {
    AddFiles files;
    std::vector<Order> orders;  // what follows them
  };

  std::deque<Group> groups_;  // whose files have not come
  std::vector<AddFiles> missing_;
};

}  // namespace tinderbox::core
