#include "core/scheduler/resources/profiles.hpp"

#include <algorithm>
#include <utility>

namespace tinderbox::core {

Profiles::Profiles(const DriverOptions& options) : options_(options) {
  // Settings say how many cpus a task has; a profile that tests leave empty does not.
  TaskNeeds needs = needs_of(options.profile, options.profile);
  needs.cpus = options.task_cpus;
  all_.push_back({options.profile, std::move(needs), false});
}

int32_t Profiles::id_of(const ResourceProfile& profile) {
  const auto [at, fresh] = ids_.try_emplace(profile, count());
  if (!fresh) return at->second;
  const bool borrows = profile.task_only() && !options_.allocation;
  all_.push_back({profile, needs_of(profile, options_.profile), borrows});
  // Executors of its own are like those of the default profile, for which it was checked.
  if (profile.task_only() && !borrows) all_.back().profile.executor = options_.profile.executor;
  return at->second;
}

Result<std::vector<std::string>> Profiles::check(const ResourceProfile& profile) const {
  return check_profile(profile, options_.profile);
}

int32_t Profiles::planned_slots(int32_t id) const {
  const ResourceProfile& p = at(borrows(id) ? kDefaultProfile : id).profile;
  const int32_t cores = p.executor.cores.value_or(options_.profile.executor.cores.value_or(1));
  return std::max(1, slots_of(needs(id), cores, amounts_of(p)));
}

ProfileRequest Profiles::request(int32_t id, int32_t total) const {
  const ResourceProfile& p = at(id).profile;
  return {id, total, p.executor.cores, p.executor.memory_mib, amounts_of(p)};
}

}  // namespace tinderbox::core
