// Task bodies of a simulated executor: an interpreter of lineage that waits where threads would.
//
// A task computes, reads what it needs, computes again and ends. Whatever it lacks is asked for at
// once; each arrival calls advance(), which starts over with what is known by then.
#include "core/executor/executor.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "tests/sim/roles/executor.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {
constexpr Duration kReportRunning = 20ms;  // as executor_service.cpp
constexpr int32_t kBarriers = 2;           // of each task of a barrier stage
}  // namespace

size_t SimExecutor::slots() const { return static_cast<size_t>(slots_); }

void SimExecutor::check_load() const {
  in_.checks.load(id_, queue_.size(), running_.size(), slots());
  if (!current()) return;
  Checks::Holder executor{id_, in_.settings.cores, has_.resources, {}};
  for (const auto& [id, task] : running_)
    executor.tasks.push_back({task.stage, task.cpus, task.addresses});
  in_.checks.holds(executor);
}

std::vector<TaskId> SimExecutor::running_tasks() const {
  std::vector<TaskId> ids;
  for (const auto& [id, task] : running_) ids.push_back(id);
  return ids;
}

// ---- the runner: as core/executor/task_runner --------------------------------------------------

void SimExecutor::apply(const StartTasks& e) {
  const LaunchTasks& m = e.launch;
  const auto program = programs_.find(m.program);
  if (process_->skew != Duration{}) in_.checks.reached(Path::ClocksSkewed);
  // Tasks of a profile that runs here beside the executor's own.
  slots_ = std::max(slots_, in_.settings.cores / std::max(1, m.cpus));
  for (size_t i = 0; i < m.tasks.size(); ++i) {
    Task task;
    task.launch = m.tasks[i];
    task.cpus = m.cpus;
    if (i < m.resources.size()) task.addresses = m.resources[i];
    task.stage = m.stage;
    task.stage_attempt = m.stage_attempt;
    task.run = in_.application.number;
    task.epoch = m.epoch;
    if (program != programs_.end()) task.program = program->second;
    queue_.push_back(std::move(task));
  }
  fill_slots();
  report_running_later();
}

void SimExecutor::fill_slots() {
  while (!queue_.empty() && running_.size() < slots()) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    begin(std::move(task));
  }
  check_load();
}

void SimExecutor::begin(Task task) {
  const TaskId id = task.launch.id;
  if (const auto mark = marks_.find(id); mark != marks_.end()) {
    task.killed = true;
    task.kill_reason = mark->second;
    marks_.erase(mark);
  }
  running_[id] = std::move(task);
  after(in_.world.random().long_tailed(in_.settings.task_time) / 2, [this, id] { advance(id); });
}

void SimExecutor::apply(const StopTask& e) {
  const TaskId id = e.kill.id;
  if (const auto it = running_.find(id); it != running_.end()) {
    it->second.killed = true;
    it->second.kill_reason = e.kill.reason;
    // Some code looks at the mark soon, some not before it ends; who waits for others does soon.
    if (it->second.meets || in_.world.random().chance(800))
      after(in_.world.random().between(Duration{0}, Duration{50ms}), [this, id] {
        if (const auto t = running_.find(id); t != running_.end()) end(id, killed(t->second));
      });
    return;
  }
  const auto waits =
      std::find_if(queue_.begin(), queue_.end(), [&](const Task& t) { return t.launch.id == id; });
  if (waits == queue_.end()) {
    marks_[id] = e.kill.reason;
    return;
  }
  waits->kill_reason = e.kill.reason;
  const TaskUpdate update = killed(*waits);
  queue_.erase(waits);
  ring(update);
}

void SimExecutor::apply(const TakeBack& e) {
  std::vector<TaskId> given;
  for (const TaskId id : e.tasks)
    if (std::erase_if(queue_, [&](const Task& t) { return t.launch.id == id; }))
      given.push_back(id);
  if (!given.empty()) in_.checks.reached(Path::Revoked);
  if (given.size() < e.tasks.size()) in_.checks.reached(Path::RevokedTooLate);
  shell_.feed(RevokeAnswered{std::move(given)});
}

void SimExecutor::end(TaskId id, TaskUpdate update) {
  running_.erase(id);
  ring(std::move(update));
  fill_slots();
}

void SimExecutor::ring(TaskUpdate update) {
  updates_.push_back(std::move(update));
  if (std::exchange(rung_, true)) return;
  after(in_.world.random().between(Duration{1us}, Duration{2ms}), [this] { flush(); });
}

void SimExecutor::flush() {
  rung_ = false;
  std::vector<TaskUpdate> updates = std::exchange(updates_, {});
  for (auto& [id, task] : running_)
    if (!std::exchange(task.reported, true)) updates.emplace_back().id = id;
  if (!updates.empty()) shell_.feed(TasksMoved{std::move(updates)});
}

