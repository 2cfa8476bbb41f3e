#include "core/status/progress_bar.hpp"

#include "conf/keys.hpp"
#include "net/terminal.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

/// Virtual time; tasks run when it is moved.
struct FakeLoop : net::Loop {
  Time time{1000s};
  std::multimap<Time, Task> timers;
  Time now() const override { return time; }
  void after(Duration d, Task t) override { timers.emplace(time + d, std::move(t)); }
  void post(Task t) override { after(Duration(0), std::move(t)); }
  void run() override {}
  void stop() override {}
  void advance(Duration d) {
    Time end = time + d;
    while (!timers.empty() && timers.begin()->first <= end) {
      time = timers.begin()->first;
      Task t = std::move(timers.begin()->second);
      timers.erase(timers.begin());
      t();
    }
    time = end;
  }
};

struct Screen {
  FakeLoop loop;
  std::vector<std::string> shown;
  int width = 40;
  std::shared_ptr<ProgressBar> bar = std::make_shared<ProgressBar>(
      [this] { return width; }, [this](std::string_view s) { shown.emplace_back(s); });
  Screen() { ProgressBar::run(bar, loop, 200ms); }

  void on(std::vector<ListenerEvent> events) { bar->on_events(events); }
  StageInfo stage(int id, int tasks, int attempt = 0) {
    StageInfo s;
    s.stage = {id};
    s.attempt = attempt;
    s.num_tasks = tasks;
    s.submitted = loop.now();
    return s;
  }
  void tasks(int id, int started, int succeeded, int failed = 0) {
    TaskInfo t;
    t.stage = {id};
    t.stage_attempt = 0;
    TaskEndReason bad;
    bad.kind = TaskEndKind::ExceptionFailure;
    for (int i = 0; i < started; ++i) on({TaskStarted{t}});
    for (int i = 0; i < succeeded; ++i) on({TaskEnded{t, {}, {}}});
    for (int i = 0; i < failed; ++i) on({TaskEnded{t, bad, {}}});
  }
};

}  // namespace

TEST_CASE("one stage in columns, as Spark draws it") {
  struct Case {
    int done, active, total, width;
    std::string want;
  };
  for (auto& c : std::vector<Case>{{12, 2, 20, 40, "[Stage 0:==========>      (12 + 2) / 20]"},
                                   {0, 2, 20, 40, "[Stage 0:>                 (0 + 2) / 20]"},
                                   {20, 0, 20, 40, "[Stage 0:=================(20 + 0) / 20]"},
                                   {12, 2, 20, 23, "[Stage 0:(12 + 2) / 20]"},
                                   {12, 2, 20, 5, "[Stage 0:(12 + 2) / 20]"},
                                   {0, 0, 0, 30, "[Stage 0:>        (0 + 0) / 0]"}}) {
    std::string bar = progress_of({0}, c.done, c.active, c.total, c.width);
    CHECK(bar == c.want);
    if (c.width > 25) CHECK(int(bar.size()) == c.width);
  }
}

TEST_CASE("U13 nothing is shown for a stage of less than 500 ms") {
  Screen s;
  s.on({StageSubmitted{s.stage(0, 4)}});
  s.tasks(0, 4, 1);
  s.loop.advance(400ms);
  s.on({StageCompleted{s.stage(0, 4)}, JobEnded{JobId{0}, s.loop.now(), true, ""}});
  s.loop.advance(10s);
  CHECK(s.shown.empty());
}

TEST_CASE(
    "the bar follows the tasks, is redrawn only on change or after a minute, and is cleared") {
  Screen s;
  s.on({StageSubmitted{s.stage(3, 4)}});
  s.tasks(3, 3, 1, 1);
  s.loop.advance(500ms);
  CHECK(s.shown.empty());
  s.loop.advance(200ms);
  REQUIRE(s.shown.size() == 1);
  CHECK(s.shown[0] == progress_of({3}, 1, 1, 4, 40));
  s.loop.advance(1s);
  CHECK(s.shown.size() == 1);
  s.loop.advance(60s);
  CHECK(s.shown.size() == 2);
  s.tasks(3, 0, 1);
  s.loop.advance(200ms);
  CHECK(s.shown.back() == progress_of({3}, 2, 0, 4, 40));
  s.on({JobEnded{JobId{0}, s.loop.now(), true, ""}});
  CHECK(s.shown.back().empty());
  size_t before = s.shown.size();
  s.on({JobEnded{JobId{1}, s.loop.now(), true, ""}});
  CHECK(s.shown.size() == before);
}

TEST_CASE("three stages share the width, a fourth waits") {
  Screen s;
  s.width = 100;
  for (int i = 0; i < 4; ++i) s.on({StageSubmitted{s.stage(i, 10)}});
  s.loop.advance(600ms);
  REQUIRE(s.shown.size() == 1);
  CHECK(s.shown[0] == progress_of({0}, 0, 0, 10, 33) + progress_of({1}, 0, 0, 10, 33) +
                          progress_of({2}, 0, 0, 10, 33));
  s.on({StageCompleted{s.stage(1, 10)}});
  s.loop.advance(200ms);
  CHECK(s.shown.back() == progress_of({0}, 0, 0, 10, 33) + progress_of({2}, 0, 0, 10, 33) +
                              progress_of({3}, 0, 0, 10, 33));
}

TEST_CASE("after a job's end the next bar waits 500 ms") {
  Screen s;
  s.on({StageSubmitted{s.stage(0, 2)}});
  s.loop.advance(600ms);
  CHECK(s.shown.size() == 1);
  s.on({JobEnded{JobId{0}, s.loop.now(), true, ""}});
  CHECK(s.shown.size() == 2);
  s.loop.advance(400ms);
  CHECK(s.shown.size() == 2);
  s.loop.advance(200ms);
  CHECK(s.shown.size() == 3);
}

TEST_CASE("ticks end with the bar") {
  Screen s;
  s.loop.advance(1s);
  s.bar.reset();
  s.loop.advance(200ms);
  CHECK(s.loop.timers.empty());
}

TEST_CASE("U13 without a terminal a bar is made only when it is asked for") {
  using conf::Conf;
  bool terminal = net::stderr_is_terminal();
  CHECK((make_progress_bar(Conf{}) != nullptr) == terminal);
  CHECK(make_progress_bar(Conf{}.with(conf::kUiShowConsoleProgress, "false")) == nullptr);
  CHECK(make_progress_bar(Conf{}.with(conf::kUiShowConsoleProgress, "true")) != nullptr);
}
