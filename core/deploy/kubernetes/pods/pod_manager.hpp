// Executors as pods: as many as are wanted, watched, their ends told with reasons, deleted when
// they are over. A machine, fed by the driver's backend.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/deploy/kubernetes/api.hpp"
#include "core/deploy/kubernetes/objects/executor_set.hpp"
#include "core/deploy/kubernetes/pods/allocator.hpp"
#include "core/deploy/kubernetes/pods/claims.hpp"
#include "core/deploy/kubernetes/pods/failures.hpp"
#include "core/machine.hpp"

namespace tinderbox::core::kubernetes {

struct PodManagerOptions {
  ExecutorInput executors;  // without driver_uid and config_map, which it finds out itself
  ConfFiles conf_files;     // for the executors' config map
  PodAllocator kind = PodAllocator::Direct;
  std::optional<int32_t> deletion_cost;  // of pods that the driver ended, in a Deployment
  AllocatorOptions allocator;
  FailureOptions failures;
  bool watch = true, poll = true;
  Duration polling_interval{};  // while there is no watch
  bool list_from_cache = false;
  Duration missing_delta{};
  bool check_all_containers = true;
  bool delete_pods = true;
  bool collected = false;        // with the driver's pod, which submit made: nobody waits for them
  Duration delete_grace{};       // of executors that were told to end
  Duration patience{};           // with a pod that waits for what will not come
  Duration readiness_timeout{};  // of the driver's own pod; 0: it need not be ready
  bool own_claims = true, reuse_claims = true;
  size_t max_claims = SIZE_MAX;  // no more are made: executors wait for one to come free
  bool delete_service = true;
  std::optional<std::pair<std::string, std::string>> leaving_label;  // of decommissioned executors
  uint64_t seed = 0;                                                 // of pauses' jitter
};

/// Errors: conf::Error.
PodManagerOptions pod_manager_options(const conf::Conf& conf);

/// Errors: conf::Error for what no executor can be made of, or none that the API server takes: a
/// PodManager, which cannot throw, would find it later.
void check_executors(const PodManagerOptions& options, const ProfileSpec& profile = {});

// ---- events beside ApiAnswered, PodChanged, WatchBookmark, WatchEnded

struct StartPods {};
/// How many executors of each profile there should be.
struct WantPods {
  std::map<int32_t, int32_t> totals;
  std::vector<ProfileSpec> profiles;
  NodeWeights hosts;  // host → local tasks that wait
};
struct ExecutorRegistered {
  ExecutorId executor;
};
struct ExecutorLeft {
  ExecutorId executor;
};
/// An executor that began without an id has one now.
struct NamePod {
  ExecutorId executor;
  std::string pod;
};
/// The driver decommissions it.
struct MarkPod {
  ExecutorId executor;
};
/// The driver told it to end.
struct EndPod {
  ExecutorId executor;
};
/// The application is over. Ended by PodsStopped.
struct StopPods {};
struct PodTimer {
  enum class Kind : uint8_t {
    Batch,
    Watch,
    Poll,
    Readiness,
    Create,
    Patience,
    EndPod,
    Stop
  } kind{};
  uint64_t id = 0;
  bool operator==(const PodTimer&) const = default;
};

// ---- effects beside CallApi, WatchApi, StopWatch, After<PodTimer>, Log

/// The API server is there and lets us: executors may come from now on. Once.
struct PodsBegun {
  bool operator==(const PodsBegun&) const = default;
};
/// Its pod ended or is gone.
struct PodGone {
  ExecutorId executor;
  std::optional<int32_t> exit_code;  // none: not by its own fault
  std::string message;
  bool operator==(const PodGone&) const = default;
};
/// Its pod is being deleted while it runs.
struct PodLeaving {
  ExecutorId executor;
  std::string message;
  bool operator==(const PodLeaving&) const = default;
};
/// Why there are no more executors; empty: nothing is in the way.
struct PodsHeld {
  std::string reason;
  bool operator==(const PodsHeld&) const = default;
};
/// The application can't go on.
struct PodsGiveUp {
  int32_t exit_code = 0;
  std::string reason;
  bool operator==(const PodsGiveUp&) const = default;
};
/// All that belongs to the executors was asked to go; their pods are gone if `collected` is false,
/// as far as the watch shows it in time.
struct PodsStopped {
  bool operator==(const PodsStopped&) const = default;
};

/// One LIST, then one WATCH; it is listed again only when the server has forgotten where the watch
/// was. A pod's end is told before the pod is deleted, so no reason is lost.
/// Source: Spark 4.3 KubernetesClusterSchedulerBackend, ExecutorPodsLifecycleManager,
/// ExecutorPodsWatchSnapshotSource, ExecutorPodsPollingSnapshotSource.
class PodManager {
 public:
  using Event =
      std::variant<StartPods, WantPods, ExecutorRegistered, ExecutorLeft, NamePod, MarkPod, EndPod,
                   StopPods, PodTimer, ApiAnswered, PodChanged, WatchBookmark, WatchEnded>;
  using Effect = std::variant<CallApi, WatchApi, StopWatch, After<PodTimer>, Log, PodsBegun,
                              PodGone, PodLeaving, PodsHeld, PodsGiveUp, PodsStopped>;
  using Effects = std::vector<Effect>;

