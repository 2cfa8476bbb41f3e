// A web server of a test on a free port of loopback, whose answers are httplib handlers.
#pragma once

#include <string>
#include <thread>

#include "net/http/httplib.hpp"
#include "tests/pch.hpp"

namespace tinderbox::test {

struct WebSite {
  httplib::Server server;
  std::string root;  // http://host:port

  void start() {
    const int port = server.bind_to_any_port("127.0.0.1");
    REQUIRE(port > 0);
    root = "http://127.0.0.1:" + std::to_string(port);
    thread_ = std::thread([this] { server.listen_after_bind(); });
    while (!server.is_running()) std::this_thread::yield();
  }
  ~WebSite() {
    server.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace tinderbox::test
