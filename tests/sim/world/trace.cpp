#include "tests/sim/world/trace.hpp"

#include "core/machine.hpp"
#include "core/scheduler/tasks/task_end.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

std::string n(int64_t number) { return std::to_string(number); }

std::string of(const TaskInfo& t) {
  return "task " + n(t.id.value) + " (stage " + n(t.stage.value) + "." + n(t.stage_attempt) +
         ", index " + n(t.index) + "." + n(t.attempt) + ", partition " + n(t.partition) + ") on " +
         t.executor.value;
}
std::string of(const StageInfo& s) {
  std::string text = "stage " + n(s.stage.value) + "." + n(s.attempt) + " " + s.name + ", " +
                     n(s.num_tasks) + " tasks, parents";
  for (const StageId p : s.parents) text += " " + n(p.value);
  return text + (s.failure_reason.empty() ? "" : ": " + s.failure_reason);
}
std::string of(const std::vector<TaskId>& tasks) {
  std::string text;
  for (const TaskId t : tasks) text += " " + n(t.value);
  return text;
}

std::string say(const ToExecutor& m) {
  return std::visit(
      overloaded{
          [](const ApplicationConfig&) -> std::string { return "ApplicationConfig"; },
          [](const ExecutorRefused& x) -> std::string { return "ExecutorRefused " + x.reason; },
          [](const ExecutorRegistered&) -> std::string { return "ExecutorRegistered"; },
          [](const StageProgram& x) -> std::string { return "StageProgram " + n(x.program); },
          [](const LaunchTasks& x) {
            std::string text = "LaunchTasks stage " + n(x.stage.value) + "." + n(x.stage_attempt) +
                               ", epoch " + n(x.epoch) + ":";
            for (const TaskLaunch& t : x.tasks) text += " " + n(t.id.value);
            return text;
          },
          [](const DecommissionExecutor& x) { return "DecommissionExecutor " + x.reason; },
          [](const TakeBlock& x) {
            return "TakeBlock " + n(static_cast<int64_t>(x.request)) + " " + x.block + " of " +
                   x.from.executor.value;
          },
          [](const BarrierReached& x) {
            return "BarrierReached " + n(static_cast<int64_t>(x.request)) + " " + x.error;
          },
          [](const KillTask& x) { return "KillTask " + n(x.id.value) + " " + x.reason; },
          [](const RevokeTasks& x) { return "RevokeTasks" + of(x.tasks); },
          [](const ForgetProgram& x) { return "ForgetProgram " + n(x.program); },
          [](const MapOutputs& x) {
            std::string text =
                "MapOutputs of shuffle " + n(x.shuffle.value) + ", epoch " + n(x.epoch) + ":";
            for (const auto& s : x.statuses)
              text += s ? " " + s->location.executor.value + "/" + n(s->map_id) : " missing";
            return text;
          },
          [](const StopExecutor&) -> std::string { return "StopExecutor"; },
          [](const RemoveBlocks& x) {
            std::string text = "RemoveBlocks";
            for (const std::string& block : x.blocks) text += " " + block;
            return text;
          },
          [](const RemoveShuffle& x) { return "RemoveShuffle " + n(x.shuffle.value); },
          [](const RemoveRdd& x) { return "RemoveRdd " + n(x.rdd.value); },
          [](const HeartbeatAnswer& x) -> std::string {
            return x.reregister ? "HeartbeatAnswer: register again" : "";
          },
          [](const CommitAnswer& x) -> std::string {
            return x.allowed ? "CommitAnswer: allowed" : "CommitAnswer: denied";
          },
          [](const auto&) -> std::string { return "another message"; },
      },
      m);
}

std::string of(const TaskUpdate& u) {
  constexpr const char* kStates[] = {"launching", "running", "finished",
                                     "failed",    "killed",  "lost"};
  std::string text = " " + n(u.id.value) + " " + kStates[static_cast<size_t>(u.state)];
  if (u.reason) text += " (" + error_text(*u.reason) + ")";
  return text;
}

