// Programs that are run for what they print.
#include "net/process/piped_child.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;

TEST_CASE("a program that is run to its end is killed when nobody wants what it prints any more") {
  const std::vector<std::string> endless = {"sh", "-c", "echo first; sleep 1000"};
  const std::atomic<bool> no{false}, yes{true};
  const Result<std::string> printed = net::run_and_read("echo", {"echo", "all"}, {}, &no);
  REQUIRE(printed);
  CHECK(*printed == "all\n");
  const Result<std::string> stopped = net::run_and_read("sh", endless, {}, &yes);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().message == "sh was stopped");
}
