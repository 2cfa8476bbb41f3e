// Checkpoints that executors keep, what lineage looks like after any checkpoint, and what is cached
// beside one.
#include <filesystem>
#include <functional>

#include "tests/core/api/steps/stored_fixture.hpp"
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using Catch::Matchers::Contains;
using tests::LocalRuntime;
using tests::upto;
using tests::without_sites;

namespace {

std::atomic<int> computed{0};
std::function<void()> at_ten;  // called where 10 is computed

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

TEST_CASE("the level of a local checkpoint may change, but for the disk", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.local_checkpoint().cache();
  CHECK(rdd.storage_level() == MEMORY_AND_DISK);
  rdd.persist(MEMORY_ONLY_SER_2);
  CHECK(rdd.storage_level() == MEMORY_AND_DISK_SER_2);
  rdd.unpersist().cache();
  CHECK(rdd.storage_level() == MEMORY_AND_DISK);
  CHECK(rdd.count() == 10);
  CHECK(rdd.is_checkpointed());
  rdd.persist(DISK_ONLY);
  CHECK(rdd.storage_level() == DISK_ONLY);
  CHECK(rdd.count() == 10);
  CHECK(computed == 10);
}

TEST_CASE("a local checkpoint that was unpersisted is not written, and the lineage stays",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.local_checkpoint().unpersist();
  CHECK_THROWS_WITH(rdd.count(), "Storage level NONE is not appropriate for local checkpointing");
  CHECK(!rdd.is_checkpointed());
  CHECK(rdd.count() == 10);
  CHECK(rdd.collect().size() == 10);
  CHECK(computed == 30);
  CHECK(rdd.local_checkpoint().count() == 10);
  CHECK(rdd.is_checkpointed());
  CHECK(rdd.count() == 10);
  CHECK(computed == 40);
}

TEST_CASE("a local checkpoint that is unpersisted while it is written is none", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  auto rdd = context.parallelize(upto(10), 2).map([](int x) {
    if (x == 10 && at_ten) at_ten();
    return x;
  });
  at_ten = [&] { rdd.unpersist(); };
  rdd.local_checkpoint();
  CHECK_THROWS_AS(rdd.take(1), std::logic_error);  // 10 is in the other partition
  at_ten = {};
  CHECK(!rdd.is_checkpointed());
  CHECK(rdd.collect() == upto(10));
}

TEST_CASE("a partition of a local checkpoint that can't be stored fails its task", "[rdd]") {
  tests::StoredServices services(16 * tests::kMiB);
  const tests::Records records(1, MEMORY_AND_DISK);
  tests::Reader reader(services);
  const auto keep = [&](int32_t partition) {
    const auto cursor = core::open_partition<std::string>(records, partition, reader.context);
    core::KeepPartition{}(*cursor, reader.context);
  };
  CHECK_NOTHROW(keep(0));
  services.refuse = true;
  CHECK_NOTHROW(keep(0));
  CHECK_THROWS_WITH(keep(1), "cannot store a partition of a local checkpoint");
}

TEST_CASE("what is cached and checkpointed is read from the cache, and from files only on a miss",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto rdd = counted(context);
  rdd.cache();
  rdd.checkpoint();
  CHECK(rdd.count() == 10);
  REQUIRE(rdd.checkpoint_file());
  CHECK(without_sites(rdd.to_debug_string()) ==
        "(2) MapPartitionsRDD[1] at map [Memory Deserialized 1x Replicated]\n"
        " |  ReliableCheckpointRDD[2] at checkpoint [Memory Deserialized 1x Replicated]");
  runtime.services.blocks.erase("rdd_1_1");
  CHECK(rdd.count() == 10);
  CHECK(runtime.services.blocks.contains("rdd_1_1"));
  std::filesystem::remove_all(*rdd.checkpoint_file());
  CHECK(rdd.map([](int x) { return x + 1; }).sum() == 120);
  CHECK(rdd.collect().size() == 10);
  CHECK(computed == 10);
}

TEST_CASE("what is checkpointed can still be cached, and unpersisted", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto rdd = counted(context);
  rdd.checkpoint();
  rdd.count();
  REQUIRE(rdd.checkpoint_file());
  const int before = computed;
  rdd.cache();
  CHECK(rdd.count() == 10);
  CHECK(runtime.services.blocks.contains("rdd_1_0"));
  CHECK(runtime.services.blocks.contains("rdd_1_1"));
  CHECK(context.persistent_rdds().contains(rdd.id()));
  std::filesystem::remove_all(*rdd.checkpoint_file());
  CHECK(rdd.map([](int x) { return x; }).sum() == 110);
  CHECK(computed == before);
  rdd.unpersist();
  CHECK(context.persistent_rdds().empty());
  CHECK(!runtime.services.blocks.contains("rdd_1_0"));
  CHECK_THROWS_WITH(rdd.count(), Contains("Invalid checkpoint file: "));
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

TEST_CASE("a checkpoint, local or not, lets go of what is behind it", "[rdd]") {
  const bool local = GENERATE(false, true);
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto sums = [&] {
    auto pairs = context.parallelize(upto(10), 2).map([](int x) { return std::pair(x % 3, x); });
    pairs.cache();
    return pairs.reduce_by_key(tests::Sum{}, 2);
  }();
  if (local)
    sums.local_checkpoint();
  else
    sums.checkpoint();
  const std::map<int, int> right{{0, 18}, {1, 22}, {2, 15}};
  CHECK(sums.collect_as_map() == right);
  CHECK(runtime.forgotten.size() == 1);
  CHECK(!runtime.services.blocks.contains("rdd_1_0"));
  CHECK(sums.shuffles().empty());
  CHECK(sums.collect_as_map() == right);
  CHECK(sums.coalesce(1).collect_as_map() == right);
  CHECK(without_sites(sums.to_debug_string()) ==
        (local ? "(2) ShuffledRDD[2] at reduceByKey [Disk Memory Deserialized 1x Replicated]\n"
                 " |  LocalCheckpointRDD[2] at reduceByKey [Disk Memory Deserialized 1x Replicated]"
               : "(2) ShuffledRDD[2] at reduceByKey []\n"
                 " |  ReliableCheckpointRDD[3] at checkpoint []"));
}

TEST_CASE("a checkpoint of a source stands in its lineage, too", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto rdd = context.parallelize(upto(10), 2);
  rdd.checkpoint();
  CHECK(rdd.count() == 10);
  CHECK(without_sites(rdd.to_debug_string()) ==
        "(2) ParallelCollectionRDD[0] at parallelize []\n"
        " |  ReliableCheckpointRDD[1] at checkpoint []");
}

TEST_CASE("a loop that checkpoints keeps nothing from before the last one", "[rdd]") {
  const bool local = GENERATE(false, true);
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto rdd = context.parallelize(tests::IntPairs{{0, 1}, {1, 2}, {2, 3}}, 2);
  for (int i = 0; i < 20; ++i) {
    rdd = rdd.map([](std::pair<int, int> r) { return std::pair((r.first + 1) % 3, r.second + 1); })
              .reduce_by_key(tests::Sum{}, 2);
    if (i % 5 != 4) continue;
    if (local)
      rdd.local_checkpoint();
    else
      rdd.checkpoint();
    CHECK(rdd.count() == 3);
    CHECK(std::ssize(runtime.forgotten) == i + 1);
  }
  CHECK(rdd.collect_as_map() == std::map<int, int>{{2, 21}, {0, 22}, {1, 23}});
}

TEST_CASE("a checkpoint of one of two parents leaves the other one", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto left = counted(context).map([](int x) { return std::pair(x, 1); }).group_by_key(2);
  auto right = context.parallelize(upto(10), 2).map([](int x) { return std::pair(x, x); });
  const auto joined = left.join(right.group_by_key(2));
  left.checkpoint();
  CHECK(joined.count() == 5);
  CHECK(left.is_checkpointed());
  CHECK(left.shuffles().empty());
  CHECK(std::ssize(joined.shuffles()) == 1);
  const int before = computed;
  CHECK(joined.count() == 5);
  CHECK(left.union_with(left).count() == 20);
  CHECK(computed == before);
}

TEST_CASE("the maps of a shuffle behind which all is checkpointed are made from that", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  auto rdd = counted(context);
  const auto groups = rdd.map([](int x) { return std::pair(x % 3, x); }).group_by_key(2);
  rdd.checkpoint();
  CHECK(rdd.count() == 10);
  const int before = computed;
  REQUIRE(groups.shuffles().size() == 1);
  const MapOutputStatistics made = context.submit_map_stage(groups.shuffles()[0]);
  CHECK(made.bytes_by_partition.size() == 2);
  CHECK(computed == before);
}

TEST_CASE("what is cached without disk when it is to be checkpointed locally is computed anew",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = counted(context);
  rdd.cache();
  CHECK(rdd.count() == 10);
  REQUIRE(runtime.services.blocks.contains("rdd_1_0"));
  rdd.local_checkpoint();
  CHECK(!runtime.services.blocks.contains("rdd_1_0"));
  CHECK(rdd.count() == 10);
  CHECK(computed == 20);
  CHECK(rdd.is_checkpointed());
  CHECK(runtime.services.blocks.contains("rdd_1_0"));
}

TEST_CASE("what is kept of an Rdd after it was unpersisted goes with it", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  {
    auto rdd = context.parallelize(upto(10), 2).map([](int x) {
      if (x == 10 && at_ten) at_ten();
      return x;
    });
    rdd.cache();
    at_ten = [&] { rdd.unpersist(); };
    CHECK(rdd.count() == 10);
    at_ten = {};
    CHECK(runtime.services.blocks.contains("rdd_1_1"));  // its task ran
  }
  CHECK(runtime.services.blocks.empty());
}
