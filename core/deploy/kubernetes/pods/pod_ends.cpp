// What the PodManager makes of what pods do: their ends, their troubles, pods that are missing.
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "core/deploy/kubernetes/pods/pod_manager.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"

namespace tinderbox::core::kubernetes {

void PodManager::on(const PodChanged& e, Effects& out) {
  if (e.ticket != watch_) return;
  if (phase_ == Phase::Stopping) return goes(e, out);
  watch_shows(e.pod.resource_version);
  take(e.pod, e.deleted, out);
  if (phase_ == Phase::Running) allocate(out);
}

PodState PodManager::state_shown(int64_t executor, const PodView& pod, bool deleted) const {
  if (deleted) return PodState::Deleted;
  const PodState state = state_of(pod, options_.check_all_containers, container_);
  // That a pod runs is shown a second late; its executor has said so.
  const bool runs = pod.phase == "Pending" && registered_.contains(executor);
  return state == PodState::Deleted && runs ? PodState::Terminating : state;
}

void PodManager::take(const PodView& pod, bool deleted, Effects& out) {
  const auto number = executor_number(pod);
  if (!number) return look_at_unnamed(pod, deleted, out);
  if (pod.label(kInactiveLabel) == "true") return;
  allocator_.seen(*number);
  uids_.erase(*number);
  PodState state = state_shown(*number, pod, deleted);
  PodEntry& entry = table_[*number];
  const PodState before = entry.state;
  const int32_t restarts = restarts_of(pod);
  const bool first = entry.created == Time{};
  if (first) {
    entry.created = now_;
    entry.restarts = restarts;
  }
  // A container that was begun again is another executor.
  if (state == PodState::Running && restarts > entry.restarts) state = PodState::Failed;
  entry.state = has_ended(before) && !has_ended(state) ? before : state;
  entry.name = pod.name;
  entry.uid = pod.uid;
  if (!pod.node.empty()) entry.node = pod.node;
  if (!pod.pod_ip.empty()) entry.ip = pod.pod_ip;
  // It was still being made when it was deleted, or its executor is over for the driver. Of a set
  // an event may still bear the number of an executor before.
  const bool unwelcome = allocator_.was_removed(*number) || told_.contains(*number);
  if (first && unwelcome && options_.kind == PodAllocator::Direct && !has_ended(state) &&
      pod.deletion_time.empty())
    delete_pods({*number}, out);
  const std::string profile = pod.label(kProfileLabel);
  std::from_chars(profile.data(), profile.data() + profile.size(), entry.profile);
  if (deleted || has_ended(entry.state))
    births_.erase(*number);
  else
    born(*number, pod.uid, out);
  if (entry.state == PodState::Pending)
    look_for_trouble(*number, pod, out);
  else
    in_vain_.erase(*number), reasons_.erase(*number);
  if (state == PodState::Terminating && before != state && !has_ended(before))
    leaves(*number, pod, out);
  if (has_ended(entry.state)) ended(*number, pod, entry.state, out);
  if (deleted) {
    allocator_.gone(*number);
    claims_.release(*number);
    table_.erase(*number);
  }
}

namespace {

std::string deleted_message(int64_t executor, const PodView& pod) {
  return "The executor with id " + std::to_string(executor) +
         " was deleted by a user or the framework." +
         (pod.disruption.empty() ? "" : " " + pod.disruption);
}

}  // namespace

/// It has its grace period to move what it holds; without decommissioning it ends right away.
void PodManager::leaves(int64_t executor, const PodView& pod, Effects& out) {
  const std::string message = deleted_message(executor, pod);
  if (options_.executors.decommission)
    out.push_back(PodLeaving{id_of(executor), message});
  else if (told_.insert(executor).second)
    out.push_back(PodGone{id_of(executor), std::nullopt, message});
}

std::string PodManager::pod_of(int64_t executor) {
  return executor == kUnnamed ? "a pod of the executors' set"
                              : "the pod of executor " + std::to_string(executor);
}

/// Told once. The pod goes afterwards, or is marked as done with.
void PodManager::ended(int64_t executor, const PodView& pod, PodState state, Effects& out) {
  const bool news = told_.insert(executor).second;
  if (state == PodState::Deleted) {
    if (news) out.push_back(PodGone{id_of(executor), std::nullopt, deleted_message(executor, pod)});
    return;
  }
  const std::string message = end_message(pod, executor);
  const bool own_fault = !taken_away(pod);
  if (news)
    out.push_back(PodGone{id_of(executor),
                          own_fault ? std::optional(exit_code_of(pod)) : std::nullopt, message});
  if (news && own_fault && state == PodState::Failed) count_failure(executor, message, out);
  if (!pod.deletion_time.empty()) return;
  if (options_.delete_pods) return delete_pods({executor}, out);
  claims_.release(executor);  // a pod that has ended mounts nothing
  const Json inactive = {{"metadata", {{"labels", {{std::string(kInactiveLabel), "true"}}}}}};
  ask({Asked::What::Delete, executor, 0,
       patch_object(api_path(options_.executors.names.name_space, "pods", pod.name), inactive)},
      out);
}

void PodManager::count_failure(int64_t executor, const std::string& reason, Effects& out) {
  failures_.failed(registered_.contains(executor), now_);
  next_batch_ = std::max(next_batch_, now_ + failures_.pause());
  const std::string line = net::one_line(reason);
  if (served_.empty()) held(line, out);
  if (failures_.too_many(now_))
    give_up(kExitExecutorFailures,
            "Max number of executor failures (" + std::to_string(options_.failures.max_failures) +
                ") reached; the last one: " + line,
            out);
}

void PodManager::look_for_trouble(int64_t executor, const PodView& pod, Effects& out) {
  const std::string reason = waiting_reason(pod);
  if (reason.empty()) {
    in_vain_.erase(executor);
    reasons_.erase(executor);
    return;
  }
  reasons_[executor] = reason;
  held(pod_of(executor) + " cannot start: " + reason, out);
  if (!waits_in_vain(pod))
    in_vain_.erase(executor);
  else if (!in_vain_.contains(executor))
    in_vain_[executor] = timer(PodTimer::Kind::Patience, options_.patience, out);
}

/// A pod of a set whose executor has not asked for its number: nobody's but for its troubles.
void PodManager::look_at_unnamed(const PodView& pod, bool deleted, Effects& out) {
  if (options_.kind == PodAllocator::Direct) return;
  if (!deleted && pod.phase == "Pending") return look_for_trouble(kUnnamed, pod, out);
  in_vain_.erase(kUnnamed), reasons_.erase(kUnnamed);
}

/// Source: Spark 4.3 ExecutorPodsLifecycleManager.onNewSnapshots, its second half.
void PodManager::look_for_missing(Effects& out) {
  std::vector<int64_t> missing;
  for (const auto& [number, since] : registered_)
    if (!table_.contains(number) && !told_.contains(number) &&
        now_ - since > options_.missing_delta)
      missing.push_back(number);
  const auto ms = [](Time t) { return std::to_string(epoch_millis(t)) + " ms"; };
  for (const int64_t number : missing) {
    told_.insert(number);
    out.push_back(PodGone{
        id_of(number), std::nullopt,
        "The executor with ID " + std::to_string(number) + " (registered at " +
            ms(registered_[number]) + ") was not found in the cluster at the polling time (" +
            ms(now_) + ") which is after the accepted detect delta time (" +
            std::to_string(options_.missing_delta.count() / 1000) +
            " ms) configured by `spark.kubernetes.executor.missingPodDetectDelta`. The executor "
            "may "
            "have been deleted but the driver missed the deletion event. Marking this executor as "
            "failed."});
  }
}

void PodManager::held(const std::string& reason, Effects& out) {
  if (reason == held_) return;
  held_ = reason;
  if (!reason.empty()) out.push_back(Log{Level::Warn, reason});
  out.push_back(PodsHeld{reason});
}

void PodManager::give_up(int32_t code, const std::string& reason, Effects& out) {
  if (phase_ == Phase::Stopping) return;
  out.push_back(PodsGiveUp{code, reason});
}

}  // namespace tinderbox::core::kubernetes
