// A running executor: the Executor machine, its blocks, its task threads, on one loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "conf/conf.hpp"
#include "core/executor/executor.hpp"
#include "core/executor/file_fetcher.hpp"
#include "core/executor/process_blocks.hpp"
#include "net/loop.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::core {

struct ExecutorServiceOptions {
  ExecutorOptions executor;
  conf::Conf startup;  // what the command line said; the driver's settings win
  std::string bind_host;
  /// Local mode: the driver's own blocks, which the tasks of this process share. Null: make some.
  ProcessBlocks* shared_blocks = nullptr;
  /// Of files that the driver ships to running executors. Empty: fetch_app_files; tests play it.
  FetchFiles fetch_files;
};

/// What the conf says of it; not `ok` yet.
ServicesBuilt services_built(const conf::Conf& conf);

/// Thread: the loop's, but for stop() and the destructor, which the owner calls after the loop
/// ended. The destructor waits for the tasks that run, however long they take.
class ExecutorService {
 public:
  using OnExit = std::function<void(int code, const std::string& reason)>;
  /// `endpoint` is only this executor's. `on_exit` is called once, on the loop's thread.
  ExecutorService(net::PollLoop& loop, net::Endpoint& endpoint, ExecutorServiceOptions options,
                  OnExit on_exit);
  ~ExecutorService();
  void start();
  /// SIGTERM: tells the driver, then exits with `code`. Thread: any.
  void request_stop(int code, std::string reason);
  /// Gives tasks a moment to notice that they are killed. False: one computes on, its blocks are
  /// removed all the same, and only the end of the process stops it (net::exit_now).
  bool stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core
