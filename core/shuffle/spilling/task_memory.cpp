#include "core/shuffle/spilling/task_memory.hpp"

#include <algorithm>

#include "core/plan/or_throw.hpp"
#include "core/storage/stores/memory_pool.hpp"

namespace tinderbox::core {
namespace {

constexpr int64_t kStep = 1 << 20;

}  // namespace

bool TaskMemory::grow(int64_t bytes) {
  const int64_t granted = kFree + acquired_;
  const int64_t more = std::max({bytes - granted, granted / 4, kStep});
  const int64_t given =
      context_.services->memory().acquire(context_.id, more, context_.kill_mark(), storing_);
  acquired_ += given;
  limit_ = granted + given;
  context_.metrics.peak_memory = std::max(context_.metrics.peak_memory, limit_);
  return bytes <= limit_;
}

int64_t TaskMemory::share() const { return context_.services->memory().share(); }

void TaskMemory::release() {
  if (acquired_ > 0) context_.services->memory().release(context_.id, acquired_);
  acquired_ = 0;
  limit_ = kFree;
}

std::string temporary_path(TaskContext& context, const std::string& name) {
  return or_throw(context.services->temp_directory(), "no directory to spill to") + "/" + name +
         "_" + std::to_string(context.id.value) + "_" + std::to_string(context.next_temp_file());
}

}  // namespace tinderbox::core