  explicit PodManager(PodManagerOptions options);
  ~PodManager();
  void on(const Event& event, Time now, Effects& out);

 private:
  static constexpr int64_t kUnnamed = 0;  // executors of a set before they have a number
  enum class Phase : uint8_t { Starting, Running, Stopping, Stopped };
  /// What an answer is to.
  struct Asked {
    enum class What : uint8_t {
      DriverPod,
      ConfigMap,
      List,
      CreatePod,
      FindPod,
      CreateClaim,
      CreateSet,
      ScaleSet,
      ChangePod,
      Delete,
      Stop
    } what{};
    int64_t executor = 0;  // CreateSet, ScaleSet: its profile
    int tries = 0;
    ApiRequest request;
  };
  /// A pod and its claims while they are created: claims that belong to the driver come before the
  /// pod, those that belong to the pod after it.
  struct Birth {
    Bytes pod;  // empty: it was asked for
    std::vector<Bytes> claims;
    size_t waiting = 0;  // for answers to claims
    bool there = false;  // the pod is, and its claims follow
  };

  /// Pods that a controller makes.
  struct PodSet {
    int32_t replicas = 0;  // asked for
    bool asked = false;    // an answer is due; requests may overtake each other
  };

  void on(const StartPods&, Effects& out);
  void on(const WantPods& e, Effects& out);
  void on(const ExecutorRegistered& e, Effects& out);
  void on(const ExecutorLeft& e, Effects& out);
  void on(const NamePod& e, Effects& out);
  void on(const MarkPod& e, Effects& out);
  void on(const EndPod& e, Effects& out);
  void on(const StopPods&, Effects& out);
  void on(const PodTimer& e, Effects& out);
  void on(const ApiAnswered& e, Effects& out);
  void on(const PodChanged& e, Effects& out);
  void on(const WatchBookmark& e, Effects& out);
  void on(const WatchEnded& e, Effects& out);

  void ask(Asked asked, Effects& out);
  bool ask_again(Asked& asked, const ApiAnswered& e, Effects& out);
  void look_at_driver_pod(Effects& out);
  void driver_pod_answered(const ApiAnswered& e, Effects& out);
  void make_config_map(Effects& out);
  void list(bool from_cache, Effects& out);
  void listed(const Asked& asked, const ApiAnswered& e, Effects& out);
  bool is_stale(const Asked& asked, const std::string& version) const;
  void up_to(const std::string& version);
  void watch(Effects& out);
  void watch_shows(const std::string& version);
  void look_later(Effects& out);
  void begin(Effects& out);