void SimExecutor::report_running_later() {
  if (std::exchange(reporting_, true)) return;
  after(kReportRunning, [this] {
    reporting_ = false;
    flush();
    if (runs_anything()) report_running_later();
  });
}

// ---- what a task computes ----------------------------------------------------------------------

void SimExecutor::advance(TaskId id) {
  const auto it = running_.find(id);
  if (it == running_.end() || it->second.finishing) return;
  Task& task = it->second;
  if (task.killed) return end(id, killed(task));
  if (!task.failure && !task.program) fail(task, "UnknownProgram", "it did not come before");
  if (task.failure) return end(id, failed(task));
  if (!value(task, *task.program->root, task.launch.partition)) return;
  task.finishing = true;
  after(in_.world.random().long_tailed(in_.settings.task_time) / 2, [this, id] { finish(id); });
}

std::optional<uint64_t> SimExecutor::value(Task& task, const Node& node, int32_t partition) {
  const Place place{node.id.value, partition};
  if (const auto it = task.values.find(place); it != task.values.end()) return it->second;
  const bool keeps = node.storage_bits.load() != 0;
  if (keeps && !task.nowhere.contains(place)) return cached(task, node, place);
  const std::optional<uint64_t> computed = compute(
      node, partition, [&](const Node& parent, int32_t q) { return value(task, parent, q); },
      [&](const ShuffleDependency& s, int32_t r) -> std::optional<uint64_t> {
        const Place read{s.id.value, r};
        if (const auto it = task.reads.find(read); it != task.reads.end()) return it->second;
        if (task.asked.insert(read).second) want_outputs(task, read);
        return std::nullopt;
      });
  if (!computed) return std::nullopt;
  const uint64_t value = in_.lineage.as_seen_by(task.launch.id, node, *computed);
  task.values[place] = value;
  if (keeps) keep(node, place, value);
  return value;
}

std::optional<uint64_t> SimExecutor::cached(Task& task, const Node&, Place place) {
  const auto own =
      store_.find("rdd_" + std::to_string(place.first) + "_" + std::to_string(place.second));
  if (own != store_.end()) {
    in_.checks.reached(Path::CacheHitLocal);
    return take_cached(task, place, own->second);
  }
  if (task.asked_cache.insert(place).second) read_cached(task, place);
  return std::nullopt;
}

uint64_t SimExecutor::take_cached(Task& task, Place place, const Payload& bytes) {
  const uint64_t value = task.values[place] = std::stoull(std::string(bytes.view()));
  if (indeterminate(*in_.lineage.node(place.first))) task.made.cached[place] = value;
  return value;
}

void SimExecutor::keep(const Node&, Place place, uint64_t value) {
  in_.checks.cached(place, value);
  store("rdd_" + std::to_string(place.first) + "_" + std::to_string(place.second),
        std::to_string(value), true);
}

// ---- how it ends -------------------------------------------------------------------------------

void SimExecutor::finish(TaskId id) {
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  Task& task = it->second;
  if (task.killed) return end(id, killed(task));
  if (task.program->root->barrier && task.met < kBarriers) return meet(id, task);
  if (task.program->commits && !task.program->shuffle && !task.may_commit) {
    const uint64_t request = next_request_++;
    committing_[request] = id;
    after(in_.settings.ask_timeout, [this, request] { on_commit_answer({request, false}); });
    return shell_.feed(ServiceRequest{AskPermissionToCommit{
        request, task.stage, task.stage_attempt, task.launch.partition, task.launch.attempt, id}});
  }
  end(id, outcome(task));
}

/// Waits as long as it takes, as a real task does.
void SimExecutor::meet(TaskId id, Task& task) {
  const uint64_t request = next_request_++;
  meeting_[request] = id;
  task.meets = true;
  shell_.feed(ServiceRequest{BarrierSync{
      request, id, task.stage, task.stage_attempt, task.launch.partition, task.met, true,
      Checks::at_barrier(task.stage, task.stage_attempt, task.launch.partition)}});
}

void SimExecutor::on_barrier(const BarrierReached& m) {
  const auto node = meeting_.extract(m.request);
  const auto it = node.empty() ? running_.end() : running_.find(node.mapped());
  if (it == running_.end()) return;
  const TaskId id = it->first;
  Task& task = it->second;
  task.meets = false;
  if (!m.error.empty()) {
    fail(task, "BarrierError", m.error);
    return end(id, failed(task));
  }
  in_.checks.met(task.stage, task.stage_attempt, m.messages);
  ++task.met;
  after(in_.world.random().between(Duration{0}, Duration{50ms}), [this, id] { finish(id); });
}

