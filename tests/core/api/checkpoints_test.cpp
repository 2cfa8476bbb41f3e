// Checkpoints that executors keep, and what lineage looks like after any checkpoint.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using tests::upto;
using tests::without_sites;

namespace {

std::atomic<int> computed{0};

Rdd<int> counted(Context& context) {
  computed = 0;
  return context.parallelize(upto(10), 2).map([](int x) { return ++computed, x * 2; });
}

}  // namespace

TEST_CASE("a local checkpoint keeps all partitions after the first job, and no lineage", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.local_checkpoint();
  CHECK(rdd.storage_level() == MEMORY_AND_DISK);
  CHECK(!rdd.is_checkpointed());
  CHECK(rdd.take(1) == std::vector<int>{2});  // looks at the first partition only
  CHECK(rdd.is_checkpointed());
  CHECK(computed == 10);
  CHECK(runtime.services.blocks.contains("rdd_1_1"));
  CHECK(rdd.collect().size() == 10);
  CHECK(rdd.map([](int x) { return x; }).sum() == 110);
  CHECK(computed == 10);
  CHECK(!rdd.checkpoint_file());
  CHECK(without_sites(rdd.to_debug_string()) ==
        "(2) MapPartitionsRDD[1] at map [Disk Memory Deserialized 1x Replicated]\n"
        " |  LocalCheckpointRDD[1] at map [Disk Memory Deserialized 1x Replicated]");
}

TEST_CASE("a partition of a local checkpoint that nobody has any more is an error", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.local_checkpoint().count();
  runtime.services.blocks.erase("rdd_1_1");
  CHECK_THROWS_WITH(rdd.collect(), Contains("Checkpoint block rdd_1_1 not found!") &&
                                       Contains("consider using `rdd.checkpoint()`"));
  CHECK(computed == 10);
}

TEST_CASE("the level of a local checkpoint has the disk, and keeps what else it had", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.persist(MEMORY_ONLY_SER_2);
  rdd.local_checkpoint();
  CHECK(rdd.storage_level() == MEMORY_AND_DISK_SER_2);
}

TEST_CASE("of two kinds of checkpoint the local one holds", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto first = counted(context), second = counted(context), third = counted(context);
  first.checkpoint();
  first.local_checkpoint();
  first.count();
  CHECK(!first.checkpoint_file());
  second.local_checkpoint();
  second.checkpoint();
  second.count();
  CHECK(!second.checkpoint_file());
  third.checkpoint();
  third.count();
  third.local_checkpoint();
  CHECK(!third.storage_level().stored());
  REQUIRE(third.checkpoint_file());
  CHECK_THAT(*third.checkpoint_file(), Catch::Matchers::EndsWith("/rdd-5"));
  CHECK(without_sites(third.to_debug_string()) ==
        "(2) MapPartitionsRDD[5] at map []\n"
        " |  ReliableCheckpointRDD[6] at checkpoint []");
}
