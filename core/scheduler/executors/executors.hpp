// The driver's registry of executors: handshake, slots, liveness.
//
// Everything on the scheduling path names an executor by a dense number, its *slot*, and a host by
// another. A slot is given to an id when it is first heard of (also in a location preference) and
// never reused.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scheduler/executors/ahead_queue.hpp"
#include "core/scheduler/options.hpp"
#include "core/scheduler/resources/profiles.hpp"
#include "core/scheduler/turn.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

class TaskSet;

/// One executor, as the scheduler sees it. Unit: task slots = tasks of its own resource profile
/// that it runs at once; without custom resources cores / spark.task.cpus.
///
/// Thousands of them are more than a cache holds, so what each message and each decision touches
/// comes first, by lines of a cache.
struct alignas(64) Executor {
  enum class State : uint8_t {
    Named,        // only heard of
    Registered,   // not ready yet
    Active,       // gets offers
    Draining,     // ends what it runs; it is decommissioned, or the driver asked for its end
    LossPending,  // its connection is gone, the reason is not known yet
    Removed,
  };
  int32_t slot = -1;  // its own number
  State state = State::Named;
  bool killing = false;   // the driver asked the cluster manager for its end
  bool excluded = false;  // for the application, after failures
  // Down to open_bytes written by TaskScheduler, but for what registration sets and last_seen.
  int32_t slots = 0;
  int32_t running = 0;   // attempts sent and not ended, those ahead too
  int32_t ahead = 0;     // of them: beyond the slots
  int32_t revoking = 0;  // of those: asked back
  int32_t idle_at = -1;  // place in the list of idle executors
  int32_t idle_slots = 0;
  int32_t host = -1;
  int32_t cores = 0;
  PeerId peer = 0;
  Time last_seen{};
  uint64_t freed_turn = 0;  // last turn in which it freed something
  // The second line.
  uint64_t open_turn = 0;  // where a LaunchTasks of this turn can still be appended to
  size_t open_effect = 0;
  const TaskSet* open_set = nullptr;
  int64_t open_bytes = 0;
  ExecutorId id;
  // The third, and what launch-ahead needs in the next.
  BlockManagerId address;
  AheadQueue ahead_queue;  // in launch order; entries may be stale
  // Seldom touched.
  std::vector<std::vector<TaskId>> asked;  // unanswered RevokeTasks, the oldest first; few
  std::vector<std::string> local_dirs;
  int32_t profile = 0;
  ResourceAddresses resources;
  std::string last_words;  // why it says that it ends; LossPending: the manager may know better

  int32_t free_slots() const { return slots - (running - ahead); }
};

/// Why an executor ends soon. Source: Spark ExecutorDecommissionState.
struct Decommission {
  Time since{};
  std::string worker_host;  // its whole host goes; empty: the executor alone
  std::string message;
};

class Executors {
 public:
  explicit Executors(const DriverOptions& options);
  ~Executors();

  Profiles& profiles() { return profiles_; }
  const Profiles& profiles() const { return profiles_; }

  int32_t slot(const ExecutorId& id);
  int32_t host(std::string_view name);
  Executor& at(int32_t slot) {
    const size_t i = static_cast<size_t>(slot);
    return chunks_[i / kChunk][i % kChunk];
  }
  const Executor& at(int32_t slot) const {
    const size_t i = static_cast<size_t>(slot);
    return chunks_[i / kChunk][i % kChunk];
  }
  const std::string& host_name(int32_t host) const {
    return hosts_[static_cast<size_t>(host)].name;
  }
  int32_t count() const { return count_; }
  /// Slots of executors that get offers, in the order in which they became ready.
  const std::vector<int32_t>& active() const { return active_; }
  /// Task slots of those executors, all together.
  int32_t active_slots() const { return active_slots_; }
  /// −1: no registered executor speaks from there.
  int32_t of_peer(PeerId peer) const;

  bool alive(int32_t slot) const { return at(slot).state == Executor::State::Active; }
  bool host_alive(int32_t host) const {
    const Host& h = hosts_[static_cast<size_t>(host)];
    return h.active > 0 && h.condemned == 0;
  }
  /// Speaks with the driver, whether or not it gets offers.
  bool connected(int32_t slot) const {
    const Executor::State s = at(slot).state;
    return s == Executor::State::Registered || s == Executor::State::Active ||
           s == Executor::State::Draining;
  }

  /// Slots of those that do. However many are gone: costs as many as have a connection.
  std::vector<int32_t> connected() const;
  /// Some other executor of its host speaks with the driver.
  bool others_on_host(int32_t slot) const;

  /// Answers ApplicationConfig or ExecutorRefused.
  void hello(PeerId from, const ExecutorHello& hello, Turn& turn);
  /// Answers ExecutorRegistered or ExecutorRefused. −1: refused.
  int32_t register_executor(PeerId from, const RegisterExecutor& executor, Turn& turn);
  void activate(int32_t slot);
  /// No more offers. `next`: Draining, LossPending or Removed.
  void deactivate(int32_t slot, Executor::State next);
  /// Of one that is connected: it drains from now on.
  void decommission(int32_t slot, Decommission why);
  /// Null: it is not decommissioned, or so long gone that it is forgotten.
  const Decommission* decommission_of(int32_t slot) const;
  void peer_lost(PeerId peer);
  /// Something of it ended: when it drains, nothing may be left to do.
  void settle(int32_t slot) {
    if (at(slot).state == Executor::State::Draining) settled_.push_back(slot);
  }
  /// Those since the last call, perhaps some twice.
  std::vector<int32_t> take_settled() { return std::exchange(settled_, {}); }

 private:
  struct Host {
    std::string name;
    int32_t active = 0;
    int32_t condemned = 0;  // executors that are decommissioned with the host
  };
  void forget_decommission(int32_t slot);
  std::string refusal(const ExecutorHello& hello) const;
  void warn_if_useless(const Executor& executor, Turn& turn) const;

  const DriverOptions& options_;
  Profiles profiles_;
  /// Neighbours in memory: a page of it, and what a processor fetches ahead, serve several.
  static constexpr size_t kChunk = 16;
  std::vector<std::unique_ptr<Executor[]>> chunks_;
  int32_t count_ = 0;  // executors; the last chunk has room for more
  std::vector<Host> hosts_;
  std::vector<int32_t> active_;
  int32_t active_slots_ = 0;
  std::vector<int32_t> settled_;
  std::map<std::string, int32_t, std::less<>> slots_by_id_;
  int64_t named_ = 0;                     // numbers given to executors that came without
  std::map<PeerId, ExecutorId> greeted_;  // said hello; stays until the connection ends
  struct Index;
  std::unique_ptr<Index> index_;
  std::map<int32_t, Decommission> decommissions_;
  std::deque<int32_t> gone_;  // slots in decommissions_ of removed executors, oldest first
};

}  // namespace tinderbox::core
