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
