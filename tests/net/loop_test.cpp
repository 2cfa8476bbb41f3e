// The poll loop over real time: orders, not durations.
#include "net/loop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::net;
using namespace std::chrono_literals;

namespace {

/// A loop with a descriptor that is readable, and what happened.
struct Seen {
  explicit Seen(PollLoopOptions options = {}) : loop(make_poll_loop(options)) {
    loop->watch(fd, [this] {
      loop->unwatch(fd);
      order.push_back("descriptor");
    });
  }
  ~Seen() { ::close(fd); }
  Loop::Task note(const std::string& what) {
    return [this, what] { order.push_back(what); };
  }
  Loop::Task note_and_stop(const std::string& what) {
    return [this, what] {
      order.push_back(what);
      loop->stop();
    };
  }
  std::unique_ptr<PollLoop> loop;
  int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  std::vector<std::string> order;
};

using Order = std::vector<std::string>;

}  // namespace

TEST_CASE("a loop runs what was posted in its order, and timers by their time", "[loop]") {
  Seen s;
  s.loop->unwatch(s.fd);
  s.loop->after(2ms, s.note_and_stop("third"));
  s.loop->after(1ms, s.note("first"));
  s.loop->after(1ms, s.note("second"));
  s.loop->post(s.note("posted"));
  s.loop->post(s.note("posted later"));
  s.loop->run();
  CHECK(s.order == Order{"posted", "posted later", "first", "second", "third"});
}

TEST_CASE("a loop that another thread posts to or stops wakes up", "[loop]") {
  Seen s;
  s.loop->after(24h, s.note("never"));
  std::thread other([&] {
    s.loop->post(s.note("posted"));
    s.loop->post([&] { s.loop->post(s.note_and_stop("stopped")); });
  });
  s.loop->run();
  other.join();
  CHECK(s.order.back() == "stopped");
}

TEST_CASE("a timer that is just due goes before descriptors", "[loop]") {
  Seen s;
  s.loop->after(0ms, s.note("timer"));
  s.loop->after(1ms, s.note_and_stop("end"));
  s.loop->run();
  CHECK(s.order == Order{"timer", "descriptor", "end"});
}

TEST_CASE("what came while the process was stopped goes before its timers", "[loop]") {
  Seen s({.stopped = 0ms, .catch_up = 20ms});
  s.loop->after(0ms, s.note_and_stop("timer"));
  s.loop->run();
  CHECK(s.order == Order{"descriptor", "timer"});
}

TEST_CASE("a stop is noticed though the first timer fell due near its end", "[loop]") {
  Seen s({.stopped = 1ms, .catch_up = 20ms});
  int late = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  s.loop->unwatch(s.fd);
  s.loop->watch(late, [&] {
    s.loop->unwatch(late);
    s.order.push_back("came meanwhile");
  });
  s.loop->watch(s.fd, [&] {
    s.loop->unwatch(s.fd);
    const Time due = s.loop->now() + 10ms;
    s.loop->after(10ms, s.note_and_stop("timer"));
    const uint64_t one = 1;
    CHECK(::write(late, &one, sizeof one) == sizeof one);
    while (s.loop->now() < due) {
    }
  });
  s.loop->after(24h, s.note("never"));
  s.loop->run();
  CHECK(s.order == Order{"came meanwhile", "timer"});
  ::close(late);
}
