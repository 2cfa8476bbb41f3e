// A running worker: the Worker machine with its sockets, child processes, directories and pages, on
// a loop that is given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/deploy/cluster_status.hpp"
#include "net/loop.hpp"

namespace tinderbox::core {

struct WorkerServiceOptions {
  conf::Conf conf;
  std::vector<std::string> masters;  // spark://host:port each
  std::string host;                  // as others reach it
  std::string bind_host;
  int port = 0;                    // 0: any
  std::optional<int> web_ui_port;  // none: no pages
  std::string public_host;         // in URLs for people
  int32_t cores = 0;
  int64_t memory_mib = 0;
  std::string work_dir;  // absolute
};

/// Thread: the loop's, or before it runs. The loop's thread must live as long as the children.
class WorkerService {
 public:
  using OnExit = std::function<void(int code, const std::string& reason)>;
  /// Listens and makes the work directory. Errors: conf::Error, one line.
  WorkerService(net::PollLoop& loop, WorkerServiceOptions options, OnExit on_exit);
  /// Kills what still runs.
  ~WorkerService();
  /// Begins to register.
  void start();
  /// Ends its children, tells the master, then calls on_exit.
  /// Takes no further executors; those that it has end when their work is done.
  void decommission();
  void stop();
  const std::string& web_ui_url() const;
  WorkerStatus status() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core
