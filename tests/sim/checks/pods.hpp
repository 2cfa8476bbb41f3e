// What must hold of executors in pods: what the driver's PodManager asks of the API server and
// tells its driver, against what it was shown and against what there really is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "tests/sim/checks/checks.hpp"

namespace tinderbox::sim {

/// Empty: the object has no such label.
std::string label_of(const nlohmann::json& object, std::string_view label);
/// Claims that a pod mounts.
std::vector<std::string> claims_of(const nlohmann::json& pod);

/// Throws Broken as soon as something does not hold. Thread: the simulator's.
class PodChecks {
 public:
  PodChecks(Checks& checks, const PodSettings& settings) : checks_(checks), settings_(settings) {}

  // ---- what there is ----
  /// `others`: pods of executors that are there by now.
  void made(const nlohmann::json& pod, const std::vector<const nlohmann::json*>& others);
  /// Its deletion began, by whomever.
  void leaves(int64_t executor) { there_[executor].leaves = true; }
  /// Its container ended; a pod whose deletion began before has no code of its own.
  void ended(int64_t executor, int32_t code);
  /// The same, by its kubelet: that is no word of its own either.
  void evicted(int64_t executor) { there_[executor].evicted = true; }
  void gone(int64_t executor) { there_[executor].gone = true; }

  // ---- what the machine is told ----
  void wanted(const std::map<int32_t, int32_t>& totals);
  void registered(int64_t executor) {
    served_ = true;
    known_[executor].registered = true;
  }
  void shown(const core::kubernetes::PodView& pod, bool deleted);
  void listed(const core::kubernetes::ApiAnswered& answer);
  void up_to(const std::string& version) { version_ = version; }
  void watch_ended(int status);
  void answered(const core::kubernetes::ApiRequest& request,
                const core::kubernetes::ApiAnswered& answer);

  // ---- what it does ----
  void asks(const core::kubernetes::ApiRequest& request);
  void watches(const core::kubernetes::WatchApi& watch);
  void tells(const core::kubernetes::PodGone& gone);
  void tells(const core::kubernetes::PodLeaving& leaving);
  void tells(const core::kubernetes::PodsGiveUp& end);
  /// `now`: by the driver's clock.
  void turn_ended(Time now);

 private:
  enum class State : uint8_t { Asked, Pending, Running, Over };
  /// As the machine knows it.
  struct Known {
    int32_t profile = kUnknown;
    State state = State::Asked;
    bool condemned = false;  // it asked for its deletion
    bool registered = false, failed = false, stuck = false, told = false, told_leaving = false;
    bool counts() const { return state != State::Over && !condemned; }
    bool waits() const { return counts() && state != State::Running; }
    bool heard_of() const { return state != State::Asked || registered; }
    bool unseen() const { return counts() && !heard_of(); }
  };
  /// As it is.
  struct There {
    bool leaves = false, gone = false, evicted = false;
    bool earlier = false;  // another pod of this number was, and is gone
    std::optional<int32_t> code;
  };
  struct Load {
    int32_t all = 0, waiting = 0, begun = 0;
    int32_t unseen = 0;  // of batches before
  };
  static constexpr int32_t kUnknown = -1;  // a claim does not say for which profile its executor is

  void mention(int64_t executor, int32_t profile);
  void within_limits(int32_t profile, const Load& load) const;
  [[noreturn]] static void broken(const std::string& check, const std::string& detail) {
    throw Broken(check, detail);
  }

  Checks& checks_;
  const PodSettings& settings_;
  std::map<int64_t, Known> known_;
  std::map<int64_t, There> there_;
  std::set<int64_t> begun_now_;
  std::map<int32_t, int32_t> totals_, most_;  // wanted; the most of it since the last turn
  std::optional<Time> last_batch_;
  std::string version_;
  bool may_list_ = true, watching_ = false, served_ = false;
};

}  // namespace tinderbox::sim
