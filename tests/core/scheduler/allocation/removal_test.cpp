// Which executors dynamic allocation lets go: events and times → removals.
#include "core/status/exit_reasons.hpp"
#include "tests/core/scheduler/allocation/allocation_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("A12 never below the minimum, by profile", "[allocation]") {
  Manager m(5, 10, 5);
  for (int i = 1; i <= 10; ++i) m.join("a" + std::to_string(i));
  CHECK(m.after(3s) == Names{"a1", "a10", "a2", "a3", "a4"});
  CHECK(m.after(3s).empty());
  CHECK(m.pending() == 5);
  m.leave("a1");
  m.leave("a1");
  m.leave("none");
  m.leave("a2");
  CHECK(m.pending() == 3);
  CHECK(m.after(3s).empty());
  m.stage(9, 1, 0, 4);
  for (int i = 1; i <= 7; ++i) m.join("b" + std::to_string(i), 4);
  CHECK(m.after(3s) == Names{"b1", "b2"});
}

TEST_CASE("A13 never below the target", "[allocation]") {
  Manager m(5, 12, 5);
  m.stage(0, 8);
  for (int i = 0; i < 3; ++i) m.add();
  m.join(1, 8);
  CHECK(m.target() == 8);
  CHECK(m.after(3s).empty());
  for (int32_t i = 0; i < 3; ++i) m.start({0, i, "8"});
  for (int32_t i = 0; i < 3; ++i) m.end({0, i, "8"});
  CHECK(m.after(0s) == Names{"1", "2", "3"});
  CHECK(m.after(0s).empty());
}

TEST_CASE("A14 with 12 live and a target of 8, four may go", "[allocation]") {
  Manager m(5, 12, 5);
  m.stage(0, 8);
  for (int i = 0; i < 3; ++i) m.add();
  for (char c = 'a'; c < 'a' + 12; ++c) m.join(std::string(1, c));
  CHECK(m.after(3s) == Names{"a", "b", "c", "d"});
  CHECK(m.after(1s).empty());
  m.leave("a");
  m.join("z");
  CHECK(m.after(0s) == Names{"e"});
}

TEST_CASE("A15 why executors went is counted", "[allocation]") {
  SECTION("killed") {
    Manager m(0, 10, 0);
    m.join(1, 3);
    CHECK(m.after(3s).size() == 3);
    m.leave("1");
    m.join("4");
    m.leave("4", "Command exited with code 1");
    CHECK(m.a.monitor().removals() == RemovalCounts{0, 0, 1, 1});
  }
  SECTION("decommissioned") {
    AllocationOptions o = with(0, 10, 0);
    o.decommission = true;
    Manager m(o);
    m.join(1, 3);
    CHECK(m.after(3s).size() == 3);
    CHECK(m.a.monitor().decommissioning() == 3);
    m.leave("1", kDecommissionFinished);
    m.leave("2", "Executor decommission: spark scale down");
    CHECK(m.a.monitor().removals() == RemovalCounts{1, 1, 0, 0});
  }
}

TEST_CASE("A18 removal by the clock, by kill or by decommission", "[allocation]") {
  AllocationOptions o = with(1, 20, 1);
  o.decommission = GENERATE(false, true);
  Manager m(o);
  const auto leaving = [&] {
    return o.decommission ? m.a.monitor().decommissioning() : m.a.monitor().pending_removal();
  };
  m.join(1, 3);
  m.after(1500ms);
  CHECK(leaving() == 0);
  m.after(3s);
  CHECK(leaving() == 2);
  m.join(4, 7);
  for (const char* e : {"4", "5", "6"}) m.start({0, 0, e});
  m.after(1s);
  CHECK(leaving() == 3);
  m.after(3s);
  CHECK(leaving() == 4);
  for (const char* e : {"4", "5", "6"}) m.end({0, 0, e});
  m.after(1s);
  CHECK(leaving() == 4);
  m.after(2s);
  CHECK(leaving() == 6);
  CHECK((o.decommission ? m.pending() : m.a.monitor().decommissioning()) == 0);
}

TEST_CASE("A27 the target falls with the next step, then the idle one goes", "[allocation]") {
  Manager m(1, 2, 1);
  m.stage(0, 2);
  m.add();
  CHECK(m.target() == 2);
  m.join(1, 2);
  m.start({0, 0, "1"});
  m.start({0, 1, "2"});
  m.end({0, 0, "1"});
  CHECK(m.a.max_needed(0) == 1);
  CHECK(m.target() == 2);
  CHECK(m.after(100ms).empty());
  CHECK(m.target() == 1);
  CHECK(m.after(3s) == Names{"1"});
  CHECK(m.target() == 1);
}
