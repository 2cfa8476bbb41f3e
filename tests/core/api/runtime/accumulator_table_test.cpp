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

TEST_CASE("a forgotten accumulator: its name and last value stay, of not too many",
          "[accumulators]") {
  AccumulatorTable table({});
  int merged = 0;
  table.add(
      {1}, "first",
      [&](std::string_view) {
        ++merged;
        table.forget({1}, "7");
      },
      [] { return std::string(); });
  table.add({2}, "", {}, {});
  table.merge({{{1}, "a", false}});
  CHECK(table.named({1}) == AccumulatorStatus{{1}, "first", "7"});
  table.merge({{{1}, "b", false}});
  CHECK(merged == 1);
  table.forget({2}, "");
  for (int32_t i = 3; i < 3 + static_cast<int32_t>(AccumulatorTable::kShown); ++i) {
    CHECK(table.named({1}));
    table.add({i}, "more", {}, {});
    table.forget({i}, std::to_string(i));
  }
  CHECK_FALSE(table.named({1}));
  CHECK(table.named({3}) == AccumulatorStatus{{3}, "more", "3"});
}
