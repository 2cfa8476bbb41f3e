// submit --kill and --status on Kubernetes: driver pods by name or pattern. A machine.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/deploy/kubernetes/api.hpp"
#include "core/machine.hpp"

namespace tinderbox::core::kubernetes {

struct PodActionOptions {
  bool kill = false;  // else status
  std::string master, submission_id;
  std::string name_space;  // where the id names none
  int64_t grace = -1;      // of kill; negative: the pod's own. Unit: seconds
};

struct StartPodAction {};
/// Lines for a person, on stderr.
struct Tell {
  std::string text;
  bool operator==(const Tell&) const = default;
};

/// An id is `[NAMESPACE:]POD`, a `*` at its end stands for any end of driver pods' names.
/// Source: Spark 4.3 K8SSparkSubmitOperation.
class PodActions {
 public:
  using Event = std::variant<StartPodAction, ApiAnswered>;
  using Effect = std::variant<CallApi, Tell, Exit>;
  using Effects = std::vector<Effect>;

  explicit PodActions(PodActionOptions options);
  void on(const Event& event, Time now, Effects& out);

 private:
  void start(Effects& out);
  void found(const ApiAnswered& e, Effects& out);
  void act(const PodView& pod, Effects& out);
  void removed(const ApiAnswered& e, Effects& out);
  void end(int code, const std::string& reason, Effects& out);

  const PodActionOptions options_;
  std::string name_space_, name_;
  bool pattern_ = false;
  uint64_t ticket_ = 0;
  size_t waiting_ = 0;  // for pods' ends
  std::string failure_;
};

}  // namespace tinderbox::core::kubernetes
