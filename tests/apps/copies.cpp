// An application that keeps partitions on several executors, kills one of these, and counts what is
// computed again: nothing where there are copies, else what was lost, and only that. A reliable
// checkpoint is read after its writer's end, a local one told to be lost. Run by
// tests/processes/cluster/faults_test.sh.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "core/api/tinderbox.hpp"
#include "tests/apps/shared/executor_process.hpp"
#include "tests/apps/shared/watched.hpp"

namespace {

using namespace tinderbox;
using core::ListenerEvent;

constexpr int32_t kExecutors = 3, kPartitions = 6;
constexpr int64_t kRecords = 600, kSum = kRecords * (kRecords - 1) / 2;
constexpr auto kDeadline = std::chrono::seconds(30);

void require(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error("COPIES TEST: " + what);
}

/// Which executors there are and what they hold, as the driver tells.
class Holders : public core::Listener {
 public:
  void on_events(std::span<const ListenerEvent> events) override {
    std::lock_guard lock(mutex_);
    for (const ListenerEvent& e : events) {
      if (auto* s = std::get_if<core::TaskStarted>(&e)) alive_.insert(s->task.executor.value);
      if (auto* j = std::get_if<core::ExecutorJoined>(&e)) alive_.insert(j->executor.value);
      if (auto* r = std::get_if<core::ExecutorRemoved>(&e)) remove(r->executor.value);
      if (auto* u = std::get_if<core::BlockUpdated>(&e)) update(*u);
    }
    changed_.notify_all();
  }
  void wait_for_executors() {
    wait("three executors", [this] { return alive_.size() == kExecutors; });
  }
  /// In memory where the level has it, which has room for all of them; else in files.
  void wait_for_copies(RddId rdd, const StorageLevel& level, size_t copies) {
    const auto right = [&](const auto& holder) {
      return holder.second.in_memory == level.memory && holder.second.on_disk != level.memory;
    };
    wait(std::to_string(copies) + " copies of each partition " +
             (level.memory ? "in memory" : "on disk"),
         [&] {
           for (int32_t p = 0; p < kPartitions; ++p) {
             const auto& holders = holders_[core::block_name(rdd, p)];
             if (holders.size() != copies || !std::ranges::all_of(holders, right)) return false;
           }
           return true;
         });
  }
  void wait_until_gone(const std::string& executor) {
    wait("the end of executor " + executor, [&] { return !alive_.contains(executor); });
  }
  std::string some_executor() {
    std::lock_guard lock(mutex_);
    return *alive_.begin();
  }
  /// The one that holds the fewest partitions, and how many these are.
  std::pair<std::string, int64_t> some_holder(RddId rdd) {
    std::lock_guard lock(mutex_);
    std::map<std::string, int64_t> held;
    for (int32_t p = 0; p < kPartitions; ++p)
      for (const auto& [executor, block] : holders_[core::block_name(rdd, p)]) ++held[executor];
    require(!held.empty(), "no executor holds a partition");
    return *std::min_element(held.begin(), held.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
  }

 private:
  template <class Is>
  void wait(const std::string& what, Is is) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kDeadline, is)) return;
    std::string found = std::to_string(alive_.size()) + " executors";
    for (const auto& [block, executors] : holders_)
      found += ", " + block + " " + std::to_string(executors.size()) + " times";
    require(false, "waited in vain for " + what + "; there are " + found);
  }
  void update(const core::BlockUpdated& e) {
    auto& holders = holders_[e.block.block];
    if (e.block.in_memory || e.block.on_disk)
      holders.insert_or_assign(e.executor.value, e.block);
    else
      holders.erase(e.executor.value);
  }
  void remove(const std::string& executor) {
    alive_.erase(executor);
    for (auto& [block, executors] : holders_) executors.erase(executor);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> alive_;
  std::map<std::string, std::map<std::string, BlockUpdate>> holders_;  // by block and executor
};

struct Copies {
  Context& context;
  std::shared_ptr<Holders> holders = std::make_shared<Holders>();

  /// The driver knows of it when this returns.
  void kill_executor(const std::string& executor) {
    const int pid = pid_of_executor(context.application_id(), executor);
    require(kill(pid, SIGKILL) == 0, "cannot kill " + std::to_string(pid));
    holders->wait_until_gone(executor);
  }

