// Exit codes of every role. Source: Spark SparkExitCode, ExecutorExitCode; spec of spark-submit.
#pragma once

namespace tinderbox::core {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitMisuse = 2;             // an unknown role
inline constexpr int kExitExecutorFailures = 11;  // too many executors failed
inline constexpr int kExitUncaughtException = 50;
inline constexpr int kExitOutOfMemory = 52;
inline constexpr int kExitDiskStoreFailure = 53;  // no usable local directory
inline constexpr int kExitHeartbeatFailure = 56;
inline constexpr int kExitClassNotFound = 101;
inline constexpr int kExitSignalBase = 128;
inline constexpr int kExitNoArguments = 255;
inline constexpr int kExitClusterError = 255;  // told by --status and a submit that waits

}  // namespace tinderbox::core
