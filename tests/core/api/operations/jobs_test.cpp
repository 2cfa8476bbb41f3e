// How many jobs and tasks actions take, and what they begin with when nothing is said.
#include <fstream>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using Catch::Matchers::Contains;

TEST_CASE("fold begins each partition and the merge with its zero", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.parallelize(std::vector<int>{1, 2, 3, 4}, 2);
  CHECK(nums.fold(1, Sum{}) == 10 + 2 + 1);
  CHECK(nums.aggregate(100, Sum{}, Sum{}) == 10 + 200 + 100);
  // Its partial sums are folded, each with the zero again.
  CHECK(nums.tree_aggregate(100, Sum{}, Sum{}) == 10 + 200 + 200 + 100);
  CHECK(context.parallelize(std::vector<int>{}, 3).fold(1, Sum{}) == 4);
  // Once a key and partition that has it.
  auto pairs = context.parallelize(IntPairs{{1, 10}, {1, 20}, {1, 30}, {2, 5}}, 2);
  CHECK(pairs.fold_by_key(1, Sum{}).collect_as_map() == std::map<int, int>{{1, 62}, {2, 6}});
  CHECK(pairs.aggregate_by_key(100, Sum{}, Sum{}).collect_as_map() ==
        std::map<int, int>{{1, 260}, {2, 105}});
  CHECK(pairs.partition_by(3).fold_by_key(1, Sum{}).collect_as_map() ==
        std::map<int, int>{{1, 61}, {2, 6}});
}

TEST_CASE("R25 cartesian: partition i·m + j, and in it by the left record, then the right",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto left = context.parallelize(std::vector<int>{1, 2, 3, 4}, 2);
  auto right = context.parallelize(std::vector<int>{5, 6, 7}, 3);
  CHECK(left.cartesian(right).glom().collect() == std::vector<IntPairs>{{{1, 5}, {2, 5}},
                                                                        {{1, 6}, {2, 6}},
                                                                        {{1, 7}, {2, 7}},
                                                                        {{3, 5}, {4, 5}},
                                                                        {{3, 6}, {4, 6}},
                                                                        {{3, 7}, {4, 7}}});
  CHECK(context.parallelize(std::vector<int>{1, 2}, 1)
            .cartesian(context.parallelize(std::vector<int>{5, 6}, 1))
            .collect() == IntPairs{{1, 5}, {1, 6}, {2, 5}, {2, 6}});
}

TEST_CASE("R16 take looks at 1, 4, 20 … partitions while it finds too little", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto after = [&](int64_t n, const Rdd<int>& rdd) {
    runtime.jobs = runtime.tasks = 0;
    const auto got = rdd.take(n);
    return std::tuple(std::ssize(got), runtime.jobs, runtime.tasks);
  };
  // One in each, two in the last: found 1 of 1, 5 of 5, 25 of 25, then 1.5 · 25 more.
  CHECK(after(50, context.parallelize(upto(101), 100)) == std::tuple(50, 4, 1 + 4 + 20 + 38));
  const auto last = context.parallelize(upto(100), 100).filter([](int x) { return x == 100; });
  CHECK(after(1, last) == std::tuple(1, 4, 100));
  CHECK(after(1, context.parallelize(upto(100), 100)) == std::tuple(1, 1, 1));
}

TEST_CASE("which operations run a job at once, and which actions run none", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto three = context.parallelize(upto(9), 3), one = context.parallelize(upto(9), 1);
  const auto tasks_of = [&](auto f) {
    runtime.jobs = runtime.tasks = 0;
    f();
    return std::pair(runtime.jobs, runtime.tasks);
  };
  CHECK(tasks_of([&] { three.zip_with_index(); }) == std::pair(1, 2));
  CHECK(tasks_of([&] { one.zip_with_index(); }) == std::pair(0, 0));
  CHECK(tasks_of([&] { three.zip_with_unique_id(); }) == std::pair(0, 0));
  CHECK(tasks_of([&] { three.take_ordered(0); }) == std::pair(0, 0));
  CHECK(tasks_of([&] { three.take(0); }) == std::pair(0, 0));
  const auto by = [](int x) { return x; };
  CHECK(tasks_of([&] { three.sort_by(by); }) == std::pair(1, 3));
  CHECK(tasks_of([&] { one.sort_by(by); }) == std::pair(0, 0));
  CHECK(tasks_of([&] { three.map(by).group_by(by).keys(); }) == std::pair(0, 0));
}

