// Which executor pods to create and which to delete. Pure.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "conf/conf.hpp"
#include "core/deploy/kubernetes/pods/pod_table.hpp"

namespace tinderbox::core::kubernetes {

struct AllocatorOptions {
  int32_t batch_size = 20;
  Duration batch_delay = std::chrono::seconds(1);
  Duration creation_timeout = std::chrono::seconds(600);  // at least five batches
  Duration idle_timeout = std::chrono::seconds(60);
  int32_t max_pending = INT32_MAX;
  int32_t max_pending_per_profile = INT32_MAX;
  int32_t max_pods = INT32_MAX;  // in all
};

/// Errors: conf::Error for a number that makes no sense.
AllocatorOptions allocator_options(const conf::Conf& conf);

/// A pod is *new* from its request until the API server shows it, *known* when its executor has
/// registered with the driver. Source: Spark 4.3 ExecutorPodsAllocator.
class Allocator {
 public:
  explicit Allocator(AllocatorOptions options) : options_(options) {}

  struct Create {
    int64_t executor = 0;
    int32_t profile = 0;
    bool operator==(const Create&) const = default;
  };
  struct Step {
    std::vector<Create> create;
    std::vector<int64_t> remove;   // too many of them, and not in use
    std::vector<int64_t> give_up;  // never shown: deleted by label, in case they are there
    bool exhausted = false;        // max_pods is reached, and more are wanted
    bool too_young = false;        // some are too many, and will be idle for long enough
    bool operator==(const Step&) const = default;
  };

  /// Executors wanted, by resource profile.
  void want(std::map<int32_t, int32_t> totals) { totals_ = std::move(totals); }
  /// The API server showed a pod, whatever its state.
  void seen(int64_t executor);
  /// Its pod could not be created: it does not count any more.
  void not_created(int64_t executor);
  /// Nobody was asked for its pod: nor is its number used, unless a higher one is.
  void not_asked(int64_t executor);
  /// The API server showed its end.
  void gone(int64_t executor) { removed_.erase(executor); }
  /// The executor registered with the driver, and has not left.
  void registered(int64_t executor) { known_.insert(executor); }
  void left(int64_t executor) { known_.erase(executor); }

  /// `table`: as it is shown now. A batch begins when all pods of the one before were seen.
  Step step(const PodTable& table, Time now);

  /// Requested and not seen yet.
  size_t outstanding() const { return new_.size(); }
  std::vector<int64_t> unseen() const {
    std::vector<int64_t> numbers;
    for (const auto& [number, fresh] : new_) numbers.push_back(number);
    return numbers;
  }
  int64_t created() const { return last_; }
  const std::map<int32_t, int32_t>& totals() const { return totals_; }
  /// By step(), as too many or given up: a pod of that number is not welcome any more.
  bool was_removed(int64_t executor) const { return removed_.contains(executor); }

  /// How many of `slots` each of `wanted` gets: even shares, what is over goes to the first.
  static std::vector<int32_t> split_slots(size_t wanted, int32_t slots);

 private:
  struct New {
    int32_t profile = 0;
    Time since{};
  };
  struct Count {
    int32_t running = 0, known_pending = 0;
    std::vector<int64_t> unknown_pending;  // in the order of their numbers
    int32_t fresh = 0, known_fresh = 0;    // of new_, without and with a registered executor
    int32_t waiting() const {
      return known_pending + static_cast<int32_t>(unknown_pending.size()) + fresh + known_fresh;
    }
  };

  std::map<int32_t, Count> count(const PodTable& table) const;
  void give_up_old(Step& step, Time now);
  void remove_idle(const PodTable& table, Count& count, int32_t profile, int32_t excess, Time now,
                   Step& step);
  void create(std::map<int32_t, Count>& counts, Time now, Step& step);

  const AllocatorOptions options_;
  std::map<int32_t, int32_t> totals_;
  std::map<int64_t, New> new_;
  std::set<int64_t> known_, removed_;
  int64_t last_ = 0;  // number given
};

}  // namespace tinderbox::core::kubernetes
