#include "core/api/runtime/accumulator_table.hpp"

#include <exception>

namespace tinderbox::core {

void AccumulatorTable::add(AccumulatorId id, const std::string& name,
                           Runtime::MergeAccumulator merge, Runtime::ShowAccumulator show) {
  net::Lock lock(mutex_);
  {
    net::Lock forgotten(forgotten_mutex_);
    for (const AccumulatorId gone : std::exchange(forgotten_, {})) entries_.erase(gone);
  }
  entries_[id] = {name, std::move(merge), std::move(show), false};
}

void AccumulatorTable::forget(AccumulatorId id) {
  net::Lock lock(forgotten_mutex_);
  forgotten_.push_back(id);
}

std::optional<AccumulatorStatus> AccumulatorTable::named(AccumulatorId id) const {
  net::Lock lock(mutex_);
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
