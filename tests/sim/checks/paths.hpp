// Which ways a run took.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tinderbox::sim {

/// Ways through the scheduler that only faults open (and a few that show that tests have
/// substance).
enum class Path : uint8_t {
  JobSucceeded,
  JobCancelled,
  TaskAbort,
  StageAbort,
  StageSkipped,
  TaskRetried,
  TaskKilled,
  FetchFailed,
  MissingOutput,
  StageResubmitted,
  MapResubmitted,
  ZombieSuccess,
  BogusCompletion,
  HeartbeatExpiry,
  Disassociated,
  LossBlamed,
  LossUnblamed,
  HostLost,
  ExecutorSawLoss,
  Refetched,
  LaunchedAhead,
  Revoked,
  RevokedTooLate,
  IndirectResult,
  IndirectResultLost,
  CommitAllowed,
  CommitDenied,
  CacheHitLocal,
  CacheHitRemote,
  CacheRecomputed,
  Reregistered,
  OutputNotStored,
  ServicesFailed,
  MasterRecovered,
  WorkerRemoved,
  CopyWon,
  CopyLost,
  ExcludedForStage,
  Excluded,
  HostExcluded,
  Readmitted,
  RunsNowhere,
  Drained,
  DrainCutShort,
  ForceKilled,
  ForgivenFetchFailure,
  ExecutorsAdded,
  ExecutorsGivenBack,
  KilledByDriver,
  ApplicationRestarted,
  StaleExecutorEnded,
  BelowMinShare,
  ClocksSkewed,
  AddressGiven,
  AddressShared,
  AddressesLost,
  ProfileRan,
  OwnExecutors,
  TasksMet,
  BarrierFailed,
  MadeAgain,
  RolledBack,
  NotRolledBack,
  OutputMoved,
  MovedOutputRead,
  CachedMoved,
  MoveTriedAgain,
  MoveGivenUp,
};
inline constexpr size_t kPaths = 68;
const char* name_of(Path path);

}  // namespace tinderbox::sim
