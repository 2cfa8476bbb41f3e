// What the measures of `bench` share: options, a driver with a counting listener, the printed line.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cmd/process_conf.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/api/tinderbox.hpp"
#include "core/status/listener_bus.hpp"
#include "net/mutex.hpp"

namespace tinderbox::cmd {

inline constexpr const char* kCluster = "local-cluster[2,1,1024]";
inline constexpr const char* kThreads = "local[2]";

struct BenchOptions {
  std::string master, data, make_data;
  int64_t megabytes = 500;
  uint64_t seed = 1;
  std::vector<std::string> names;
  bool first_task = false;
  ProcessConfOptions conf;
};

/// Prints one line `BENCH name value unit`.
void report(const char* name, double value, const char* unit);
double seconds_between(Time a, Time b);
/// The middle one. Shape: not empty.
double median(std::vector<double> values);

/// Counts what a task must have told to be counted as run, and hears what executors say of
/// themselves.
class CountingListener final : public core::Listener {
 public:
  void on_events(std::span<const core::ListenerEvent> events) override;
  int64_t started() const { return started_; }
  int64_t ended() const { return ended_; }
  /// Resident memory of the largest executor, by beats that come from now on: waits until one has
  /// beaten twice. 0: none did within 10 s. Unit: bytes. Thread: not the bus's.
  int64_t idle_memory();

 private:
  std::atomic<int64_t> started_{0}, ended_{0};
  net::Mutex mutex_;
  net::Condition changed_;
  std::map<std::string, std::vector<int64_t>> beats_ GUARDED_BY(mutex_);  // by executor
};

/// A driver on `master` and what its listener counted.
struct BenchSession {
  BenchSession(const BenchOptions& options, const char* master);
  ~BenchSession();

  std::shared_ptr<CountingListener> counter = std::make_shared<CountingListener>();
  std::unique_ptr<core::DriverRuntime> runtime;
  std::unique_ptr<Context> context;
};

}  // namespace tinderbox::cmd
