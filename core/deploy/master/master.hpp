// The standalone master: which applications and drivers run where. A pure machine.
//
// Peers. Workers, applications and clients open their connections to the master and everything is
// said on those. Only a recovering master connects out, to the addresses that it stored, to say
// MasterChanged there; the worker or application then opens its own connection and answers on it. A
// worker or application that comes back by itself first is attached to what is known of it, never
// doubled. One that is known under several live connections is reached by its latest; it is lost
// when the last of them is.
//
// Source: Spark 4.3 org.apache.spark.deploy.master.Master.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "core/deploy/cluster_status.hpp"
#include "core/deploy/master/master_state.hpp"
#include "core/deploy/master/recovery.hpp"
#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// `epoch`: the recovery that CompleteRecovery was set for.
struct MasterTimer {
  enum class Kind : uint8_t { CheckWorkers, CompleteRecovery, Schedule } kind{};
  int64_t epoch = 0;
  bool operator==(const MasterTimer&) const = default;
};
/// This master leads from now on, with what the recovery log holds.
struct ElectedLeader {
  RecoveredState recovered;
};
struct RevokedLeadership {};
/// From the page: end an application.
struct RemoveApplication {
  AppId app;
};
/// Append these bytes to the recovery log before anything after it is carried out.
struct Persist {
  Bytes record;
  bool operator==(const Persist&) const = default;
};

class Master {
 public:
  using Event = std::variant<Received<ToMaster>, PeerLost, Connected, MasterTimer, ElectedLeader,
                             RevokedLeadership, RemoveApplication>;
  using Effect = std::variant<Send<ToWorker>, Send<ToApp>, Send<ToClient>, Connect, Disconnect,
                              After<MasterTimer>, Persist, Log, Exit>;
  using Effects = std::vector<Effect>;

  /// `seed` is of the generator that shuffles workers for drivers.
  Master(MasterOptions options, uint64_t seed);
  void on(const Event& event, Time now, Effects& out);
  ClusterStatus status(Time now) const;

 private:
  struct Turn {
    Time now;
    Effects& out;
  };
  using PeerOwner = std::variant<WorkerId, AppId>;
  struct Offers {
    std::vector<MasterWorker*> workers;  // alive, by id
    std::vector<WorkerOffer> offers;     // theirs
  };

  // master.cpp: dispatch, peers, sending
  void handle(const Turn& t, const Received<ToMaster>& e);
  void handle(const Turn& t, const PeerLost& e);
  void handle(const Turn& t, const Connected& e);
  void handle(const Turn& t, const MasterTimer& e);
  void handle(const Turn& t, const ElectedLeader& e);
  void handle(const Turn& t, const RevokedLeadership& e);
  void handle(const Turn& t, const RemoveApplication& e);
  void attach(const Turn& t, PeerId from, MasterWorker& w);
  void attach(const Turn& t, PeerId from, MasterApp& a);
  void drop_outgoing(const Turn& t, const PeerOwner& owner);
  PeerId latest_peer(const PeerOwner& owner) const;
  void forget_peers(const PeerOwner& owner);
  void send(const Turn& t, const MasterWorker& w, ToWorker m) const;
  void send(const Turn& t, const MasterApp& a, ToApp m) const;
  void log(const Turn& t, Level level, std::string line) const;
  void persist(const Turn& t, const PersistedRecord& r) const;

  // master_workers.cpp
  void handle(const Turn& t, PeerId from, const RegisterWorker& m);
  void handle(const Turn& t, PeerId from, const WorkerHeartbeat& m);
  void handle(const Turn& t, PeerId from, const WorkerLatestState& m);
  void handle(const Turn& t, PeerId from, const WorkerDecommissioning& m);
  MasterWorker* live_worker(const WorkerId& id);
  bool make_room_at(const Turn& t, PeerId from, const RegisterWorker& m);
  void remove_worker(const Turn& t, MasterWorker& w, const std::string& why);
  void release_executors(const Turn& t, MasterWorker& w, ExecutorState state,
                         const std::string& why);
  void check_workers(const Turn& t);

