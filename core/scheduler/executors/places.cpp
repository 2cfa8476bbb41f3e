#include "core/scheduler/executors/places.hpp"

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
  if (chunks_.empty() || chunks_.back().ends.size() == kChunk) {
    if (!chunks_.empty()) chunks_.back().complete();
    chunks_.emplace_back();
  }
  Chunk& chunk = chunks_.back();
  for (const std::string& text : texts) {
    const TaskLocation at = parse_task_location(text);
    Place& place = chunk.places.emplace_back();
    place.host = executors.host(at.host);
    if (!at.executor.value.empty())
      place.executor = executors.slot(at.executor);
    else if (at.hdfs_cached)
      place.executor = Place::kCached;
  }
  any_ = any_ || !texts.empty();
  chunk.ends.push_back(static_cast<uint32_t>(chunk.places.size()));
}

void Places::Chunk::complete() {
  ends.shrink_to_fit();
  places.shrink_to_fit();
}

void Places::complete() {
  if (!any_) chunks_.clear();
  if (!chunks_.empty()) chunks_.back().complete();
  chunks_.shrink_to_fit();
}

std::span<const Place> Places::of(int32_t task) const {
  const size_t i = static_cast<size_t>(task) % kChunk, c = static_cast<size_t>(task) / kChunk;
  if (c >= chunks_.size() || i >= chunks_[c].ends.size()) return {};
  const Chunk& chunk = chunks_[c];
  const uint32_t begin = i == 0 ? 0 : chunk.ends[i - 1];
  return std::span(chunk.places).subspan(begin, chunk.ends[i] - begin);
}

void Places::done(int32_t task) {
  const size_t c = static_cast<size_t>(task) / kChunk;
  if (c >= chunks_.size()) return;
  Chunk& chunk = chunks_[c];
  if (++chunk.done == chunk.ends.size()) chunk = {};
}

}  // namespace tinderbox::core
