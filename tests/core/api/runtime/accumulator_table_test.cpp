// Updates of accumulators on their way to the application, and merges that throw.
#include "core/api/runtime/accumulator_table.hpp"

#include <stdexcept>

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("D46 a merge that throws costs its own updates only, and is told once",
          "[accumulators]") {
  std::vector<std::string> warnings;
  AccumulatorTable table([&](const std::string& line) { warnings.push_back(line); });
  std::string good;
  table.add({1}, "bad", [](std::string_view) { throw std::runtime_error("no"); }, {});
  table.add({2}, "", [&](std::string_view delta) { good += delta; }, {});
  table.add({3}, "", [](std::string_view) { throw 3; }, {});
  table.merge({{{1}, "a", false}, {{2}, "b", false}, {{9}, "c", false}});
  table.merge({{{3}, "d", false}, {{1}, "e", false}, {{2}, "f", false}});
  CHECK(good == "bf");
  CHECK(warnings ==
        std::vector<std::string>{"Failed to update accumulator 1 (bad), whose merge threw: no. "
                                 "Further failures of it are not told.",
                                 "Failed to update accumulator 3, whose merge threw: something "
                                 "unknown. Further failures of it are not told."});
}

TEST_CASE("accumulators with a name are shown as they are", "[accumulators]") {
  AccumulatorTable table({});
  std::string value = "1";
  const auto show = [&] { return value; };
  table.add(
      {1}, "lines", [&](std::string_view delta) { value = delta; }, show);
  table.add({2}, "", {}, show);
  CHECK(table.named({1}) == AccumulatorStatus{{1}, "lines", "1"});
  table.merge({{{1}, "17", false}});
  CHECK(table.named({1}) == AccumulatorStatus{{1}, "lines", "17"});
  CHECK_FALSE(table.named({2}));
  CHECK_FALSE(table.named({3}));
}

TEST_CASE("a forgotten accumulator is gone at the next one, also if a merge forgets it",
          "[accumulators]") {
  AccumulatorTable table({});
  int merged = 0;
  table.add(
      {1}, "first",
      [&](std::string_view) {
        ++merged;
        table.forget({1});
      },
      [] { return std::string("1"); });
  table.merge({{{1}, "a", false}});
  table.add({2}, "second", {}, {});
  table.merge({{{1}, "b", false}});
  CHECK(merged == 1);
  CHECK_FALSE(table.named({1}));
}
