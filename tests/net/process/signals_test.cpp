// Signals and the duties of PID 1, in forked processes.
#include "net/process/signals.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>

#include "tests/net/process/forked.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using test::forked;
using test::Letters;
using test::status_of;
using test::wait_readable;

TEST_CASE("the first SIGTERM asks the loop, the second ends the process at once") {
  Letters ready;
  auto body = [&](bool stuck) {
    return forked([&, stuck] {
      net::configure_signals();
      auto loop = net::make_poll_loop();
      net::StopSignals signals(*loop, [&](int n) {
        if (!ready.write('s')) _exit(1);
        while (stuck) pause();
        loop->after(Duration(0), [&] { loop->stop(); });
        if (n != SIGTERM) _exit(2);
      });
      if (!ready.write('r')) _exit(1);
      loop->run();
      return 11;
    });
  };
  pid_t drains = body(false);
  ready.read();
  kill(drains, SIGTERM);
  CHECK(status_of(drains) == 11);
  CHECK(ready.read() == 's');

  pid_t hangs = body(true);
  ready.read();
  kill(hangs, SIGTERM);
  ready.read();
  kill(hangs, SIGINT);
  CHECK(status_of(hangs) == 128 + SIGINT);
}

TEST_CASE(
    "a closed terminal asks the loop, however often it says so; under nohup nobody hears it") {
  Letters ready;
  auto body = [&](bool nohup) {
    return forked([&, nohup] {
      signal(SIGHUP, nohup ? SIG_IGN : SIG_DFL);  // the test itself may run under nohup
      net::configure_signals();
      auto loop = net::make_poll_loop();
      net::StopSignals signals(*loop, [&](int n) {
        raise(SIGHUP);
        if (!nohup && n != SIGHUP) _exit(2);
        loop->stop();
      });
      if (!ready.write('r')) _exit(1);
      loop->run();
      return 11;
    });
  };
  pid_t closed = body(false);
  ready.read();
  kill(closed, SIGHUP);
  CHECK(status_of(closed) == 11);

  pid_t stays = body(true);
  ready.read();
  kill(stays, SIGHUP);
  kill(stays, SIGTERM);
  CHECK(status_of(stays) == 11);
}

TEST_CASE("without a role that drains, a signal ends the process at once; a broken pipe does not") {
  Letters ready;
  pid_t pid = forked([&] {
    net::configure_signals();
    int broken[2];
    if (pipe(broken) != 0) return 1;
    close(broken[0]);
    if (write(broken[1], "x", 1) != -1) return 2;
    if (!ready.write('r')) return 3;
    for (;;) pause();
  });
  ready.read();
  kill(pid, SIGTERM);
  CHECK(status_of(pid) == 143);
}

TEST_CASE("a signal is noted before the loop runs and where none is; the second ends the process") {
  CHECK(status_of(forked([] {
          net::configure_signals();
          auto loop = net::make_poll_loop();
          {
            net::StopSignals signals(*loop, [](int) {});
            if (net::stop_asked()) return 1;
            raise(SIGTERM);
            if (!net::stop_asked() || net::stop_signal() != SIGTERM) return 2;
          }
          const net::NotedSignals noted;
          if (net::stop_asked() || net::stop_signal() != 0) return 3;
          raise(SIGINT);
          if (!net::stop_asked() || net::stop_signal() != SIGINT) return 4;
          raise(SIGTERM);
          return 5;
        })) == 128 + SIGTERM);
}

TEST_CASE("an init forwards signals, reaps orphans and ends as its program does") {
  int out[2];
  REQUIRE(pipe(out) == 0);
  pid_t init = forked([&] {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // as PID 1 is
    net::run_under_init();
    // From here on: the program. An orphan reports its new parent and ends.
    static volatile sig_atomic_t terminated = 0;
    signal(SIGTERM, [](int) { terminated = 1; });
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, &before);
    pid_t middle = fork();
    if (middle == 0) {
      pid_t parent = getpid();
      if (fork() == 0) {
        while (getppid() == parent) sched_yield();
        std::string line = std::to_string(getpid()) + " " + std::to_string(getppid()) + "\n";
        _exit(write(out[1], line.data(), line.size()) > 0 ? 0 : 1);
      }
      _exit(0);
    }
    waitpid(middle, nullptr, 0);
    while (!terminated) sigsuspend(&before);
    return 42;
  });
  close(out[1]);
  FILE* lines = fdopen(out[0], "r");
  int orphan = 0, parent = 0;
  REQUIRE(fscanf(lines, "%d %d", &orphan, &parent) == 2);
  CHECK(parent == init);
  int fd = int(syscall(SYS_pidfd_open, orphan, 0));
  // Reaped: its number is free again. A zombie would still answer kill(0).
  if (fd >= 0) {
    CHECK(wait_readable(fd, 20000));
    close(fd);
  }
  bool gone = false;
  for (int i = 0; i < 1000000 && !gone; ++i) gone = kill(orphan, 0) != 0 || (sched_yield(), false);
  CHECK(gone);
  kill(init, SIGTERM);
  CHECK(status_of(init) == 42);
  fclose(lines);
}

TEST_CASE("a watched signal reaches the loop each time, and nothing once nobody watches") {
  auto loop = net::make_poll_loop();
  int seen = 0;
  {
    auto watch = net::SignalWatch::make(*loop, "USR2", [&] {
      if (++seen == 2) return loop->stop();
      raise(SIGUSR2);
    });
    REQUIRE(watch);
    loop->after(std::chrono::seconds(60), [&] { loop->stop(); });
    raise(SIGUSR2);
    loop->run();
  }
  raise(SIGUSR2);
  CHECK(seen == 2);
  auto refused = net::SignalWatch::make(*loop, "KILL", [] {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("'KILL'") != std::string::npos);
}
