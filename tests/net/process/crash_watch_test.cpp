// What a process still does when one of its threads crashes, in forked processes.
#include "net/process/crash_watch.hpp"

#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/net/process/forked.hpp"
#include "tests/pch.hpp"

using namespace std::chrono_literals;
using namespace tinderbox;
using test::forked;
using test::Letters;
using test::status_of;

namespace {

/// A loop that says 'c' when `crash` ends the process from another thread.
pid_t crashing(const Letters& said, const std::function<void()>& crash) {
  return forked([&] {
    for (const int n : {SIGSEGV, SIGABRT}) signal(n, SIG_DFL);  // the test's own handlers
    auto loop = net::make_poll_loop();
    auto watch = net::CrashWatch::make(
        *loop, [&] { said.write('c'); }, 500ms);
    if (!watch) return 1;
    std::thread thread([&] {
      net::SignalStack stack;
      crash();
    });
    loop->run();
    return 2;
  });
}

/// For ever: the result is used so that no compiler makes a loop of it.
int overflow(volatile int* depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(*depth);
  return *depth < 0 ? 0 : overflow(depth) + frame[0];
}

}  // namespace

TEST_CASE("a crash lets the loop speak once more, then ends the process as ever") {
  struct Case {
    const char* name;
    std::function<void()> crash;
    int status;
  };
  volatile int depth = 1;
  const Case cases[] = {
      {"abort", [] { std::abort(); }, 128 + SIGABRT},
      {"a thrown exception that nobody catches", [] { std::terminate(); }, 128 + SIGABRT},
      {"a signal", [] { raise(SIGSEGV); }, 128 + SIGSEGV},
      {"a stack that overflows", [&] { overflow(&depth); }, 128 + SIGSEGV},
      {"exit", [] { std::exit(7); }, 7},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Letters said;
    const pid_t pid = crashing(said, c.crash);
    CHECK(said.read() == 'c');
    CHECK(status_of(pid) == c.status);
  }
}

TEST_CASE("a handler that is there already stays; when the watch ends, nothing is left") {
  const pid_t pid = forked([] {
    signal(SIGSEGV, [](int) { _exit(9); });
    signal(SIGABRT, SIG_DFL);
    auto loop = net::make_poll_loop();
    {
      REQUIRE(net::CrashWatch::make(
          *loop, [] {}, 1ms));
    }
    struct sigaction now {};
    sigaction(SIGABRT, nullptr, &now);
    if (now.sa_handler != SIG_DFL) return 1;
    raise(SIGSEGV);
    return 2;
  });
  CHECK(status_of(pid) == 9);
}
