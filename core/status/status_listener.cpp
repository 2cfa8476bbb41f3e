#include "core/status/status_listener.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "core/plan/job.hpp"

namespace tinderbox::core {
namespace {

/// The blocks of an Rdd, which stand behind each other.
template <class Blocks>
auto blocks_of(Blocks& blocks, RddId rdd) {
  const std::string prefix = "rdd_" + std::to_string(rdd.value) + "_";
  const auto first = blocks.lower_bound(prefix);
  auto last = first;
  while (last != blocks.end() && last->first.starts_with(prefix)) ++last;
  return std::ranges::subrange(first, last);
}

}  // namespace

StatusListener::StatusListener(size_t retained_jobs, size_t retained_stages, LookUp accumulator)
    : retained_jobs_(retained_jobs),
      retained_stages_(retained_stages),
      accumulator_(std::move(accumulator)) {}

std::vector<JobId> StatusListener::job_ids_for_group(
    const std::optional<std::string>& group) const {
  net::Lock lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_)
    if (job.group == group) ids.push_back(id);
  return ids;
}

std::vector<JobId> StatusListener::job_ids_for_tag(const std::string& tag) const {
  net::Lock lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_)
    if (std::ranges::count(job.tags, tag) > 0) ids.push_back(id);
  return ids;
}

std::vector<JobId> StatusListener::active_job_ids() const {
  net::Lock lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_)
    if (job.info.status == JobStatus::Running) ids.push_back(id);
  return ids;
}

std::vector<StageId> StatusListener::active_stage_ids() const {
  net::Lock lock(mutex_);
  return {active_stages_.begin(), active_stages_.end()};
}

std::optional<JobInfo> StatusListener::job_info(JobId job) const {
  net::Lock lock(mutex_);
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? std::nullopt : std::optional(it->second.info);
}

std::optional<StageStatus> StatusListener::stage_info(StageId stage) const {
  net::Lock lock(mutex_);
  const auto it = stages_.find(stage);
  if (it == stages_.end()) return std::nullopt;
  StageStatus status = it->second;
  const auto added = added_.find(stage);
  const auto ids = added == added_.end() ? std::set<AccumulatorId>{} : added->second;
  lock.unlock();
  for (const AccumulatorId id : ids)
    if (auto named = accumulator_(id)) status.accumulators.push_back(std::move(*named));
  return status;
}

std::vector<ExecutorStatus> StatusListener::executor_infos() const {
  net::Lock lock(mutex_);
  std::vector<ExecutorStatus> all;
  for (const auto& [id, executor] : executors_) all.push_back(executor.progress);
  return all;
}

RddStorage StatusListener::rdd_storage(RddId rdd) const {
  net::Lock lock(mutex_);
  RddStorage all;
  std::set<std::string_view> partitions;
  for (const auto& [id, executor] : executors_)
    for (const auto& [block, held] : blocks_of(executor.blocks, rdd)) {
      partitions.insert(block);
      all.memory_bytes += held.memory_bytes;
      all.disk_bytes += held.disk_bytes;
    }
  all.cached_partitions = static_cast<int32_t>(partitions.size());
  return all;
}

void StatusListener::on_events(std::span<const ListenerEvent> events) {
  net::Lock lock(mutex_);
  for (const ListenerEvent& event : events)
    std::visit([&](const auto& e) REQUIRES(mutex_) { apply(e); }, event);
}

void StatusListener::apply(const JobStarted& e) {
  Job job{{e.job, {}, JobStatus::Running}, {}, job_tags(e.properties)};
  for (const StageInfo& stage : e.stages) job.info.stages.push_back(stage.stage);
  if (const auto group = e.properties.find(kJobGroup); group != e.properties.end())
    job.group = group->second;
  jobs_[e.job] = std::move(job);
}

void StatusListener::apply(const JobEnded& e) {
  const auto it = jobs_.find(e.job);
  if (it == jobs_.end()) return;
  it->second.info.status = e.succeeded ? JobStatus::Succeeded : JobStatus::Failed;
  ended_jobs_.push_back(e.job);
  for (; ended_jobs_.size() > retained_jobs_; ended_jobs_.pop_front())
    jobs_.erase(ended_jobs_.front());
}

void StatusListener::apply(const StageSubmitted& e) {
  const StageInfo& s = e.stage;
  stages_[s.stage] = {s.stage, s.attempt, s.name, s.submitted, s.num_tasks, 0, 0, 0};
  added_.erase(s.stage);
  active_stages_.insert(s.stage);
  std::erase(ended_stages_, s.stage);
}

void StatusListener::apply(const StageCompleted& e) {
  if (active_stages_.erase(e.stage.stage) == 0) return;
  ended_stages_.push_back(e.stage.stage);
  for (; ended_stages_.size() > retained_stages_; ended_stages_.pop_front()) {
    stages_.erase(ended_stages_.front());
    added_.erase(ended_stages_.front());
  }
}

StageStatus* StatusListener::attempt_of(const TaskInfo& task) {
  const auto it = stages_.find(task.stage);
  const bool is = it != stages_.end() && it->second.attempt == task.stage_attempt;
  return is ? &it->second : nullptr;
}

void StatusListener::apply(const TaskStarted& e) {
  if (StageStatus* stage = attempt_of(e.task)) ++stage->num_active_tasks;
  const auto executor = executors_.find(e.task.executor);
  if (executor != executors_.end()) ++executor->second.progress.num_running_tasks;
}

void StatusListener::apply(const TaskEnded& e) {
  if (StageStatus* stage = attempt_of(e.task)) {
    if (stage->num_active_tasks > 0) --stage->num_active_tasks;
    if (e.kind() == TaskEndKind::Success)
      ++stage->num_completed_tasks;
    else if (e.kind() != TaskEndKind::TaskKilled)
      ++stage->num_failed_tasks;
    for (const AccumulatorUpdate& update : e.accumulators)
      if (accumulator_ && !update.internal_metric) added_[e.task.stage].insert(update.id);
  }
  const auto executor = executors_.find(e.task.executor);
  if (executor == executors_.end()) return;
  int32_t& running = executor->second.progress.num_running_tasks;
  running = std::max(running - 1, 0);
}

void StatusListener::apply(const ExecutorJoined& e) {
  executors_[e.executor].progress = {e.executor, e.host, 0, 0};
}

void StatusListener::apply(const ExecutorRemoved& e) { executors_.erase(e.executor); }

void StatusListener::apply(const BlockUpdated& e) {
  const auto it = executors_.find(e.executor);
  if (it == executors_.end()) return;
  if (e.block.block.starts_with("shuffle_")) return;  // whoever takes it over; it is not cached
  auto& [progress, blocks] = it->second;
  if (const auto old = blocks.find(e.block.block); old != blocks.end()) {
    progress.cached_bytes -= old->second.memory_bytes;
    blocks.erase(old);
  }
  Held held;
  if (e.block.in_memory) held.memory_bytes = e.block.memory_bytes;
  if (e.block.on_disk) held.disk_bytes = e.block.disk_bytes;
  progress.cached_bytes += held.memory_bytes;
  if (e.block.in_memory || e.block.on_disk) blocks.emplace(e.block.block, held);
}

/// Executors do not tell of each block that they were told to drop.
void StatusListener::apply(const RddUnpersisted& e) {
  for (auto& [id, executor] : executors_) {
    const auto dropped = blocks_of(executor.blocks, e.rdd);
    for (const auto& [block, held] : dropped) executor.progress.cached_bytes -= held.memory_bytes;
    executor.blocks.erase(dropped.begin(), dropped.end());
  }
}

}  // namespace tinderbox::core
