// Lineage as a person reads it, in Spark's layout.
#include "core/plan/lineage/debug_string.hpp"

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::IntPairs;
using tests::LocalRuntime;
using tests::Sum;
using tests::upto;
using tests::without_sites;

TEST_CASE("to_debug_string: stages stand below each other, a shuffle between them", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto counts = context.parallelize(upto(10), 12)
                    .map([](int x) { return std::pair(x % 3, x); })
                    .reduce_by_key(Sum{}, 3)
                    .filter([](const auto& r) { return r.second > 0; });
  CHECK(without_sites(counts.to_debug_string()) ==
        "(3) MapPartitionsRDD[3] at filter []\n"
        " |  ShuffledRDD[2] at reduceByKey []\n"
        " +-(12) MapPartitionsRDD[1] at map []\n"
        "    |   ParallelCollectionRDD[0] at parallelize []");
}

TEST_CASE("to_debug_string: the level of the Rdd that is asked in each line, and what is held",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(upto(10), 12).map([](int x) { return std::pair(x % 3, x); });
  pairs.persist(DISK_ONLY);
  auto sums = pairs.reduce_by_key(Sum{}, 3);
  sums.cache();
  const core::ExecutorJoined joined{{"1"}, "h", 1};
  const auto told = [](const std::string& block, int64_t memory, int64_t disk) {
    BlockUpdate update;
    update.block = block;
    update.in_memory = memory > 0;
    update.memory_bytes = memory;
    update.on_disk = disk > 0;
    update.disk_bytes = disk;
    return core::BlockUpdated{{"1"}, update};
  };
  runtime.hear({joined, told("rdd_2_0", 100, 0), told("rdd_2_2", 3 << 20, 0),
                told("rdd_1_11", 0, 5000), told("rdd_11_0", 7, 7)});
  CHECK(without_sites(sums.to_debug_string()) ==
        "(3) ShuffledRDD[2] at reduceByKey [Memory Deserialized 1x Replicated]\n"
        " |       CachedPartitions: 2; MemorySize: 3.0 MiB; DiskSize: 0.0 B\n"
        " +-(12) MapPartitionsRDD[1] at map [Memory Deserialized 1x Replicated]\n"
        "    |       CachedPartitions: 1; MemorySize: 0.0 B; DiskSize: 4.9 KiB\n"
        "    |   ParallelCollectionRDD[0] at parallelize [Memory Deserialized 1x Replicated]");
  runtime.hear({core::RddUnpersisted{{2}}});
  CHECK(sums.to_debug_string().find("CachedPartitions: 2") == std::string::npos);
}

TEST_CASE("to_debug_string: several parents, all but the last with a bar beside", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto left = context.parallelize(IntPairs{{1, 2}}, 2);
  auto both = left.union_with(context.parallelize(IntPairs{{1, 2}}, 1)).cogroup(left, 4);
  CHECK(without_sites(both.to_debug_string()) ==
        "(4) CoGroupedRDD[3] at cogroup []\n"
        " +-(3) UnionRDD[2] at union []\n"
        " |  |  ParallelCollectionRDD[0] at parallelize []\n"
        " |  |  ParallelCollectionRDD[1] at parallelize []\n"
        " +-(2) ParallelCollectionRDD[0] at parallelize []");
}

TEST_CASE("a name that was set stands before the class", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto numbers = context.parallelize(upto(4), 2).set_name("numbers");
  CHECK(numbers.name() == "numbers");
  CHECK(numbers.map([](int x) { return x; }).name().empty());
  CHECK(without_sites(numbers.map([](int x) { return x; }).to_debug_string()) ==
        "(2) MapPartitionsRDD[2] at map []\n"
        " |  numbers ParallelCollectionRDD[0] at parallelize []");
  numbers.set_name("digits");
  CHECK(without_sites(numbers.to_debug_string()) ==
        "(2) digits ParallelCollectionRDD[0] at parallelize []");
}

TEST_CASE("a call site that was set is that of all that is made", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_call_site("load of the day");
  auto numbers = context.parallelize(upto(4), 2);
  context.clear_call_site();
  CHECK(numbers.to_debug_string() == "(2) ParallelCollectionRDD[0] at load of the day []");
  CHECK_THAT(context.empty_rdd<int>().to_debug_string(), Catch::Contains("debug_string_test.cpp:"));
}

TEST_CASE("storage levels in Spark's words", "[rdd]") {
  CHECK(core::describe(MEMORY_AND_DISK_SER_2) == "Disk Memory Serialized 2x Replicated");
  CHECK(core::describe(OFF_HEAP) == "Disk Memory (off heap) Serialized 1x Replicated");
  CHECK(core::describe(DISK_ONLY) == "Disk Serialized 1x Replicated");
}
