// The Runtime of a real driver: the Driver machine on a loop of its own, its backend, its blocks,
// its listeners. An application's main runs beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/api/runtime/runtime.hpp"
#include "core/status/listener_bus.hpp"
#include "net/loop.hpp"

namespace tinderbox::core {

/// Source: Spark SparkContext start and stop order.
class DriverRuntime : public Runtime {
 public:
  /// Connects to the cluster manager that spark.master names and waits for the application's id.
  /// Errors: conf::Error, one line.
  static std::unique_ptr<DriverRuntime> start(conf::Conf conf,
                                              std::vector<std::shared_ptr<Listener>> listeners);
  /// Fails what still runs, ends the executors, drains the listeners, removes the blocks.
  /// Idempotent. False: a task computes on in this process, which the destructor would wait for.
  virtual bool stop() = 0;
  /// As stop(), from a signal: jobs that run fail with `cause`; the user's thread goes on with
  /// that. Thread: any.
  virtual void cancel_everything(const std::string& cause) = 0;
  /// The driver's loop, for what must run beside it. Only its post() is safe from other threads.
  virtual net::Loop& loop() = 0;
  /// `stop(n)` is called on the driver's loop at the first SIGTERM or SIGINT; a second one ends the
  /// process.
  virtual void on_stop_signal(std::function<void(int)> stop) = 0;
};

}  // namespace tinderbox::core
