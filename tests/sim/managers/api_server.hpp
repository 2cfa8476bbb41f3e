// The simulated API server: objects of one namespace, their versions, and the history of pods.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/deploy/kubernetes/api.hpp"
#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

using core::kubernetes::Json;
using core::kubernetes::PodView;

inline constexpr const char* kNamespace = "jobs";
inline constexpr int kForbidden = 403, kNotFound = 404, kConflict = 409, kExpired = 410,
                     kTooManyRequests = 429;

/// The path of a collection.
std::string collection(const char* kind);
/// Of its metadata.
const std::string& text_of(const Json& object, const char* key);

/// A pod as it became, for watches. Versions are numbers here and texts for everyone else.
struct PodChange {
  int64_t version = 0;
  bool deleted = false;
  PodView pod;
};

/// Thread: the simulator's.
class ApiServer {
 public:
  /// Whoever runs pods, and whoever is to notice what may not be.
  struct Told {
    std::function<void(const Json& pod)> pod_made;
    /// It has a deletionTimestamp now. Unit: seconds.
    std::function<void(const Json& pod, int64_t grace)> pod_leaves;
    std::function<void(const Json& pod)> pod_gone;
    std::function<void()> changed;  // there is more for watches
    std::function<void()> refused;  // by the quota
  };
  explicit ApiServer(World& world) : world_(world) {}
  void tell(Told told) { told_ = std::move(told); }

  core::kubernetes::ApiAnswered answer(const core::kubernetes::ApiRequest& request);

  // ---- watches ----
  /// False: it has forgotten what came after that version.
  bool remembers(int64_t version) const { return version >= forgotten_; }
  /// Of executors, beginning after `version`. Null: nothing yet.
  const PodChange* after(int64_t version) const;
  int64_t version() const { return version_; }
  void forget_history();

  // ---- pods, as kubelets and controllers change them ----
  /// Null: there is none of that name and uid.
  const Json* pod(const std::string& name, const std::string& uid) const;
  const Json& pod(const std::string& name) const {
    return objects_.at(collection("pods")).at(name);
  }
  void change(const std::string& name, const std::function<void(Json& pod)>& change);
  /// As somebody deletes it. `why`: of the DisruptionTarget condition; empty: it has none.
  void delete_pod(const std::string& name, const std::string& why, int64_t grace = -1);
  void remove_pod(const std::string& name);
  std::vector<std::string> executor_pods() const;
  bool has(const std::string& kind, const std::string& name) const;
  void add(const Json& object, const std::string& kind);

  /// No more pods and claims than there are now, until then.
  void set_quota(Time until);
  /// Of the executors, in words; empty: nothing. `kept`: pods that have ended do not count, nor
  /// what belongs to them.
  std::string left(bool kept) const;

 private:
  struct Query {
    std::string collection, name;  // name empty: all that `labels` select
    std::map<std::string, std::string> labels;
  };
  static Query parse(const std::string& path);
  using Objects = std::map<std::string, Json>;  // by name

  core::kubernetes::ApiAnswered list(const Query& query) const;
  core::kubernetes::ApiAnswered create(const Query& query, const Bytes& body);
  core::kubernetes::ApiAnswered patch(const Query& query, const Bytes& body);
  core::kubernetes::ApiAnswered remove(const Query& query, const Bytes& body);
  std::vector<std::string> selected(const Query& query) const;
  void remove_object(const std::string& collection, const std::string& name);
  void remove_dependents(const std::string& uid);
  void stamp(Json& object) { object["metadata"]["resourceVersion"] = std::to_string(++version_); }
  void note(const Json& pod, bool deleted);

  World& world_;
  Told told_;
  std::map<std::string, Objects> objects_;  // by the path of their collection
  std::deque<PodChange> history_;
  std::set<std::string> uids_;  // of what there is
  int64_t version_ = 100, forgotten_ = 0, made_ = 0;
  std::map<std::string, size_t> quota_;  // objects by the path of their collection
  Time quota_until_{};
};

}  // namespace tinderbox::sim
