// The Runtime of a real driver: the Driver machine on a loop of its own, its backend, its blocks,
// its listeners. An application's main runs beside it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/api/runtime/runtime.hpp"
#include "core/status/listener_bus.hpp"
#include "net/loop.hpp"

namespace tinderbox::core {

/// The driver has nowhere to put blocks.
struct NoLocalDirectory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The process is to end before the application began.
struct StoppedBySignal {
  int number;
};

/// Source: Spark SparkContext start and stop order.
class DriverRuntime : public Runtime {
 public:
  /// Connects to the cluster manager that spark.master names and waits for the application's id.
  /// `signals`: the first SIGTERM, SIGINT or SIGHUP cancels what runs, then and as long as this
  /// lives. Errors: conf::Error, one line; NoLocalDirectory; StoppedBySignal.
  static std::unique_ptr<DriverRuntime> start(conf::Conf conf,
                                              std::vector<std::shared_ptr<Listener>> listeners,
                                              bool signals = false);
  /// Fails what still runs, ends the executors, drains the listeners, removes the blocks.
  /// Idempotent. False: a task computes on in this process, which the destructor would wait for.
  virtual bool stop() = 0;
  /// The driver's loop, for what must run beside it. Only its post() is safe from other threads.
  virtual net::Loop& loop() = 0;
  /// After stop(): what the process is to end with as the cluster manager gave up; 0: it did not.
  virtual int exit_code() const = 0;
  /// The signal that came; 0: none.
  virtual int stop_signal() const = 0;
};

}  // namespace tinderbox::core
