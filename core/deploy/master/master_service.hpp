// A running master: the Master machine with its sockets, recovery log and pages, on a loop that is
// given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "conf/conf.hpp"
#include "core/deploy/cluster_status.hpp"
#include "net/loop.hpp"

namespace tinderbox::core {

struct MasterServiceOptions {
  conf::Conf conf;
  std::string host;  // as others reach it
  std::string bind_host;
  int port = 0;                    // 0: any
  std::optional<int> web_ui_port;  // none: no pages
  std::string public_host;         // in URLs for people
};

/// Thread: the loop's, or before it runs.
class MasterService {
 public:
  using OnExit = std::function<void(int code, const std::string& reason)>;
  /// Listens and reads the recovery log. Errors: conf::Error, one line.
  MasterService(net::PollLoop& loop, MasterServiceOptions options, OnExit on_exit);
  ~MasterService();
  /// Leads from now on.
  void start();
  /// spark://host:port with the port it has got.
  const std::string& url() const;
  /// Empty without pages.
  const std::string& web_ui_url() const;
  ClusterStatus status() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core
