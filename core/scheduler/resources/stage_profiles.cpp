#include "core/scheduler/resources/stage_profiles.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "core/scheduler/dag/stage_graph.hpp"

namespace tinderbox::core {
namespace {

/// Each once, in the order in which a walk from `root` meets them.
std::vector<ResourceProfile> profiles_in(const NodePtr& root) {
  std::vector<ResourceProfile> found;
  walk_stage(
      root,
      [&](const Node& node) {
        const ResourceProfile* p = node.profile.load();
        if (p && std::find(found.begin(), found.end(), *p) == found.end()) found.push_back(*p);
        return true;
      },
      [](const ShufflePtr&) {});
  return found;
}

}  // namespace

Result<int32_t> stage_profile(const NodePtr& root, Profiles& profiles, bool merge) {
  const std::vector<ResourceProfile> found = profiles_in(root);
  if (found.empty()) return kDefaultProfile;
  if (found.size() > 1 && !merge)
    return Error{
        "Multiple ResourceProfiles specified in the RDDs for this stage, either resolve the "
        "conflicting ResourceProfiles yourself or enable "
        "spark.scheduler.resource.profileMergeConflicts and understand how Spark handles the "
        "merging them."};
  ResourceProfile profile = found[0];
  for (size_t i = 1; i < found.size(); ++i) profile = merged(profile, found[i]);
  if (auto usable = profiles.check(profile); !usable) return usable.error();
  return profiles.id_of(profile);
}

std::string profile_conflict(const NodePtr& root, Profiles& profiles, bool merge) {
  std::set<ShuffleId> seen;
  std::vector<NodePtr> stages{root};
  while (!stages.empty()) {
    const NodePtr stage = stages.back();
    stages.pop_back();
    if (Result<int32_t> id = stage_profile(stage, profiles, merge); !id) return id.error().message;
    for (const ShufflePtr& shuffle : shuffles_read_by(stage))
      if (seen.insert(shuffle->id).second) stages.push_back(shuffle->parent);
  }
  return {};
}

}  // namespace tinderbox::core