TEST_CASE("partitions where none are asked for", "[rdd]") {
  LocalRuntime runtime(5);
  Context context(runtime);
  CHECK(context.default_parallelism() == 5);
  CHECK(context.default_min_partitions() == 2);
  CHECK(context.parallelize(upto(20)).num_partitions() == 5);
  CHECK(context.range(0, 20).num_partitions() == 5);
  const std::string path = runtime.services.directory + "/lines";
  std::ofstream(path) << "one line\nanother one\na third\n";
  CHECK(context.text_file(path).num_partitions() == 2);
  LocalRuntime single(1);
  Context other(single);
  CHECK(other.default_min_partitions() == 1);
  CHECK(other.text_file(path).num_partitions() == 1);
}

TEST_CASE("R31 an action on an Rdd of the driver cannot run inside a task", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  static const Rdd<int>* inside = nullptr;
  const auto outer = context.parallelize(upto(3), 1);
  inside = &outer;
  CHECK_THROWS_WITH(
      context.parallelize(upto(2), 1).map([](int) { return inside->count(); }).count(),
      Contains("SPARK-5063"));
}

TEST_CASE("whether tasks of a cancelled job are interrupted is a property of the job", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto interrupts = [&] {
    context.range(0, 1, 1, 1).count();
    const auto said = runtime.last_properties.find("spark.job.interruptOnCancel");
    return said == runtime.last_properties.end() ? "nothing is said" : said->second;
  };
  CHECK(interrupts() == "nothing is said");
  context.set_job_group("night", "what runs at night", true);
  CHECK(interrupts() == "true");
  context.set_job_group("day", "what runs by day");
  CHECK(interrupts() == "false");
  context.set_interrupt_on_cancel(true);
  CHECK(interrupts() == "true");
  context.set_interrupt_on_cancel(false);
  CHECK(interrupts() == "false");
  context.clear_job_group();
  CHECK(interrupts() == "nothing is said");
}

TEST_CASE("what is persisted and held is in persistent_rdds", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto kept = context.parallelize(upto(3), 1);
  kept.persist(DISK_ONLY);
  CHECK(context.persistent_rdds() == std::map<RddId, core::StorageLevel>{{kept.id(), DISK_ONLY}});
  context.parallelize(upto(3), 1).cache();  // nobody holds it
  CHECK(context.persistent_rdds().size() == 1);
  kept.unpersist();
  CHECK(context.persistent_rdds().empty());
}

TEST_CASE("R14 10 records in 1000 partitions, spread over 2001", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto spread = context.parallelize(upto(10), 1000).repartition(2001);
  CHECK(spread.num_partitions() == 2001);
  CHECK(sorted(spread.collect()) == upto(10));
}

TEST_CASE("R20 samples of a million records have the size that was asked for", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto million = context.range(0, 1000000, 1, 2);
  for (const int64_t n : {5, 20, 100}) {
    auto sample = sorted(million.take_sample(false, n, 7));
    CHECK(std::ssize(sample) == n);
    CHECK(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
    CHECK(std::ssize(million.take_sample(true, n, 7)) == n);
  }
}

TEST_CASE("R44 what is left has the partitions of the left side", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto left = context.parallelize(upto(3), 2), right = context.parallelize(std::vector{2, 3}, 4);
  CHECK(left.subtract(right).num_partitions() == 2);
  CHECK(left.subtract(right).collect() == std::vector{1});
}

TEST_CASE("R48 a checkpoint has the partitioner of what it replaces", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/checkpoints");
  auto placed = context.parallelize(IntPairs{{1, 1}, {2, 2}, {3, 3}}, 2).partition_by(4);
  placed.checkpoint();
  CHECK(placed.count() == 3);
  const core::Checkpoint* written = placed.node()->checkpoint;
  REQUIRE(written);
  CHECK(written->node->partitioner == placed.partitioner());
  auto sums = placed.reduce_by_key(Sum{});
  const int before = runtime.stages;
  CHECK(sums.collect_as_map() == std::map<int, int>{{1, 1}, {2, 2}, {3, 3}});
  CHECK(runtime.stages - before == 1);
}

TEST_CASE("a checkpoint is never that of an earlier application with the same id", "[rdd]") {
  LocalRuntime runtime;
  const std::string directory = runtime.services.directory + "/checkpoints";
  const auto checkpointed = [&](int first) {
    LocalRuntime another;
    Context context(another);
    context.set_checkpoint_dir(directory);
    auto rdd = context.parallelize(std::vector{first, first + 1}, 2).map([](int x) { return x; });
    rdd.checkpoint();
    rdd.count();
    CHECK(rdd.is_checkpointed());
    return rdd.collect();
  };
  CHECK(checkpointed(1) == std::vector{1, 2});
  CHECK(checkpointed(7) == std::vector{7, 8});
}
