// What a task reads of shuffles, told from its lineage.
#include "core/plan/lineage/reads.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

std::shared_ptr<Node> node(std::vector<Dependency> dependencies, int32_t partitions = 10) {
  auto made = std::make_shared<Node>();
  made->num_partitions = partitions;
  made->dependencies = std::move(dependencies);
  return made;
}
ShufflePtr shuffle(int32_t id) {
  auto made = std::make_shared<ShuffleDependency>();
  made->id = {id};
  return made;
}
NarrowDependency one(const NodePtr& parent) { return {.parent = parent, .table = {}}; }
NarrowDependency range(const NodePtr& parent, int32_t out, int32_t in, int32_t length) {
  return {.parent = parent,
          .kind = NarrowDependency::Kind::Range,
          .out_start = out,
          .in_start = in,
          .length = length,
          .table = {}};
}
NarrowDependency table(const NodePtr& parent, std::vector<std::vector<int32_t>> rows) {
  return {.parent = parent, .kind = NarrowDependency::Kind::Table, .table = std::move(rows)};
}

std::string reads(const Node& root, int32_t p) {
  std::vector<ShuffleRead> all;
  add_shuffle_reads(root, p, all);
  std::string text;
  for (const ShuffleRead& read : all)
    text += std::to_string(read.shuffle.value) + ":" + std::to_string(read.reduce) +
            (read.count > 1 ? "+" + std::to_string(read.count) : "") + " ";
  return text;
}

}  // namespace

TEST_CASE("a task reads the shuffles that its partition reaches", "[reads]") {
  const NodePtr source = node({}), shuffled = node({shuffle(1)});
  const NodePtr both = node({shuffle(2), shuffle(3)});
  const NodePtr mapped = node({one(node({one(shuffled)}))});
  const NodePtr joined = node({range(shuffled, 0, 0, 10), range(both, 10, 0, 10)}, 20);
  const NodePtr merged = node({table(shuffled, {{0, 1}, {7}, {}})}, 3);
  const NodePtr zipped = node({one(mapped), one(mapped), one(source)});
  struct Case {
    const char* name;
    NodePtr root;
    int32_t partition;
    const char* want;
  };
  const Case cases[] = {
      {"nothing but a source", source, 4, ""},
      {"itself shuffled", shuffled, 4, "1:4 "},
      {"a chain down to it", mapped, 4, "1:4 "},
      {"two shuffles", both, 0, "2:0 3:0 "},
      {"beside a source", zipped, 4, "1:4 "},
      {"a union's first part", joined, 4, "1:4 "},
      {"a union's second part", joined, 14, "2:4 3:4 "},
      {"several into one", merged, 0, "1:1 1:0 "},
      {"one of several", merged, 1, "1:7 "},
      {"none", merged, 2, ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(reads(*c.root, c.partition) == c.want);
    CHECK(reads_shuffles(*c.root) == (c.root != source));
  }
}

namespace {

/// As a shuffle's records, and what is made of them one by one.
struct InRuns : Node {
  bool has_runs() const override { return true; }
};
std::shared_ptr<Node> in_runs(std::vector<Dependency> dependencies) {
  auto made = std::make_shared<InRuns>();
  made->num_partitions = 10;
  made->dependencies = std::move(dependencies);
  return made;
}

}  // namespace

TEST_CASE("adjacent partitions that a task reads of a shuffle are told as one", "[reads]") {
  const auto shuffled = in_runs({shuffle(1)}), mapped = in_runs({one(shuffled)});
  const std::vector<std::vector<int32_t>> rows = {{0, 1, 2}, {4, 6, 7}, {9, 8}, {5}, {}};
  const NodePtr merged = node({table(mapped, rows)}, 5);
  CHECK(reads(*merged, 0) == "1:0+3 ");
  CHECK(reads(*merged, 1) == "1:6+2 1:4 ");
  CHECK(reads(*merged, 2) == "1:8 1:9 ");
  CHECK(reads(*merged, 3) == "1:5 ");
  CHECK(reads(*merged, 4).empty());
  CHECK(reads(*node({one(merged)}, 5), 0) == "1:0+3 ");
  CHECK(reads(*node({range(mapped, 0, 0, 10)}), 3) == "1:3 ");
  mapped->storage_bits = 1;
  CHECK(reads(*merged, 0).empty());
}

TEST_CASE("what lies behind partitions that are kept is not told", "[reads]") {
  const NodePtr shuffled = node({shuffle(1)});
  const auto mapped = node({one(shuffled)});
  const auto top = node({one(mapped), one(node({shuffle(2)}))});
  CHECK(reads(*top, 3) == "1:3 2:3 ");
  mapped->storage_bits = 1;
  CHECK(reads(*top, 3) == "2:3 ");
  CHECK(reads(*mapped, 3).empty());
  CHECK_FALSE(reads_shuffles(*mapped));
  CHECK(reads_shuffles(*top));
  top->storage_bits = 1;
  CHECK(reads(*top, 3).empty());
  CHECK_FALSE(reads_shuffles(*top));
}
