// A stage as bytes: what travels, what is refused, what the inputs of a task are.
#include "core/plan/program.hpp"

#include "core/api/tinderbox.hpp"
#include "tests/core/api/local_runtime.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using tests::LocalRuntime;

namespace {

const Descriptor* count_code() { return PartitionAction<int, CountRecords>::code(); }

int64_t run_count(std::string_view program, std::string_view inputs, int32_t partition,
                  TaskServices& services) {
  auto decoded = Program::decode(program);
  REQUIRE(decoded);
  TaskContext context;
  context.partition = partition;
  context.services = &services;
  return from_bytes<int64_t>((*decoded)->run(partition, inputs, context).result.view());
}

}  // namespace

TEST_CASE("descriptors are found by their offset and no other", "[program]") {
  const Descriptor* code = count_code();
  CHECK(find_descriptor(descriptor_offset(code)) == code);
  CHECK(find_descriptor(descriptor_offset(code) + 8) == nullptr);
  CHECK(find_descriptor(0) == nullptr);
  CHECK(find_descriptor(~uint64_t{0}) == nullptr);
}

TEST_CASE("storage levels pack into a byte", "[program]") {
  for (const auto& level :
       {DISK_ONLY, DISK_ONLY_3, MEMORY_ONLY, MEMORY_AND_DISK_SER_2, OFF_HEAP, StorageLevel{}}) {
    CHECK(unpack_level(pack_level(level)) == level);
  }
  CHECK(pack_level({}) == 0);
}

TEST_CASE("thirty nested zips stay thirty-one nodes", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto source = context.parallelize(std::vector<int>{1, 2, 3}, 1);
  auto rdd = source;
  for (int i = 0; i < 30; ++i) {
    rdd = rdd.zip_partitions<int>(rdd, [](Partition<int>& a, Partition<int>&, auto& emit) {
      a.for_each([&](int x) { emit(x); });
    });
  }
  const Bytes program = encode_program(*rdd.node(), count_code(), {});
  CHECK(program.size() < 31 * 40);
  Decoder in(program);
  CHECK(in.varint() == 31);
  CHECK(encode_inputs(*rdd.node(), 0) == encode_inputs(*source.node(), 0));
}

TEST_CASE("bytes of a source partition travel with its task only", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto big = context.parallelize(std::vector<int>(100000, 7), 2);
  auto both = big.union_with(context.parallelize(std::vector<int>{1}, 1));
  const Bytes program = encode_program(*both.node(), count_code(), {});
  CHECK(program.size() < 2000);
  CHECK(encode_inputs(*both.node(), 0).size() > 200000);
  CHECK(encode_inputs(*both.node(), 2).size() < 40);
  CHECK(encode_inputs(*context.range(0, 10, 1, 2).node(), 1).empty());
  CHECK(run_count(program, encode_inputs(*both.node(), 1), 1, runtime.services) == 50000);
  CHECK(run_count(program, encode_inputs(*both.node(), 2), 2, runtime.services) == 1);
}

TEST_CASE("a shuffle is a leaf of its reader's program", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(std::vector<std::pair<int, int>>{{1, 1}}, 1);
  auto rdd = pairs.partition_by(3).values();
  const Bytes program = encode_program(*rdd.node(), count_code(), {});
  Decoder nodes(program);
  CHECK(nodes.varint() == 2);
  CHECK(encode_inputs(*rdd.node(), 0).empty());
}

TEST_CASE("a checkpointed node cuts the lineage", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto source = context.parallelize(std::vector<int>{1, 2}, 1);
  auto middle = source.map([](int x) { return x + 1; });
  auto last = middle.filter([](int x) { return x > 0; });
  auto other = context.parallelize(std::vector<int>{9, 9, 9}, 1);
  Checkpoints checkpoints;
  middle.node()->checkpoint = new Checkpoint{other.node(), {}};
  checkpoints.done(middle.node(), JobId{});
  const NodePtr rewired = checkpoints.rewire(last.node());
  const Bytes program = encode_program(*rewired, count_code(), {});
  Decoder nodes(program);
  CHECK(nodes.varint() == 2);
  const Bytes inputs = encode_inputs(*rewired, 0);
  CHECK(inputs == encode_inputs(*other.node(), 0));
  CHECK(run_count(program, inputs, 0, runtime.services) == 3);
}

TEST_CASE("a lineage of any length ends without a stack", "[program]") {
  struct Step final : Node {};
  const auto step = [](Dependency on) {
    auto node = std::make_shared<Step>();
    node->dependencies.push_back(std::move(on));
    return node;
  };
  NodePtr narrow = std::make_shared<Step>(), wide = std::make_shared<Step>();
  const std::weak_ptr<const Node> first = narrow, other = wide;
  for (int i = 0; i < 1'000'000; ++i) {
    NarrowDependency on;
    on.parent = std::move(narrow);
    narrow = step(std::move(on));
    ShuffleDependency shuffle;
    shuffle.parent = std::move(wide);
    wide = step(std::make_shared<const ShuffleDependency>(std::move(shuffle)));
  }
  narrow.reset();
  wide.reset();
  CHECK(first.expired());
  CHECK(other.expired());
}

TEST_CASE("foreign and damaged programs are refused, never run", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd = context.parallelize(std::vector<int>{1, 2, 3}, 2).map([](int x) { return x + 1; });
  const Bytes program = encode_program(*rdd.node(), count_code(), {});
  REQUIRE(Program::decode(program));
  for (size_t n = 0; n < program.size(); ++n)
    CHECK_FALSE(Program::decode(std::string_view(program).substr(0, n)));
  CHECK_FALSE(Program::decode(program + "x"));
  const Bytes nameless = encode_program(*rdd.node(), nullptr, {});
  auto refused = Program::decode(nameless);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Catch::Contains("no terminal operation is registered at offset 0"));
  const Bytes swapped = encode_program(*rdd.node(), rdd.node()->descriptor(), {});
  CHECK_FALSE(Program::decode(swapped));
  TaskContext task;
  task.services = &runtime.services;
  CHECK_THROWS_AS((*Program::decode(program))->run(2, {}, task), DecodeError);
  const Bytes wrong_type = encode_program(*context.range(0, 1).node(), count_code(), {});
  CHECK_THROWS_AS((*Program::decode(wrong_type))->run(0, {}, task), DecodeError);
}

TEST_CASE("a killed task stops at its next batch", "[program]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto rdd =
      context.range(0, int64_t{1} << 60, 1, 1).map([](int64_t x) { return static_cast<int>(x); });
  const Bytes bytes = encode_program(*rdd.node(), count_code(), {});
  auto program = Program::decode(bytes);
  TaskContext task;
  task.services = &runtime.services;
  task.killed = true;
  CHECK_THROWS_AS((*program)->run(0, {}, task), TaskKilledException);
  CHECK(TaskContext::current() == nullptr);
}
