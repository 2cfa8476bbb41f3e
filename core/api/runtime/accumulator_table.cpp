#include "core/api/runtime/accumulator_table.hpp"

#include <exception>

namespace tinderbox::core {

void AccumulatorTable::add(AccumulatorId id, const std::string& name,
                           Runtime::MergeAccumulator merge, Runtime::ShowAccumulator show) {
  net::Lock lock(mutex_);
  settle_forgotten();
  entries_[id] = {name, std::move(merge), std::move(show), false};
}

void AccumulatorTable::forget(AccumulatorId id, const std::string& last) {
  net::Lock lock(forgotten_mutex_);
  forgotten_.emplace_back(id, last);
}

void AccumulatorTable::settle_forgotten() {
  std::vector<std::pair<AccumulatorId, std::string>> gone;
  {
    net::Lock lock(forgotten_mutex_);
    gone.swap(forgotten_);
  }
  for (const auto& entry : gone) {
    const auto found = entries_.find(entry.first);
    if (found == entries_.end()) continue;
    if (found->second.name.empty()) {
      entries_.erase(found);
      continue;
    }
    found->second.merge = [](std::string_view) {};
    found->second.show = [last = entry.second] { return last; };
    shown_.push_back(entry.first);
    if (shown_.size() <= kShown) continue;
    entries_.erase(shown_.front());
    shown_.pop_front();
  }
}

std::optional<AccumulatorStatus> AccumulatorTable::named(AccumulatorId id) {
  net::Lock lock(mutex_);
  settle_forgotten();
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second.name.empty()) return std::nullopt;
  return AccumulatorStatus{id, found->second.name, found->second.show()};
}

void AccumulatorTable::merge(const std::vector<AccumulatorUpdate>& updates) {
  net::Lock lock(mutex_);
  for (const AccumulatorUpdate& u : updates)
    if (const auto found = entries_.find(u.id); found != entries_.end())
      merge_one(found->second, u);
}

void AccumulatorTable::merge_one(Entry& entry, const AccumulatorUpdate& update) {
  std::string what = "something unknown";
  try {
    return entry.merge(update.value);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
  }
  if (std::exchange(entry.warned, true)) return;
  const std::string name = entry.name.empty() ? "" : " (" + entry.name + ")";
  warn_("Failed to update accumulator " + std::to_string(update.id.value) + name +
        ", whose merge threw: " + what + ". Further failures of it are not told.");
}

}  // namespace tinderbox::core
