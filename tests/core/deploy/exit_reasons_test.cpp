// The end of a process in words.
#include <catch2/catch.hpp>

#include "core/status/exit_reasons.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("the end of a process in words", "[worker]") {
  struct Case {
    ProcessExited end;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{0, 0}, "Command exited with code 0"},
      {{0, 1}, "Command exited with code 1"},
      {{0, 137}, "Command exited with code 137"},
      {{0, 137, true}, "Command exited with code 137 (died from signal 9, SIGKILL)"},
      {{0, 139, true}, "Command exited with code 139 (died from signal 11, SIGSEGV)"},
      {{0, 163, true}, "Command exited with code 163 (died from signal 35)"},
      {{0, 56}, "Command exited with code 56 (Unable to send heartbeats to driver.)"},
      {{0, 53},
       "Command exited with code 53 (Failed to create local directory (bad spark.local.dir?))"},
  };
  for (const Case& c : cases) CHECK(explain(c.end) == c.want);
  CHECK(explain({0, 137, true, true}).find("SIGKILL): out of memory, the kernel ended it") !=
        std::string::npos);
}
