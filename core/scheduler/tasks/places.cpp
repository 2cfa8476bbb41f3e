#include "core/scheduler/tasks/places.hpp"

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

void Places::add(const std::vector<std::string>& texts, Executors& executors) {
  for (const std::string& text : texts) {
    const TaskLocation at = parse_task_location(text);
    Place& place = places_.emplace_back();
    place.host = executors.host(at.host);
    if (!at.executor.value.empty())
      place.executor = executors.slot(at.executor);
    else if (at.hdfs_cached)
      place.executor = Place::kCached;
  }
  ends_.push_back(static_cast<uint32_t>(places_.size()));
}

void Places::complete() {
  if (!any()) ends_.clear();
  ends_.shrink_to_fit();
  places_.shrink_to_fit();
}

std::span<const Place> Places::of(int32_t task) const {
  const auto i = static_cast<size_t>(task);
  if (i >= ends_.size()) return {};
  const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::span(places_).subspan(begin, ends_[i] - begin);
}

}  // namespace tinderbox::core
