// The resource profiles of one application, by number.
// Source: Spark 4.3 ResourceProfileManager.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "core/resources/resource_profile.hpp"
#include "core/scheduler/options.hpp"
#include "net/wire/cluster_messages.hpp"

namespace tinderbox::core {

class Profiles {
 public:
  /// Number 0 is the default profile.
  explicit Profiles(const DriverOptions& options);

  /// Equal profiles have one number; a new one gets the next. `profile` passed check().
  int32_t id_of(const ResourceProfile& profile);
  /// As check_profile(), beside the default profile.
  Result<std::vector<std::string>> check(const ResourceProfile& profile) const;
  int32_t count() const { return static_cast<int32_t>(all_.size()); }
  bool knows(int32_t id) const { return id >= 0 && id < count(); }
  const ResourceProfile& profile(int32_t id) const { return at(id).profile; }
  const TaskNeeds& needs(int32_t id) const { return at(id).needs; }
  /// What executors of the profile must have.
  const std::map<std::string, ExecutorResource>& resources(int32_t id) const {
    return at(id).profile.executor.resources;
  }
  /// Of executors of the profile, where it differs from what the settings say.
  std::optional<int64_t> memory_mib(int32_t id) const {
    return id == kDefaultProfile ? std::nullopt : at(id).profile.executor.memory_mib;
  }
  /// Tasks of the profile that an executor runs at once: such a one as it was asked for (1 where
  /// nobody says how many cores it has), and one that is there.
  int32_t planned_slots(int32_t id) const;
  int32_t slots(int32_t id, int32_t cores, const ResourceAddresses& resources) const {
    return slots_of(needs(id), cores, amounts_of(resources));
  }
  ProfileRequest request(int32_t id, int32_t total) const;

  /// Tasks of the profile run on executors of the default one: it asks nothing of executors, and
  /// the number of executors does not follow the load.
  bool borrows(int32_t id) const { return at(id).borrows; }
  bool may_run(int32_t tasks, int32_t executor) const {
    return tasks == executor || (executor == kDefaultProfile && borrows(tasks));
  }

 private:
  struct Entry {
    ResourceProfile profile;
    TaskNeeds needs;
    bool borrows = false;
  };
  const Entry& at(int32_t id) const { return all_[static_cast<size_t>(id)]; }

  const DriverOptions& options_;
  std::deque<Entry> all_;
  std::map<ResourceProfile, int32_t> ids_;
};

}  // namespace tinderbox::core