  // master_apps.cpp
  void handle(const Turn& t, PeerId from, const RegisterApplication& m);
  void handle(const Turn& t, PeerId from, const UnregisterApplication& m);
  void handle(const Turn& t, PeerId from, const RequestExecutors& m);
  void handle(const Turn& t, PeerId from, const KillExecutors& m);
  void handle(const Turn& t, PeerId from, const ExecutorStateChanged& m);
  MasterApp* find_app(const AppId& id);
  MasterApp* returning_app(const RegisterApplication& m);
  void end_predecessor(const Turn& t, const std::string& driver_address);
  AppId new_app_id(const Turn& t, const ApplicationDescription& d);
  void remove_app(const Turn& t, MasterApp& a, AppState state, const std::string& why = {});
  void kill_executor(const Turn& t, const MasterExecutor& e);
  void kill_executors(const Turn& t, MasterApp& a);
  /// `by`: the worker that says so; null: one that has not registered yet.
  void executor_changed(const Turn& t, const ExecutorStateChanged& m, const WorkerId* by);
  void executor_ended(const Turn& t, MasterApp& a, const ExecutorStateChanged& how);
  void slow_down(const Turn& t, MasterApp& a, const MasterExecutor& ended);

  // master_drivers.cpp
  void handle(const Turn& t, PeerId from, const RequestSubmitDriver& m);
  void handle(const Turn& t, PeerId from, const RequestKillDriver& m);
  void handle(const Turn& t, PeerId from, const RequestDriverStatus& m);
  void handle(const Turn& t, PeerId from, const DriverStateChanged& m);
  DriverId create_driver(const Turn& t, const DriverDescription& d);
  void remove_driver(const Turn& t, const DriverId& id, DriverState state,
                     const std::string& exception);
  void relaunch_driver(const Turn& t, const DriverId& id);
  void end_driver(const Turn& t, const DriverId& id, bool supervised, const std::string& why);
  std::string not_alive(std::string_view what) const;

  // master_schedule.cpp
  void schedule(const Turn& t);
  Offers offers();
  void launch_drivers(const Turn& t);
  void launch_driver(const Turn& t, MasterWorker& w, MasterDriver& d);
  void launch_executors(const Turn& t);
  void launch_executors(const Turn& t, MasterApp& a);
  std::string launch_executors(const Turn& t, MasterApp& a, int32_t profile);
  void launch_executor(const Turn& t, MasterApp& a, MasterWorker& w, int32_t profile,
                       int32_t cores);
  ExecutorNeed need_of(const MasterApp& a, const ProfileDemand& demand) const;
  std::string lack_of(const ExecutorNeed& need, const Offers& all) const;
  void tell_reason(const Turn& t, MasterApp& a, std::string reason);

  // master_recovery.cpp
  void handle(const Turn& t, PeerId from, const MasterChangeAcknowledged& m);
  void handle(const Turn& t, PeerId from, const WorkerSchedulerState& m);
  void begin_recovery(const Turn& t, const RecoveredState& s);
  void reach(const Turn& t, PeerOwner owner, const std::string& address);
  void app_is_back(const Turn& t, PeerId from, MasterApp& a, int32_t next_executor);
  void worker_is_back(const Turn& t, PeerId from, MasterWorker& w,
                      const std::vector<ExecutorDescription>& executors,
                      const std::vector<DriverId>& drivers,
                      const std::vector<DriverResources>& driver_resources);
  static void doubt_orders(MasterWorker& w);
  void end_unheard(const Turn& t, MasterWorker& w, const WorkerLatestState& m);
  void end_unknown(const Turn& t, MasterWorker& w,
                   const std::vector<ExecutorDescription>& executors,
                   const std::vector<DriverId>& drivers);
  void complete_recovery_if_possible(const Turn& t);
  void complete_recovery(const Turn& t);

  MasterOptions options_;
  std::mt19937_64 random_;
  RecoveryState state_ = RecoveryState::Standby;
  int64_t recovery_epoch_ = 0;

  std::map<WorkerId, MasterWorker> workers_;  // the dead too, until they are culled
  std::map<AppId, MasterApp> apps_;
  std::vector<AppId> app_order_;  // of registration: applications are served first come first
  std::deque<MasterApp> completed_apps_;
  std::map<DriverId, MasterDriver> drivers_;
  std::vector<DriverId> waiting_drivers_;
  std::deque<MasterDriver> completed_drivers_;
  int64_t next_app_ = 0;
  int64_t next_driver_ = 0;

  std::map<PeerId, PeerOwner> peers_;      // connections that workers and applications opened
  std::map<uint64_t, PeerOwner> tickets_;  // Connects that are not answered
  std::map<PeerId, PeerOwner> outgoing_;   // connections to say MasterChanged on
  uint64_t next_ticket_ = 1;
};

}  // namespace tinderbox::core
