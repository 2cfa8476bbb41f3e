// A child that ends while it shares this process's memory.
#include "net/process/launch.hpp"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "tests/pch.hpp"

using namespace tinderbox;

TEST_CASE("a child that can't be started ends alone: threads to be joined are no leak of its") {
  std::atomic<pid_t> id{0};
  std::thread thread([&] { id = gettid(); });
  // What ends with the child would be seen by a sanitizer only once the thread has ended.
  while (id == 0 || std::filesystem::exists("/proc/self/task/" + std::to_string(id)))
    std::this_thread::yield();
  net::Launch missing;
  missing.file = "/no-such-program";
  missing.directory = "/";
  const auto pid = net::launch(missing);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().message == "cannot start '/no-such-program': exec: No such file or directory");
  thread.join();
}
