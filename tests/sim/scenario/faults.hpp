// What goes wrong in a run, and what users order.
#pragma once

#include "tests/sim/world/world.hpp"

namespace tinderbox::sim {

/// Where a run's executors come from.
enum class ManagerKind : uint8_t { Seeded, Standalone, Kubernetes };

struct Fault {
  enum class Kind : uint8_t {
    Crash,        // an executor's process ends with a code
    SilentCrash,  // its machine does: nobody says goodbye
    HostLoss,     // all executors of a host, and the worker
    Cut,          // driver and executor
    CutBlocks,    // two executors
    PartitionDriver,
    PartitionExecutors,
    SlowPeer,
    Repeat,  // for a while, some messages come twice
    Pause,   // an executor stands still
    PauseDriver,
    LoseFiles,    // some map outputs of an executor are gone
    LoseBlocks,   // its cached blocks are gone
    LoseResults,  // for a while, results that lie in its block store are
    DiskFull,
    TasksThrow,  // for a while, some of an executor's tasks do
    KillTask,    // by the user
    BuildFails,  // an executor ends, and the next one can't open its disk
    DecommissionExecutor,
    DecommissionHost,  // it goes when the time is over
    CrashDriver,       // the application is run again
    CancelJob,
    CancelJobById,
    CancelGroup,
    CancelGroupForever,  // jobs of it that come later are refused
    CancelTag,
    CancelStage,
    CancelAll,
    Unpersist,
    ForgetShuffle,  // which no job needs that is still to end, while some run
    // of a standalone cluster
    CrashMaster,  // it comes back with its recovery log
    TearLog,      // it crashes while it writes it
    CrashWorker,  // its executors go on
    CutMaster,    // and the driver, or a worker
    PartitionMaster,
    // of pods and the API server
    ApiAway,           // no request is answered, no watch lasts
    ApiDisturbed,      // for a while requests fail, or their answers get lost
    HistoryForgotten,  // a watch cannot go on where it was
    WatchCut,
    WatchSilent,  // it says nothing of what happens
    QuotaFull,
    NodesFull,
    ImageMissing,
    PodDeleted,  // by somebody else
    PodEvicted,  // by its kubelet
    // of the network at all times: none begins them
    Delay,       // a message took longer than messages do
    Reordering,  // two of different peers overtook each other
    Loss,        // a message was on its way when its connection broke
  };
  Kind kind = Kind::Crash;
  Duration at{}, length{};
  int32_t target = 0, other = 0;  // places in a list, taken modulo its length then
};
inline constexpr size_t kFaultKinds = 48;
inline constexpr Fault::Kind kFirstOfManager = Fault::Kind::CrashMaster;
inline constexpr Fault::Kind kFirstOfPods = Fault::Kind::ApiAway;
inline constexpr Fault::Kind kFirstOfNetwork = Fault::Kind::Delay;
const char* name_of(Fault::Kind kind);
/// Within `window`. Failures of the cluster are likelier than orders of a user.
Fault random_fault(Random& r, Duration window, ManagerKind manager);
Fault::Kind random_kind(Random& r, ManagerKind manager);
/// One that only that manager knows; not of the seeded one.
Fault::Kind random_kind_of(Random& r, ManagerKind manager);

}  // namespace tinderbox::sim
