// The executor pods of an application as the API server last showed them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/deploy/kubernetes/pod_view.hpp"
#include "net/types.hpp"

namespace tinderbox::core::kubernetes {

enum class PodState : uint8_t {
  Unknown,
  Pending,
  Running,
  Terminating,
  Succeeded,
  Failed,
  Deleted
};

/// `check_all`: a pod has failed when any of its containers has, not only the executor's, which
/// `container` names. Source: Spark 4.3 ExecutorPodsSnapshot.toState.
PodState state_of(const PodView& pod, bool check_all, const std::string& container);

/// What is kept of a pod.
struct PodEntry {
  PodState state = PodState::Unknown;
  int32_t profile = 0;
  std::string name, uid, node, ip;
  Time created{};        // when it was first seen
  int32_t restarts = 0;  // of its containers, all together
};

/// By the executor's number: numbers are never used twice.
using PodTable = std::map<int64_t, PodEntry>;

/// 0: it is no number.
int64_t number_of(const ExecutorId& id);
ExecutorId id_of(int64_t number);

/// The number of the label spark-exec-id. None: it is no executor's, or of a set and has no number
/// yet.
std::optional<int64_t> executor_number(const PodView& pod);

inline bool has_ended(PodState s) {
  return s == PodState::Succeeded || s == PodState::Failed || s == PodState::Deleted;
}

/// How often containers of the pod were begun again, all together.
int32_t restarts_of(const PodView& pod);
/// Whether it ended because its node needed the room, or went: no fault of what ran in it. A pod
/// that took more than its own limits allow is evicted as well, and that is its fault.
bool taken_away(const PodView& pod);
/// The first exit code of a container that ended; -1: none did.
int32_t exit_code_of(const PodView& pod);
/// What an executor's end is to a person: code, the API's reason and message, its containers.
/// Source: Spark 4.3 ExecutorPodsLifecycleManager.exitReasonMessage.
std::string end_message(const PodView& pod, int64_t executor);

}  // namespace tinderbox::core::kubernetes
