// Addresses of custom resources: who has which.
#include <algorithm>

#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

using namespace core;

void Checks::on(const ResourceProfileAdded& e) {
  if (!app_.needs.emplace(e.number, e.profile.task.resources).second)
    broken("resource profile added twice", std::to_string(e.number));
}

void Checks::on(const ExecutorJoined& e) {
  if (e.profile != kDefaultProfile) reached(Path::OwnExecutors);
}

void Checks::holds(const Holder& executor) {
  std::map<std::pair<std::string, std::string>, double> used;
  int32_t cpus = 0;
  for (const Holder::Task& task : executor.tasks) {
    cpus += task.cpus;
    hold(executor, task, used);
  }
  if (cpus > executor.cores)
    broken("a core given twice", executor.id + " runs tasks of " + std::to_string(cpus) +
                                     " cpus on " + std::to_string(executor.cores) + " cores");
}

/// `used`: what tasks before it hold of each address.
void Checks::hold(const Holder& executor, const Holder::Task& task,
                  std::map<std::pair<std::string, std::string>, double>& used) {
  const auto stage = app_.latest.find(task.stage);
  if (stage == app_.latest.end()) return;  // of a driver that is gone
  const int32_t profile = stage->second.profile;
  if (profile != kDefaultProfile) reached(Path::ProfileRan);
  if (!app_.needs.contains(profile))
    broken("a stage of an unknown resource profile", std::to_string(profile));
  for (const auto& [name, amount] : app_.needs.at(profile)) {
    const auto got = task.addresses.find(name);
    if (got == task.addresses.end() ||
        got->second.size() != static_cast<size_t>(std::max(1.0, amount)))
      broken("a task without the addresses that it needs",
             "stage " + std::to_string(task.stage.value) + " on " + executor.id);
    reached(Path::AddressGiven);
    for (const std::string& address : got->second) {
      const auto own = executor.resources.find(name);
      if (own == executor.resources.end() || !std::ranges::count(own->second, address))
        broken("an address of nobody", executor.id + " has no " + name + " " + address);
      double& share = used[{name, address}];
      if (share > 0) reached(Path::AddressShared);
      share += std::min(amount, 1.0);
      if (share > 1)
        broken("an address given twice", name + " " + address + " of " + executor.id + " is held " +
                                             std::to_string(share) + " times");
    }
  }
}

/// Whoever is gone has nothing to give.
void Checks::lost_addresses(const Driver& driver) const {
  const TaskResources* const resources = driver.tasks().resources();
  if (!resources) return;
  for (int32_t i = 0; i < driver.executors().count(); ++i)
    if (driver.executors().at(i).state == Executor::State::Removed && resources->knows(i))
      broken("addresses of a lost executor are left", driver.executors().at(i).id.value);
}

}  // namespace tinderbox::sim
