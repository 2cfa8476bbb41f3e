// What the scheduler is told of Rdds: determinism, barriers; jobs over map stages.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using core::Determinism;
using tests::LocalRuntime;
using tests::upto;

namespace {
template <class T>
Determinism level(const Rdd<T>& rdd) {
  return rdd.node()->determinism;
}
constexpr auto kDeterminate = Determinism::Determinate;
constexpr auto kUnordered = Determinism::Unordered;
constexpr auto kIndeterminate = Determinism::Indeterminate;
}  // namespace

TEST_CASE("D73 order-sensitive steps over an unordered input are indeterminate", "[stages]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto source = context.parallelize(upto(8), 2);
  const auto pairs = source.map([](int x) { return std::pair(x % 3, x); });
  const auto grouped = pairs.group_by_key(2);
  CHECK(level(source) == kDeterminate);
  CHECK(level(pairs) == kDeterminate);
  CHECK(level(grouped) == kUnordered);
  CHECK(level(grouped.keys()) == kUnordered);

  CHECK(level(source.sample(false, 0.5, 1)) == kDeterminate);
  CHECK(level(grouped.sample(false, 0.5, 1)) == kIndeterminate);
  CHECK(level(grouped.sample(true, 0.5, 1)) == kIndeterminate);
  CHECK(level(grouped.random_split({1, 1}, 1)[1]) == kIndeterminate);
  CHECK(level(grouped.repartition(3)) == kIndeterminate);
  CHECK(level(grouped.coalesce(1)) == kUnordered);
  CHECK(level(grouped.zip_with_unique_id()) == kUnordered);
  CHECK(level(source.repartition(3)) == kUnordered);
  CHECK(level(source.repartition(3).repartition(2)) == kIndeterminate);

  // It stays so, whatever follows.
  const auto moved = grouped.repartition(3);
  CHECK(level(moved.map([](const auto& g) { return g.first; })) == kIndeterminate);
  CHECK(level(moved.reduce_by_key([](auto a, auto) { return a; })) == kIndeterminate);
  CHECK(level(moved.keys().union_with(source)) == kIndeterminate);
  CHECK(level(moved.keys().sort_by([](int x) { return x; })) == kIndeterminate);
}

TEST_CASE("a checkpointed Rdd is determinate for those made from it later", "[stages]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory);
  const auto moved = context.parallelize(upto(8), 2).repartition(3).repartition(2);
  REQUIRE(level(moved) == kIndeterminate);
  moved.checkpoint();
  CHECK(moved.count() == 8);
  REQUIRE(moved.is_checkpointed());
  CHECK(moved.map([](int x) { return x + 1; }).count() == 8);
  CHECK(runtime.last_determinism == kDeterminate);
}

TEST_CASE("a barrier holds for a stage", "[stages]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto source = context.parallelize(upto(8), 2);
  const auto together = source.barrier().map_partitions([](Partition<int>& in) {
    std::vector<int> all;
    for (int x : in) all.push_back(x * 2);
    return all;
  });
  CHECK_FALSE(source.node()->barrier);
  CHECK(together.node()->barrier);
  const auto pairs = together.map([](int x) { return std::pair(x % 3, x); });
  CHECK(pairs.node()->barrier);
  CHECK_FALSE(pairs.group_by_key(2).node()->barrier);
  CHECK(together.collect() == std::vector<int>{2, 4, 6, 8, 10, 12, 14, 16});
  const auto emitted = source.barrier().map_partitions<int>(
      [](Partition<int>& in, auto& emit) { in.for_each([&](int x) { emit(-x); }); });
  CHECK(emitted.node()->barrier);
  CHECK(emitted.collect()[7] == -8);
}

TEST_CASE("there is no barrier context outside of barrier stages", "[stages]") {
  CHECK_THROWS_AS(BarrierTaskContext::get(), std::logic_error);
  LocalRuntime runtime;
  Context context(runtime);
  const auto ordinary = context.parallelize(upto(2), 1).map([](int) {
    return BarrierTaskContext::get().partition_id();
  });
  CHECK_THROWS_WITH(ordinary.count(), Catch::Matchers::Contains("rdd.barrier()"));
}

TEST_CASE("submit_map_stage makes outputs and tells their sizes", "[stages]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto sums =
      context.parallelize(upto(100), 4)
          .map([](int x) { return std::pair(7, std::string(100, char('a' + x % 26))); })
          .group_by_key(2);
  REQUIRE(sums.shuffles().size() == 1);
  const MapOutputStatistics statistics = context.submit_map_stage(sums.shuffles()[0]);
  CHECK(statistics.shuffle == sums.shuffles()[0]->id);
  // One key: one reducer has it all.
  std::vector<int64_t> bytes = statistics.bytes_by_partition;
  std::sort(bytes.begin(), bytes.end());
  REQUIRE(bytes.size() == 2);
  CHECK(bytes[0] == 0);
  CHECK(bytes[1] > 0);
  CHECK(runtime.stages == 1);
  CHECK(sums.count() == 1);
  CHECK(runtime.stages == 2);  // the maps were there
  CHECK(context.parallelize(upto(3), 1).shuffles().empty());
}
