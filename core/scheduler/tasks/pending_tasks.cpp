// Tasks that wait for a slot, by where they would rather run.
#include "core/scheduler/tasks/pending_tasks.hpp"

#include <algorithm>

namespace tinderbox::core {

TaskLocation parse_task_location(std::string_view text) {
  constexpr std::string_view kExecutor = "executor_", kHdfs = "hdfs_cache_";
  if (text.starts_with(kExecutor)) {
    const std::string_view rest = text.substr(kExecutor.size());
    if (const size_t cut = rest.find('_'); cut != rest.npos)
      return {std::string(rest.substr(0, cut)), {std::string(rest.substr(cut + 1))}, false};
  }
  if (text.starts_with(kHdfs)) return {std::string(text.substr(kHdfs.size())), {}, true};
  return {std::string(text), {}, false};
}

PendingTasks::PendingTasks(const Preferences& preferred, Executors& executors, int32_t fresh)
    : preferred_(preferred), executors_(executors), fresh_(fresh) {
  located_ = std::any_of(preferred.begin(), preferred.end(),
                         [](const std::vector<std::string>& p) { return !p.empty(); });
  if (located_)
    for (int32_t i = fresh; i-- > 0;) list(i);
}

void PendingTasks::push(int32_t index) {
  if (located_) list(index);
  again_.push_back(index);
}

void PendingTasks::list(int32_t index) {
  const std::vector<std::string>& preferred = preferred_[static_cast<size_t>(index)];
  if (preferred.empty()) no_prefs_.push_back(index);
  for (const std::string& text : preferred) {
    const TaskLocation at = parse_task_location(text);
    const int32_t host = executors_.host(at.host);
    if (!at.executor.value.empty()) for_executor_[executors_.slot(at.executor)].push_back(index);
    if (at.hdfs_cached)
      for (const int32_t e : executors_.active())
        if (executors_.at(e).host == host) for_executor_[e].push_back(index);
    for_host_[host].push_back(index);
  }
}

bool PendingTasks::executor_alive() const {
  return std::any_of(for_executor_.begin(), for_executor_.end(),
                     [&](const auto& kv) { return executors_.alive(kv.first); });
}

bool PendingTasks::host_alive() const {
  return std::any_of(for_host_.begin(), for_host_.end(),
                     [&](const auto& kv) { return executors_.host_alive(kv.first); });
}

}  // namespace tinderbox::core
