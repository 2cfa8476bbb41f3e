#include "core/plan/tasks/task.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "net/wire/fields.hpp"
#include "net/wire/task_messages.hpp"

// The linker's name for the first byte of the image.
extern "C" const char __executable_start[];

namespace tinderbox::core {
namespace {

std::unordered_set<const Descriptor*>& registered() {
  static std::unordered_set<const Descriptor*> all;
  return all;
}

thread_local TaskContext* current_context = nullptr;

}  // namespace

const ResourceAddresses& TaskContext::resources() const {
  static const ResourceAddresses kNone;
  return own_resources ? *own_resources : kNone;
}

TaskContext* TaskContext::current() { return current_context; }
void TaskContext::set_current(TaskContext* context) { current_context = context; }

bool this_task_is_killed() {
  return current_context && current_context->kill_mark().load(std::memory_order_relaxed);
}

void note_failure() {
  TaskContext* task = TaskContext::current();
  if (task && !task->failure) task->failure = std::current_exception();
}

PendingAccumulator* TaskContext::pending(AccumulatorId id) const {
  for (const auto& [known, value] : pending_accumulators) {
    if (known == id) return value.get();
  }
  return nullptr;
}

std::unique_ptr<TaskContext> TaskContext::beside() {
  auto part = std::make_unique<TaskContext>();
  part->id = id;
  part->stage = stage;
  part->stage_attempt = stage_attempt;
  part->partition = partition;
  part->num_partitions = num_partitions;
  part->index = index;
  part->attempt = attempt;
  part->epoch = epoch;
  part->barrier_epoch = barrier_epoch;
  part->cpus = cpus;
  part->own_resources = own_resources;
  part->properties = properties;
  part->services = services;
  part->inputs = inputs;
  part->whole = this;
  return part;
}

void TaskContext::join(TaskContext& part) {
  net::with_fields(metrics, [&](auto&... sum) {
    net::with_fields(part.metrics, [&](const auto&... more) { ((sum += more), ...); });
  });
  part.metrics = {};
  for (auto& added : part.pending_accumulators) pending_accumulators.push_back(std::move(added));
  part.pending_accumulators.clear();
  barrier_epoch = std::max(barrier_epoch, part.barrier_epoch);
  if (!failure) failure = part.failure;
  if (part.fetch_failure) fetch_failure = std::exchange(part.fetch_failure, std::nullopt);
}

Result<std::vector<std::string>> TaskServices::barrier_sync(BarrierSync) {
  return Error{"this process runs no barrier stages"};
}

void TaskServices::expect(int64_t, const std::vector<ShuffleRead>&) {}

net::Files& TaskServices::files() {
  static const std::unique_ptr<net::Files> real = net::make_real_files();
  return *real;
}

std::string_view TaskInputs::find(RddId node, int32_t partition) const {
  for (const Entry& e : entries) {
    if (e.node == node && e.partition == partition) return e.bytes;
  }
  return {};
}

bool register_descriptor(const Descriptor* descriptor) {
  registered().insert(descriptor);
  return true;
}

uint64_t descriptor_offset(const Descriptor* descriptor) {
  return reinterpret_cast<uintptr_t>(descriptor) - reinterpret_cast<uintptr_t>(__executable_start);
}

const Descriptor* find_descriptor(uint64_t offset) {
  const auto address = reinterpret_cast<uintptr_t>(__executable_start) + offset;
  const auto* descriptor = reinterpret_cast<const Descriptor*>(address);
  return registered().contains(descriptor) ? descriptor : nullptr;
}

}  // namespace tinderbox::core
