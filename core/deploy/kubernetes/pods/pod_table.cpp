#include "core/deploy/kubernetes/pods/pod_table.hpp"

#include <algorithm>
#include <charconv>

#include "core/deploy/kubernetes/names.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::core::kubernetes {
namespace {

bool ended_badly(const ContainerView& c) {
  return c.state == ContainerView::State::Terminated && c.exit_code != 0;
}

PodState running_state(const PodView& pod, bool check_all, const std::string& container) {
  if (check_all && pod.restart_policy == "Never" &&
      std::any_of(pod.containers.begin(), pod.containers.end(), ended_badly))
    return PodState::Failed;
  for (const ContainerView& c : pod.containers) {
    const bool ours = c.name == container || pod.containers.size() == 1;
    if (ours && c.state == ContainerView::State::Terminated)
      return c.exit_code == 0 ? PodState::Succeeded : PodState::Failed;
  }
  return PodState::Running;
}

std::string explained(int32_t code) {
  constexpr int kSigkill = 9, kSigsegv = 11;
  switch (code) {
    case kExitOk:
      return "(success)";
    case kExitFailure:
      return "(generic, look at logs to clarify)";
    case kExitUncaughtException:
      return "(uncaught exception)";
    case kExitOutOfMemory:
      return "(out of memory)";
    case kExitDiskStoreFailure:
      return "(cannot make a local directory)";
    case kExitHeartbeatFailure:
      return "(no heartbeat reached the driver)";
    case 126:
      return "(not executable - possibly perm or arch)";
    case kExitSignalBase + kSigkill:
      return "(SIGKILL, possible container OOM)";
    case kExitSignalBase + kSigsegv:
      return "(SIGSEGV: that is unexpected)";
    default:
      return code > kExitSignalBase && code < kExitNoArguments
                 ? "(signal " + std::to_string(code - kExitSignalBase) + ")"
                 : "(unexpected)";
  }
}

}  // namespace

PodState state_of(const PodView& pod, bool check_all, const std::string& container) {
  // Whatever it ends with then is no word of its own.
  if (!pod.deletion_time.empty())
    return pod.phase == "Running" && running_state(pod, check_all, container) == PodState::Running
               ? PodState::Terminating
               : PodState::Deleted;
  if (pod.phase == "Pending") return PodState::Pending;
  if (pod.phase == "Running") return running_state(pod, check_all, container);
  if (pod.phase == "Failed") return PodState::Failed;
  if (pod.phase == "Succeeded") return PodState::Succeeded;
  return PodState::Unknown;
}

int64_t number_of(const ExecutorId& id) {
  int64_t number = 0;
  std::from_chars(id.value.data(), id.value.data() + id.value.size(), number);
  return number;
}

ExecutorId id_of(int64_t number) { return {std::to_string(number)}; }

std::optional<int64_t> executor_number(const PodView& pod) {
  const std::string text = pod.label(kExecutorLabel);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

int32_t restarts_of(const PodView& pod) {
  int32_t all = 0;
  for (const ContainerView& c : pod.containers) all += c.restarts;
  return all;
}

bool taken_away(const PodView& pod) {
  if (pod.phase != "Failed") return false;
  if (!pod.disruption.empty()) return true;
  // A kubelet's words for what breaks the pod's own limits; of a node that is short it has others.
  const bool own_limit = pod.message.find("exceed") != std::string::npos &&
                         pod.message.find("limit") != std::string::npos;
  if (pod.reason == "Evicted") return !own_limit;
  for (const char* reason : {"Preempting", "NodeShutdown", "Shutdown", "Terminated", "NodeLost"})
    if (pod.reason == reason) return true;
  return false;
}

int32_t exit_code_of(const PodView& pod) {
  for (const auto* list : {&pod.containers, &pod.init_containers})
    for (const ContainerView& c : *list)
      if (ended_badly(c)) return c.exit_code;
  for (const ContainerView& c : pod.containers)
    if (c.state == ContainerView::State::Terminated) return c.exit_code;
  for (const ContainerView& c : pod.containers)
    if (c.restarts > 0) return c.last_exit;
  return -1;
}

std::string end_message(const PodView& pod, int64_t executor) {
  const int32_t code = exit_code_of(pod);
  std::string text = "The executor with id " + std::to_string(executor);
  text += taken_away(pod)
              ? " was taken from its node, which is no failure of its own.\n\n"
              : " exited with exit code " + std::to_string(code) + explained(code) + ".\n\n";
  const auto or_none = [](const std::string& s) { return s.empty() ? std::string("N/A") : s; };
  text += "The API gave the following brief reason: " + or_none(pod.reason) + "\n";
  text += "The API gave the following message: " + or_none(pod.message) + "\n";
  if (!pod.disruption.empty()) text += "The pod was disrupted: " + pod.disruption + "\n";
  text += "The API gave the following container statuses:\n\n" + describe_containers(pod, "\t ");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tinderbox::core::kubernetes
