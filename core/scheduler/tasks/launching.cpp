// One attempt on its way to an executor.
#include "core/plan/tasks/task.hpp"
#include "core/scheduler/tasks/task_end.hpp"
#include "core/scheduler/tasks/task_scheduler.hpp"

namespace tinderbox::core {

namespace {
/// From this size on a task is worth a warning, once a set. Source:
/// TaskSetManager.TASK_SIZE_TO_WARN_KIB.
constexpr int64_t kLargeTask = 1000 * 1024;
/// A LaunchTasks message that carries more takes no further tasks.
constexpr int64_t kFullMessage = 4 << 20;
}  // namespace

bool TaskScheduler::encode_inputs(TaskSet& set, int32_t index, Payload& inputs, Turn& turn) {
  const TaskSetSpec& spec = set.spec();
  try {
    inputs = Payload(codec_.inputs(*spec.root, set.partition(index)));
  } catch (const std::exception& error) {
    abort(set,
          "Failed to serialize task " + std::to_string(attempts_.next().value) +
              ", not attempting to retry it. Exception during serialization: " + error.what(),
          turn);
    return false;
  }
  const int64_t size = static_cast<int64_t>(inputs.size());
  set.largest_inputs = std::max(set.largest_inputs, size);
  if (size > kLargeTask && !std::exchange(set.warned_of_size, true))
    turn.log(Level::Warn, "Stage " + std::to_string(spec.stage.value) +
                              " contains a task of very large size (" +
                              std::to_string(size / 1024) +
                              " KiB). The maximum recommended task size is 1000 KiB.");
  if (size < options_.max_message_size) return true;
  abort(
      set,
      "Serialized task " + std::to_string(attempts_.next().value) + ":" + std::to_string(index) +
          " was " + std::to_string(size) +
          " bytes, which exceeds max allowed: spark.rpc.message.maxSize (" +
          std::to_string(options_.max_message_size) +
          " bytes). Consider increasing spark.rpc.message.maxSize or using broadcast variables for "
          "large values.",
      turn);
  return false;
}

LaunchTasks& TaskScheduler::open_message(TaskSet& set, Executor& e, size_t bytes, Turn& turn) {
  e.open_bytes += static_cast<int64_t>(bytes);
  if (e.open_turn == turn.id && e.open_set == &set && e.open_bytes < kFullMessage)
    return std::get<LaunchTasks>(std::get<Send<ToExecutor>>(turn.out[e.open_effect]).message);
  const TaskSetSpec& spec = set.spec();
  if (!set.sent_to(e.slot)) {
    set.mark_sent(e.slot);
    StageProgram program{set.program(), spec.code, {}};
    if (spec.properties) program.properties = *spec.properties;
    if (set.barrier()) program.properties[kBarrierAddresses] = set.addresses;
    turn.send(e.peer, std::move(program));
    for (const ShuffleId shuffle : spec.reads)
      if (auto outputs = progress_.outputs_ahead(shuffle, e.slot))
        turn.out.push_back(SendShared{e.peer, std::move(outputs)});
  }
  e.open_turn = turn.id;
  e.open_set = &set;
  e.open_bytes = static_cast<int64_t>(bytes);
  e.open_effect = turn.out.size();
  const int32_t cpus =
      resources_ ? executors_.profiles().needs(spec.profile).cpus : options_.task_cpus;
  turn.send(
      e.peer,
      LaunchTasks{
          set.program(), spec.stage, spec.attempt, spec.num_partitions, spec.epoch, {}, cpus, {}});
  LaunchTasks& message = std::get<LaunchTasks>(std::get<Send<ToExecutor>>(turn.out.back()).message);
  message.tasks.reserve(static_cast<size_t>(
      std::min(set.pending() + 1, std::max(1, e.slots - e.running + room_ahead(set, e)))));
  return message;
}

bool TaskScheduler::launch(TaskSet& set, TaskSet::Pick pick, int32_t executor, bool ahead,
                           Turn& turn) {
  Payload inputs;
  if (set.spec().has_inputs && !encode_inputs(set, pick.index, inputs, turn)) return false;
  Executor& e = executors_.at(executor);
  Attempt attempt;
  attempt.set = &set;
  attempt.index = pick.index;
  attempt.number = set.start(pick.index);
  attempt.executor = executor;
  attempt.locality = pick.locality;
  attempt.speculative = pick.copy;
  attempt.ahead = ahead;
  attempt.launched = turn.now;
  set.launched_turn = turn.id;
  const TaskId id = attempts_.add(attempt);
  if (Speculation* s = set.speculation()) s->started(pick.index, id, e.host, pick.copy);
  LaunchTasks& launch = open_message(set, e, inputs.size(), turn);
  TaskLaunch& message = launch.tasks.emplace_back();
  message.id = id;
  message.index = pick.index;
  message.partition = set.partition(pick.index);
  message.attempt = attempt.number;
  message.inputs = std::move(inputs);
  if (resources_) take_resources(id, set, e, launch);
  ++e.running;
  launched_any_ = true;
  if (ahead) {
    ++e.ahead;
    ++set.ahead;
    ++total_ahead_;
    e.ahead_queue.push_back(id);
    return true;
  }
  update_idle(executor);
  announce(id, *attempts_.find(id), turn);
  return true;
}

TaskInfo TaskScheduler::info(TaskId id, const Attempt& a) const {
  const TaskSetSpec& spec = a.set->spec();
  const Executor& e = executors_.at(a.executor);
  TaskInfo info;
  info.id = id;
  info.stage = spec.stage;
  info.stage_attempt = spec.attempt;
  info.index = a.index;
  info.attempt = a.number;
  info.partition = a.set->partition(a.index);
  info.locality = static_cast<int32_t>(a.locality);
  info.speculative = a.speculative;
  info.executor = e.id;
  info.host = e.address.host;
  info.launched = a.launched;
  return info;
}

/// A slot is its own now: it counts as launched from here on.
void TaskScheduler::announce(TaskId id, Attempt& a, Turn& turn) {
  if (a.announced) return;
  a.announced = true;
  a.launched = turn.now;
  turn.post<TaskStarted>().task = info(id, a);
}

void TaskScheduler::no_longer_ahead(Attempt& a, Executor& e) {
  if (!a.ahead) return;
  a.ahead = false;
  --e.ahead;
  --a.set->ahead;
  pools_.touch(*a.set);
  --total_ahead_;
}

void TaskScheduler::no_longer_revoking(Attempt& a, Executor& e) {
  if (!a.revoking) return;
  a.revoking = false;
  --e.revoking;
  --total_revoking_;
}

/// The oldest tasks ahead take the slots that are free; those of a lost executor start nothing.
void TaskScheduler::promote(Executor& e, Turn& turn) {
  if (e.state == Executor::State::Removed) return;
  while (e.free_slots() > 0 && e.ahead > 0 && !e.ahead_queue.empty()) {
    const TaskId id = e.ahead_queue.front();
    e.ahead_queue.pop_front();
    Attempt* a = attempts_.find(id);
    if (!a || !a->ahead) continue;
    no_longer_ahead(*a, e);
    // Asked back: the answer says whether it was in time.
    if (a->revoking) continue;
    a->set->launched_turn = turn.id;
    announce(id, *a, turn);
  }
}

}  // namespace tinderbox::core