void SimExecutor::on_commit_answer(const CommitAnswer& m) {
  const auto node = committing_.extract(m.request);
  if (node.empty()) return;
  const TaskId id = node.mapped();
  const auto it = running_.find(id);
  if (it == running_.end()) return;
  it->second.may_commit = m.allowed;
  if (m.allowed) {
    if (current()) in_.checks.committing(it->second.stage, it->second.launch.partition, id);
    return finish(id);
  }
  in_.checks.reached(Path::CommitDenied);
  TaskUpdate update;
  update.id = id;
  update.state = TaskState::Killed;
  update.reason.emplace().kind = TaskEndKind::TaskCommitDenied;
  update.metrics.emplace();
  end(id, std::move(update));
}

TaskUpdate SimExecutor::outcome(Task& task) {
  const Program& program = *task.program;
  const bool poisoned = !program.shuffle && program.poison == task.launch.partition;
  const bool thrown =
      !poisoned && in_.world.now() < throwing_until_ && in_.world.random().chance(500);
  if (thrown) in_.checks.reached(Fault::Kind::TasksThrow);
  if (poisoned || thrown) fail(task, "std::runtime_error", "thrown by the task");
  TaskUpdate update;
  update.id = task.launch.id;
  update.state = TaskState::Finished;
  update.metrics.emplace();
  const uint64_t value = task.values.at({program.root->id.value, task.launch.partition});
  if (!task.failure && program.shuffle) write_output(task, value, update);
  if (task.failure) return failed(task);
  tell_made(task, value);
  if (program.shuffle) return update;
  Bytes result = std::to_string(value);
  update.result_size = static_cast<int64_t>(result.size());
  update.accumulators.push_back({AccumulatorId{static_cast<int64_t>(program.ticket)}, "1", false});
  if (!program.large) {
    update.result = Payload(std::move(result));
    return update;
  }
  update.result_block = "taskresult_" + std::to_string(task.launch.id.value);
  if (in_.world.now() >= results_lost_until_)
    store(update.result_block, std::move(result), false);
  else
    in_.checks.reached(Fault::Kind::LoseResults);
  return update;
}

void SimExecutor::tell_made(Task& task, uint64_t value) {
  const Program& program = *task.program;
  if (task.run != in_.application.number || !indeterminate(*program.root)) return;
  Made& made = task.made;
  made.node = program.root.get();
  made.partition = task.launch.partition;
  made.shuffle = program.shuffle ? program.shuffle->id : ShuffleId{-1};
  made.ticket = program.ticket;
  made.task = task.launch.id;
  made.stage = task.stage;
  made.stage_attempt = task.stage_attempt;
  made.executor = id_;
  made.value = value;
  in_.checks.made(made);
}

void SimExecutor::write_output(Task& task, uint64_t value, TaskUpdate& update) {
  if (disk_full()) {
    in_.checks.reached(Path::OutputNotStored);
    return fail(task, "std::system_error", "No space left on device");
  }
  const ShuffleDependency& s = *task.program->shuffle;
  std::vector<int64_t> sizes;
  std::vector<Bytes> pieces;
  for (int32_t r = 0; r < s.num_reduces; ++r) {
    const uint64_t piece = piece_of(s.id, value, r);
    sizes.push_back(piece_size(piece));
    pieces.push_back(sizes.back() > 0 ? std::to_string(piece) : Bytes{});
  }
  if (current()) in_.checks.writes(id_, s.id);
  store_output(s.id, task.launch.id.value, std::move(pieces));
  MapStatus status;
  status.location = {ExecutorId{id_}, host_, block_address_};
  status.map_id = task.launch.id.value;
  status.sizes = encode_sizes(sizes);
  update.map_status = std::move(status);
}

void SimExecutor::fail(Task& task, std::string class_name, std::string what) {
  task.failure.emplace().kind = TaskEndKind::ExceptionFailure;
  task.failure->class_name = std::move(class_name);
  task.failure->description = std::move(what);
}

TaskUpdate SimExecutor::failed(const Task& task) const {
  TaskUpdate update;
  update.id = task.launch.id;
  update.state = TaskState::Failed;
  update.reason = task.failure;
  update.metrics.emplace();
  return update;
}

TaskUpdate SimExecutor::killed(const Task& task) const {
  TaskUpdate update;
  update.id = task.launch.id;
  update.state = TaskState::Killed;
  update.reason.emplace().kind = TaskEndKind::TaskKilled;
  update.reason->description = task.kill_reason;
  update.metrics.emplace();
  return update;
}

}  // namespace tinderbox::sim