  void allocate(Effects& out);
  bool take_profile(const ProfileSpec& profile, Effects& out);
  size_t create_pods(const std::vector<Allocator::Create>& wanted, Effects& out);
  bool create_pod(const Allocator::Create& what, Effects& out);
  /// Of a driver outside of any pod the claims belong to their executors' pods.
  bool driver_owns_claims() const {
    return options_.own_claims && !options_.executors.driver_uid.empty();
  }
  bool settle_claims(int64_t executor, std::vector<Json>& objects);
  void scale_sets(Effects& out);
  void set_answered(const Asked& asked, const ApiAnswered& e, Effects& out);
  void change_pod(const std::string& pod, const Json& metadata, Effects& out);
  void cheapen(const std::string& pod, Effects& out);
  std::string sets_path(int32_t profile = -1) const;
  void ask_for_pod(int64_t executor, Effects& out);
  void ask_for_claims(int64_t executor, const std::string& owner_uid, Effects& out);
  void claim_answered(const Asked& asked, const ApiAnswered& e, Effects& out);
  void born(int64_t executor, const std::string& uid, Effects& out);
  bool still_wanted(const Asked& asked) const;
  void pod_answered(const Asked& asked, const ApiAnswered& e, Effects& out);
  void pod_found(const Asked& asked, const ApiAnswered& e, Effects& out);
  void creation_refused(const Asked& asked, const ApiAnswered& e, Effects& out);
  void not_created(int64_t executor, const std::string& why, bool passes, Effects& out);
  std::string name_of_pod(int64_t executor) const;
  ApiRequest deletion_of(int64_t executor) const;
  void deletion_answered(int64_t executor, const ApiAnswered& e);
  void delete_pods(const std::vector<int64_t>& executors, Effects& out);
  NodeWeights node_weights() const;

  PodState state_shown(int64_t executor, const PodView& pod, bool deleted) const;
  void take(const PodView& pod, bool deleted, Effects& out);
  void leaves(int64_t executor, const PodView& pod, Effects& out);
  void ended(int64_t executor, const PodView& pod, PodState state, Effects& out);
  void look_for_trouble(int64_t executor, const PodView& pod, Effects& out);
  void look_at_unnamed(const PodView& pod, bool deleted, Effects& out);
  void look_for_missing(Effects& out);
  static std::string pod_of(int64_t executor);
  void count_failure(int64_t executor, const std::string& reason, Effects& out);
  void held(const std::string& reason, Effects& out);
  void give_up(int32_t code, const std::string& reason, Effects& out);
  void delete_waiting(Effects& out);
  bool goes_at_the_end(const Asked& asked) const;
  ApiRequest removal_of(const Asked& asked, const ApiAnswered& e);
  void made_late(const Asked& asked, const ApiAnswered& e, Effects& out);
  void stop_answered(Effects& out);
  void goes(const PodChanged& e, Effects& out);
  bool waits_for_pods() const;
  void look_whether_over(Effects& out);
  void over(Effects& out);

  uint64_t timer(PodTimer::Kind kind, Duration delay, Effects& out);
  Duration jittered(Duration longest);
  std::string pods_path() const;
  std::string of_application(bool executors_only) const;

  PodManagerOptions options_;
  Allocator allocator_;
  Failures failures_;
  Phase phase_ = Phase::Starting;
  Time now_{};
  PodTable table_;
  std::map<int64_t, Time> registered_;  // with the driver, since when
  std::map<int64_t, Birth> births_;
  std::map<int64_t, std::string> uids_;  // of pods that are there and were not shown yet
  Claims claims_;
  std::set<int64_t> served_;                // executors that have ever registered
  std::set<int64_t> told_;                  // ends that the driver knows of
  std::map<int64_t, uint64_t> in_vain_;     // executor → timer of its patience
  std::map<int64_t, std::string> reasons_;  // why those wait
  std::map<uint64_t, int64_t> ending_;      // timer → executor that was told to end
  std::map<uint64_t, Asked> asked_;
  std::map<uint64_t, Asked> later_;  // timer → to ask again
  std::map<int32_t, ProfileSpec> profiles_;
  std::map<int32_t, PodSet> sets_;  // by profile
  NodeWeights hosts_;
  std::string container_;  // Spark's one of the executors' pods: a template may name it
  std::string held_;       // the last reason told
  std::string version_;    // of the list or the last event
  uint64_t newest_ = 0;    // of versions that are numbers, also when the watch begins anew
  uint64_t tickets_ = 0, timers_ = 0, watch_ = 0, random_ = 0;
  uint64_t batch_timer_ = 0;
  int watch_failures_ = 0;
  bool watched_ = false;    // the watch has shown something: a refusal may pass
  bool made_pods_ = false;  // as above, of creations
  Time next_batch_{};
  Time started_{};
  size_t stopping_ = 0;  // answers to wait for
};

}  // namespace tinderbox::core::kubernetes
