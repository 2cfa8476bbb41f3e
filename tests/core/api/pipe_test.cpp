// Records through other programs: real ones.
#include "tests/core/api/values.hpp"

#include <filesystem>
#include <fstream>

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using tests::upto;

namespace {

using Lines = std::vector<std::string>;

/// One of them does not become bytes.
struct Stubborn {
  int x = 0;
  template <class Self>
  static auto record_fields(Self& self) {
    if (self.x == 2) throw std::runtime_error("not 2");
    return std::tie(self.x);
  }
};

}  // namespace

TEST_CASE("pipe: a process a partition, a line a record", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto numbers = context.parallelize(upto(4), 2);
  CHECK(numbers.pipe("cat").collect() == Lines{"1", "2", "3", "4"});
  CHECK(numbers.pipe("wc -l").collect() == Lines{"2", "2"});
  CHECK(numbers.pipe({"sh", "-c", "read a; echo \"[$a]\"; cat >/dev/null; printf end"}).collect() ==
        Lines{"[1]", "end", "[3]", "end"});
  CHECK(context.empty_rdd<int>().pipe("cat").collect().empty());
  CHECK(context.parallelize(std::vector<std::string>{}, 2).pipe("cat").count() == 0);
  CHECK(context.parallelize(std::vector<std::pair<int, std::string>>{{1, "a"}}, 1)
            .pipe("cat")
            .collect() == Lines{"(1,a)"});
  CHECK_THROWS_AS(numbers.pipe("  "), std::invalid_argument);
}

TEST_CASE("pipe: environment, lines before the records", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  PipeOptions options;
  options.environment["GREETING"] = "hello";
  options.header = {"0", "00"};
  CHECK(context.parallelize(upto(1), 1)
            .pipe({"sh", "-c", "echo $GREETING; cat"}, options)
            .collect() == Lines{"hello", "0", "00", "1"});
}

TEST_CASE("pipe: more than pipes hold in both directions, and a program that reads nothing",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto many = context.range(0, 300000, 1, 2);
  CHECK(many.pipe("cat").count() == 300000);
  CHECK(many.pipe("true").count() == 0);
  CHECK(many.pipe("head -n 2").collect() == Lines{"0", "1", "150000", "150001"});
}

TEST_CASE("pipe: one long line", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto lines =
      context.parallelize(upto(1), 1)
          .pipe({"sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo y"})
          .map([](std::string_view line) { return line.size(); });
  CHECK(lines.collect() == std::vector<size_t>{50'000'000, 1});
}

TEST_CASE("pipe: what is kept above it is kept whole or not at all", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto kept = context.parallelize(upto(3), 1)
                  .map_partitions<Stubborn>([](auto& in, auto& emit) {
                    for (int x : in) try {
                        emit(Stubborn{x});
                      } catch (const std::exception&) {
                        return;
                      }
                  })
                  .persist(MEMORY_ONLY);
  const auto piped = kept.map([](const Stubborn& s) { return s.x; }).pipe("cat");
  CHECK_THROWS_WITH(piped.count(), Contains("not 2"));
  CHECK_FALSE(runtime.services.blocks.contains("rdd_" + std::to_string(kept.id().value) + "_0"));
}

TEST_CASE("pipe: whoever wants no more ends the program", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.range(0, 1000000000, 1, 1).pipe("cat").take(2) == Lines{"0", "1"});
  CHECK(context.parallelize(upto(1), 1).pipe("yes").take(3) == Lines{"y", "y", "y"});
}

TEST_CASE("pipe: what fails is told", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto numbers = context.parallelize(upto(2), 1);
  CHECK_THROWS_WITH(numbers.pipe({"sh", "-c", "exit 7"}).count(),
                    Contains("Subprocess exited with status 7. Command ran: sh -c exit 7"));
  CHECK_THROWS_WITH(numbers.pipe("no-such-program x").count(),
                    Contains("cannot start 'no-such-program'"));
  CHECK_THROWS_WITH(numbers
                        .map([](int x) {
                          if (x == 2) throw std::runtime_error("two");
                          return x;
                        })
                        .pipe("cat")
                        .count(),
                    Contains("two"));
}

TEST_CASE("pipe: a working directory of its own has links to all that is here", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  const fs::path here = fs::path(runtime.services.directory) / "work";
  fs::create_directories(here);
  fs::current_path(here);
  std::ofstream("shipped") << "text\n";
  PipeOptions options;
  options.separate_working_directory = true;
  const auto lines = context.parallelize(upto(1), 1)
                         .pipe({"sh", "-c", "cat shipped; touch made; pwd"}, options)
                         .collect();
  const bool made_here = fs::exists("made");
  const bool tasks_left = fs::exists("tasks") && !fs::is_empty("tasks");
  fs::current_path(before);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "text");
  CHECK_THAT(lines[1], Contains("/tasks/"));
  CHECK_FALSE(made_here);
  CHECK_FALSE(tasks_left);
}

TEST_CASE("pipe: what is above and below it may add to accumulators and spill", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  constexpr int64_t kRecords = 100000;
  auto above = context.long_accumulator(), below = context.long_accumulator(),
       both = context.long_accumulator();
  const auto lines = context.range(0, kRecords, 1, 2)
                         .map(capture(above, both,
                                      [](const auto& a, const auto& b, int64_t x) {
                                        a.add(1);
                                        b.add(1);
                                        return x;
                                      }))
                         .pipe("cat")
                         .map(capture(below, both,
                                      [](const auto& a, const auto& b, std::string_view) {
                                        a.add(1);
                                        b.add(1);
                                        return 1;
                                      }))
                         .count();
  CHECK(lines == kRecords);
  CHECK(above.value() == kRecords);
  CHECK(below.value() == kRecords);
  CHECK(both.value() == 2 * kRecords);
  const auto id = both.id();
  const std::vector<AccumulatorUpdate> updates{{id, core::to_bytes<int64_t>(3), false},
                                               {{id.value + 1}, core::to_bytes<int64_t>(5), false},
                                               {id, core::to_bytes<int64_t>(4), false}};
  CHECK(both.added(updates) == 7);  // a task tells of both of its threads
}

TEST_CASE("pipe: records that it read are counted", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in";
  std::ofstream(path) << "a\nb\nc\n";
  CHECK(context.text_file(path, 1).pipe("cat").count() == 3);
  CHECK(runtime.last_metrics.input_records == 3);
}
