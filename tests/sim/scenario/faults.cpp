#include "tests/sim/scenario/faults.hpp"

namespace tinderbox::sim {
namespace {

constexpr const char* kFaultNames[kFaultKinds] = {"crash",
                                                  "silent crash",
                                                  "host loss",
                                                  "cut connection",
                                                  "cut blocks",
                                                  "partition driver",
                                                  "partition executors",
                                                  "slow peer",
                                                  "repeated messages",
                                                  "pause",
                                                  "pause driver",
                                                  "lost files",
                                                  "lost blocks",
                                                  "lost results",
                                                  "disk full",
                                                  "tasks throw",
                                                  "kill task",
                                                  "services fail",
                                                  "decommission executor",
                                                  "decommission host",
                                                  "crash driver",
                                                  "cancel job",
                                                  "cancel job by its number",
                                                  "cancel group",
                                                  "cancel group for ever",
                                                  "cancel tag",
                                                  "cancel stage",
                                                  "cancel all",
                                                  "unpersist",
                                                  "shuffle forgotten",
                                                  "crash master",
                                                  "torn recovery log",
                                                  "crash worker",
                                                  "cut master",
                                                  "partition master",
                                                  "API server away",
                                                  "API server disturbed",
                                                  "history of pods forgotten",
                                                  "watch cut",
                                                  "watch silent",
                                                  "quota full",
                                                  "nodes full",
                                                  "image missing",
                                                  "pod deleted",
                                                  "pod evicted",
                                                  "delay",
                                                  "reordering",
                                                  "loss"};

}  // namespace

const char* name_of(Fault::Kind kind) { return kFaultNames[static_cast<size_t>(kind)]; }

Fault::Kind random_kind_of(Random& r, ManagerKind manager) {
  const bool pods = manager == ManagerKind::Kubernetes;
  const Fault::Kind first = pods ? kFirstOfPods : kFirstOfManager,
                    end = pods ? kFirstOfNetwork : kFirstOfPods;
  return static_cast<Fault::Kind>(
      r.between(static_cast<int64_t>(first), static_cast<int64_t>(end) - 1));
}

namespace {
Fault::Kind any_kind(Random& r, ManagerKind manager) {
  constexpr auto kOrders = static_cast<int64_t>(Fault::Kind::CrashDriver) + 1;
  constexpr auto kManager = static_cast<int64_t>(kFirstOfManager);
  // These come more often than others, as they seldom meet anything.
  constexpr Fault::Kind kSeldom[] = {Fault::Kind::PartitionExecutors,
                                     Fault::Kind::PartitionExecutors, Fault::Kind::Unpersist,
                                     Fault::Kind::ForgetShuffle};
  if (r.chance(80)) return kSeldom[r.between(0, 3)];
  if (manager != ManagerKind::Seeded && r.chance(300)) return random_kind_of(r, manager);
  return static_cast<Fault::Kind>(r.chance(850) ? r.between(0, kOrders - 1)
                                                : r.between(kOrders, kManager - 1));
}
}  // namespace

/// A driver's pod is not begun again.
Fault::Kind random_kind(Random& r, ManagerKind manager) {
  const Fault::Kind kind = any_kind(r, manager);
  const bool for_ever = kind == Fault::Kind::CrashDriver && manager == ManagerKind::Kubernetes;
  return for_ever ? Fault::Kind::PodDeleted : kind;
}

Fault random_fault(Random& r, Duration window, ManagerKind manager) {
  Fault f;
  f.kind = random_kind(r, manager);
  f.at = r.between(Duration{0}, window);
  f.length = r.chance(700) ? r.between(Duration{10ms}, Duration{3s})
                           : r.between(Duration{3s}, Duration{45s});
  // Hosts have something to say to each other now and then, and blocks are there for a while.
  if (f.kind == Fault::Kind::PartitionDriver || f.kind == Fault::Kind::PartitionExecutors ||
      f.kind == Fault::Kind::PartitionMaster || f.kind == Fault::Kind::CutBlocks ||
      f.kind == Fault::Kind::LoseBlocks || f.kind == Fault::Kind::Unpersist ||
      f.kind == Fault::Kind::ForgetShuffle)
    f.length += 2s;
  if (f.kind == Fault::Kind::PartitionExecutors) f.length += 10s;
  f.target = static_cast<int32_t>(r.between(0, 11));
  f.other = static_cast<int32_t>(r.between(0, 11));
  return f;
}

}  // namespace tinderbox::sim
