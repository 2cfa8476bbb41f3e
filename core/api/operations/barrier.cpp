#include "core/api/operations/barrier.hpp"

#include <stdexcept>

#include "net/wire/task_messages.hpp"

namespace tinderbox {

BarrierTaskContext BarrierTaskContext::get() {
  core::TaskContext* task = core::TaskContext::current();
  if (!task || !task->properties || !task->properties->contains(core::kBarrierAddresses))
    throw std::logic_error(
        "BarrierTaskContext::get() was called outside of the tasks of a barrier stage: make the "
        "Rdd with rdd.barrier().map_partitions(f) and call it in f");
  return BarrierTaskContext(*task);
}

void BarrierTaskContext::barrier() { sync(false, {}); }

std::vector<std::string> BarrierTaskContext::all_gather(const std::string& message) {
  return sync(true, message);
}

std::vector<BarrierTaskInfo> BarrierTaskContext::task_infos() const {
  const std::string& all = task_->properties->at(core::kBarrierAddresses);
  std::vector<BarrierTaskInfo> infos;
  for (size_t start = 0; start <= all.size();) {
    const size_t end = std::min(all.find(',', start), all.size());
    infos.push_back({all.substr(start, end - start)});
    start = end + 1;
  }
  return infos;
}

std::vector<std::string> BarrierTaskContext::sync(bool gathers, const std::string& message) {
  BarrierSync request;
  request.task = task_->id;
  request.stage = task_->stage;
  request.stage_attempt = task_->stage_attempt;
  request.partition = task_->partition;
  request.epoch = task_->barrier_epoch;
  request.gathers = gathers;
  request.message = message;
  Result<std::vector<std::string>> met = task_->services->barrier_sync(std::move(request));
  if (!met) {
    core::check_killed(*task_);
    throw std::runtime_error(met.error().message);
  }
  ++task_->barrier_epoch;
  return std::move(*met);
}

}  // namespace tinderbox