  /// Keeps partitions at `level`, kills a holder and reads them again.
  void lose_a_holder(const char* name, const StorageLevel& level) {
    context.range(0, 4 * kExecutors, 1, 4 * kExecutors).count();
    holders->wait_for_executors();
    auto computed = context.long_accumulator();
    auto kept = context.range(0, kRecords, 1, kPartitions)
                    .map(capture(computed, [](const auto& count, int64_t x) {
                      count.add(1);
                      return x;
                    }));
    kept.persist(level);
    require(kept.sum() == kSum, std::string(name) + ": wrong sum");
    require(computed.value() == kRecords, std::string(name) + ": computed more than once");
    const auto copies = static_cast<size_t>(level.replication);
    holders->wait_for_copies(kept.id(), level, copies);
    const auto [victim, held] = holders->some_holder(kept.id());
    kill_executor(victim);
    require(kept.sum() == kSum, std::string(name) + ": wrong sum after the loss");
    const int64_t again = computed.value() - kRecords;
    const int64_t lost = copies > 1 ? 0 : held * (kRecords / kPartitions);
    require(again == lost, std::string(name) + ": " + std::to_string(again) +
                               " records were computed again, not " + std::to_string(lost));
    // A loss is made good by those who are there then, not by who comes in the victim's place.
    holders->wait_for_copies(kept.id(), level, std::min<size_t>(copies, kExecutors - 1));
    require(kept.sum() == kSum && computed.value() == kRecords + lost,
            std::string(name) + ": computed again although all partitions are there");
    kept.unpersist();
  }

  /// Of a local checkpoint nothing can be computed again: who needs what is lost is told.
  void lose_a_local_checkpoint() {
    holders->wait_for_executors();
    auto kept = context.range(0, kRecords, 1, kPartitions).map([](int64_t x) { return x; });
    kept.local_checkpoint();
    require(kept.sum() == kSum, "local checkpoint: wrong sum");
    holders->wait_for_copies(kept.id(), MEMORY_AND_DISK, 1);
    kill_executor(holders->some_holder(kept.id()).first);
    std::string message = "a sum of what is lost";
    try {
      kept.sum();
    } catch (const JobFailed& e) {
      message = e.what();
    }
    const std::string lost = "Checkpoint block rdd_" + std::to_string(kept.id().value) + "_";
    require(
        message.find(lost) != std::string::npos && message.find("not found!") != std::string::npos,
        "not '" + lost + "… not found!' but: " + message);
  }

  /// A reliable one outlives whoever wrote it.
  void lose_a_writer(const std::string& directory) {
    context.range(0, 4 * kExecutors, 1, 4 * kExecutors).count();
    holders->wait_for_executors();
    context.set_checkpoint_dir(directory);
    auto computed = context.long_accumulator();
    auto kept = context.range(0, kRecords, 1, kPartitions)
                    .map(capture(computed, [](const auto& count, int64_t x) {
                      count.add(1);
                      return x;
                    }));
    kept.checkpoint();
    require(kept.sum() == kSum && kept.is_checkpointed(), "checkpoint: wrong sum, or none");
    const int64_t before = computed.value();
    kill_executor(holders->some_executor());
    require(kept.sum() == kSum, "checkpoint: wrong sum after the loss");
    require(computed.value() == before, "checkpoint: computed again");
  }
};

int run(Context& context, std::span<const std::string> args) {
  if (args.empty()) throw std::runtime_error("give a directory for checkpoints");
  Copies copies{context};
  context.add_listener(copies.holders);
  copies.lose_a_holder("DISK_ONLY_3", DISK_ONLY_3);
  copies.lose_a_holder("MEMORY_ONLY_2", MEMORY_ONLY_2);
  copies.lose_a_holder("DISK_ONLY_2", DISK_ONLY_2);
  copies.lose_a_holder("MEMORY_AND_DISK_SER_2", MEMORY_AND_DISK_SER_2);
  copies.lose_a_holder("MEMORY_ONLY_SER_2", MEMORY_ONLY_SER_2);
  copies.lose_a_holder("MEMORY_AND_DISK_2", MEMORY_AND_DISK_2);
  copies.lose_a_holder("OFF_HEAP", OFF_HEAP);
  copies.lose_a_holder("MEMORY_ONLY", MEMORY_ONLY);
  copies.lose_a_holder("DISK_ONLY", DISK_ONLY);
  copies.lose_a_writer(args[0]);
  copies.lose_a_local_checkpoint();
  std::printf("copies: right results\n");
  return 0;
}

TINDERBOX_APPLICATION(copies, "kill holders of cached partitions", run);

}  // namespace
