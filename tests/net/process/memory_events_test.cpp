// What the kernel says of processes that it ended for memory.
#include "net/process/memory_events.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;

TEST_CASE("kills for memory are counted as the control group says") {
  struct Case {
    const char* text;
    std::optional<int64_t> want;
  };
  for (const Case& c : {Case{"low 0\nhigh 1\nmax 7\noom 3\noom_kill 2\noom_group_kill 9\n", 2},
                        {"oom_kill_disable 0\nunder_oom 0\noom_kill 4", 4},
                        {"oom_kill 0\n", 0},
                        {"oom_kill x\n", {}},
                        {"", {}}}) {
    CAPTURE(c.text);
    CHECK(net::oom_kills_in(c.text) == c.want);
  }
}

TEST_CASE("a kill for memory counts for one child that lived then and ended by SIGKILL") {
  net::MemoryKills kills;
  kills.started(1, 0);
  kills.started(2, 0);
  CHECK(kills.ended(1, true, 1));
  CHECK_FALSE(kills.ended(2, true, 1));  // that was the other one

  kills.started(3, 5);  // there were kills before its life
  kills.started(4, 5);
  kills.started(5, 5);
  CHECK(kills.ended(3, true, 7));  // two at once
  CHECK(kills.ended(4, true, 7));
  CHECK_FALSE(kills.ended(5, true, 7));

  kills.started(6, 7);
  kills.started(7, 7);
  CHECK_FALSE(kills.ended(6, false, 8));  // before the one that was meant is gone
  CHECK(kills.ended(7, true, 8));

  kills.started(8, {});
  CHECK_FALSE(kills.ended(8, true, 9));
  kills.started(9, 8);
  CHECK_FALSE(kills.ended(9, true, {}));
}