std::string say(const ToDriver& m) {
  return std::visit(
      overloaded{
          [](const ExecutorHello&) -> std::string { return "ExecutorHello"; },
          [](const RegisterExecutor&) -> std::string { return "RegisterExecutor"; },
          [](const ExecutorReady&) -> std::string { return "ExecutorReady"; },
          [](const StatusUpdates& x) {
            std::string text = "StatusUpdates";
            for (const TaskUpdate& u : x.tasks) text += of(u);
            return text;
          },
          [](const TasksRevoked& x) { return "TasksRevoked" + of(x.tasks); },
          [](const ExecutorHeartbeat&) -> std::string { return ""; },
          [](const BlockUpdates& x) {
            std::string text = "BlockUpdates";
            for (const BlockUpdate& b : x.blocks)
              text += " " + b.block + (b.in_memory || b.on_disk ? "" : " gone");
            return text;
          },
          [](const MapOutputsRequest& x) { return "MapOutputsRequest " + n(x.shuffle.value); },
          [](const BlockLocationsRequest&) -> std::string { return "BlockLocationsRequest"; },
          [](const ExecutorDecommissioning& x) { return "ExecutorDecommissioning " + x.id.value; },
          [](const BlockTaken& x) {
            return "BlockTaken " + n(static_cast<int64_t>(x.request)) +
                   (x.taken ? "" : ": no, " + x.reason);
          },
          [](const BarrierSync& x) {
            return "BarrierSync " + n(static_cast<int64_t>(x.request)) + " task " + n(x.task.value);
          },
          [](const ExecutorExiting& x) { return "ExecutorExiting " + n(x.code) + " " + x.reason; },
          [](const AskPermissionToCommit& x) {
            return "AskPermissionToCommit stage " + n(x.stage.value) + " partition " +
                   n(x.partition);
          },
      },
      m);
}

}  // namespace

std::string describe(const net::Packet& packet) {
  switch (static_cast<net::Conversation>(packet.conversation)) {
    case net::Conversation::ToDriver: {
      const Result<ToDriver> m = net::decode<ToDriver>(packet);
      return m ? say(*m) : m.error().message;
    }
    case net::Conversation::ToExecutor: {
      const Result<ToExecutor> m = net::decode<ToExecutor>(packet);
      return m ? say(*m) : m.error().message;
    }
    case net::Conversation::ToBlocks: {
      const Result<ToBlocks> m = net::decode<ToBlocks>(packet);
      const auto* open = m ? std::get_if<OpenBlocks>(&*m) : nullptr;
      std::string text;
      if (open)
        for (const WishedBlock& wish : open->wishes)
          text += (text.empty() ? "OpenBlocks " : ", ") + wish.block;
      return text;
    }
    case net::Conversation::FromBlocks: {
      const Result<FromBlocks> m = net::decode<FromBlocks>(packet);
      const auto* missing = m ? std::get_if<BlockMissing>(&*m) : nullptr;
      return missing ? "BlockMissing " + missing->reason : "";
    }
    default:
      return "conversation " + n(packet.conversation) + ", message " + n(packet.tag);
  }
}

std::string describe(const ListenerEvent& event) {
  return std::visit(
      overloaded{
          [](const ExecutorJoined& e) { return "! executor " + e.executor.value + " joined"; },
          [](const ExecutorRemoved& e) {
            return "! executor " + e.executor.value + " removed: " + e.reason;
          },
          [](const JobStarted& e) { return "! job " + n(e.job.value) + " started"; },
          [](const JobEnded& e) {
            return "! job " + n(e.job.value) + (e.succeeded ? " succeeded" : " failed: " + e.error);
          },
          [](const StageSubmitted& e) { return "! submitted " + of(e.stage); },
          [](const StageCompleted& e) { return "! completed " + of(e.stage); },
          [](const TaskStarted& e) { return "! started " + of(e.task); },
          [](const TaskGettingResult& e) { return "! getting result of " + of(e.task); },
          [](const TaskEnded& e) {
            return "! ended " + of(e.task) + ": " +
                   error_text(e.reason ? *e.reason : TaskEndReason{});
          },
          [](const BlockManagerAdded& e) { return "! blocks of " + e.id.executor.value; },
          [](const BlockUpdated& e) {
            const bool gone = !e.block.in_memory && !e.block.on_disk;
            return "! block " + e.block.block + (gone ? " not at " : " at ") + e.executor.value;
          },
          [](const BlockManagerRemoved& e) { return "! no blocks of " + e.id.executor.value; },
          [](const auto&) -> std::string { return "! another event"; },
      },
      event);
}

}  // namespace tinderbox::sim
