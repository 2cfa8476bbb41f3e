// Barrier execution: all tasks of a stage start together and can wait for each other.
//
//     auto sums = numbers.barrier().map_partitions<int64_t>([](auto& partition, auto& emit) {
//       auto context = tinderbox::BarrierTaskContext::get();
//       for (const auto& said : context.all_gather(std::to_string(local_sum(partition)))) …
//     });
#pragma once

#include "core/api/rdd.hpp"

namespace tinderbox {

/// Where one task of a barrier stage runs. Source: Spark BarrierTaskInfo.
struct BarrierTaskInfo {
  std::string address;  // host:port of its executor's block server
};

/// The running task of a barrier stage. Source: Spark BarrierTaskContext.
/// Thread: the task's.
class BarrierTaskContext {
 public:
  /// Errors: throws std::logic_error outside of the tasks of barrier stages.
  static BarrierTaskContext get();

  /// Waits until every task of the stage has called it. All tasks must make the same calls in the
  /// same order. Errors: throws std::runtime_error when they do not, or not within
  /// spark.barrier.sync.timeout.
  void barrier();
  /// As barrier(); gives what each task said, by partition.
  std::vector<std::string> all_gather(const std::string& message);
  /// Of all tasks, by partition.
  std::vector<BarrierTaskInfo> task_infos() const;
  int32_t partition_id() const { return task_->partition; }
  int32_t stage_attempt_number() const { return task_->stage_attempt; }

 private:
  explicit BarrierTaskContext(core::TaskContext& task) : task_(&task) {}
  std::vector<std::string> sync(bool gathers, const std::string& message);

  core::TaskContext* task_;
};

/// What Rdd::barrier() gives. Source: Spark RDDBarrier.
template <class T>
class RddBarrier {
 public:
  explicit RddBarrier(Rdd<T> rdd) : rdd_(std::move(rdd)) {}

  /// As of Rdd; the stage that computes it runs its tasks together.
  template <class U = void, class F>
  auto map_partitions(F f, bool preserves_partitioning = false, Site site = Site::current()) const {
    if constexpr (std::is_void_v<U>) {
      using Out = core::Element<std::invoke_result_t<const F&, Partition<T>&>>;
      return whole<Out>(core::ReturnAll<F>{std::move(f)}, site, preserves_partitioning);
    } else {
      return whole<U>(core::EmitAll<F>{std::move(f)}, site, preserves_partitioning);
    }
  }

 private:
  template <class Out, class F>
  Rdd<Out> whole(F f, Site site, bool keeps_partitioner) const {
    auto node = std::make_unique<core::PartitionsNode<Out, F, T>>(std::move(f));
    if (keeps_partitioner) node->partitioner = rdd_.partitioner();
    node->starts_barrier = true;
    return rdd_.template make<Out>(std::move(node), {"MapPartitionsRDD", "mapPartitions", site},
                                   {rdd_.narrow()});
  }

  Rdd<T> rdd_;
};

template <class T>
RddBarrier<T> Rdd<T>::barrier() const {
  return RddBarrier<T>(*this);
}

}  // namespace tinderbox
