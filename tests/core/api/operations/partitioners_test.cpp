// What keeps, loses and makes use of a partitioner; where records go; how many jobs that takes.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using Catch::Matchers::Contains;

namespace {

bool in_place(const auto& rdd) {
  return std::holds_alternative<core::NarrowDependency>(rdd.node()->dependencies.at(0));
}
/// 0, 1, … n-1 with themselves.
Rdd<std::pair<int, int>> numbered(Context& context, int n, int partitions) {
  IntPairs pairs;
  for (int i = 0; i < n; ++i) pairs.emplace_back(i, i);
  return context.parallelize(pairs, partitions);
}

}  // namespace

TEST_CASE("R2 distinct where it is partitioned already: no shuffle, partitioner kept", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const IntPairs doubled{{1, 1}, {1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 1}, {3, 1}};
  auto placed = context.parallelize(doubled, 3).partition_by(4);
  for (const auto& once : {placed.distinct(), placed.distinct(4)}) {
    CHECK(once.shuffles() == placed.shuffles());
    CHECK(once.partitioner() == placed.partitioner());
    CHECK(sorted(once.collect()) == IntPairs{{1, 1}, {2, 1}, {2, 2}, {3, 1}});
  }
  auto moved = placed.distinct(3);
  CHECK(moved.num_partitions() == 3);
  CHECK_FALSE(moved.partitioner());
  CHECK(sorted(moved.collect()) == IntPairs{{1, 1}, {2, 1}, {2, 2}, {3, 1}});
}

TEST_CASE("R44 subtract of what is partitioned already moves the other side only", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const IntPairs records{{1, 1}, {1, 1}, {1, 2}, {2, 2}, {3, 3}, {9, 9}};
  auto other = context.parallelize(IntPairs{{1, 2}, {9, 9}, {2, 7}}, 2);
  const IntPairs want{{1, 1}, {1, 1}, {2, 2}, {3, 3}};
  const auto plain = context.parallelize(records, 3);
  const auto check = [&](const auto& placed) {
    placed.count();
    const int before = runtime.stages;
    auto rest = placed.subtract(other);
    CHECK(sorted(rest.collect()) == want);
    CHECK(runtime.stages - before == 2);  // the other side's outputs, and what reads them
    CHECK(rest.num_partitions() == placed.num_partitions());
    CHECK_FALSE(rest.partitioner());
  };
  check(plain.partition_by(4));
  check(plain.sort_by_key(true, 3));
  check(plain.partition_by(2, [](int key) { return key % 2; }));
  CHECK(sorted(plain.partition_by(4).subtract(other, 3).collect()) == want);
  CHECK(plain.partition_by(4).subtract(other, 3).num_partitions() == 3);
  CHECK(plain.subtract(other).num_partitions() == 3);
}

TEST_CASE("R24 sorting within the partitions that are there moves nothing", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto placed = numbered(context, 1000, 3)
                    .map([](const auto& r) { return std::pair(r.first * 7919 % 1009, r.second); })
                    .partition_by(4);
  auto ordered = placed.repartition_and_sort_within_partitions(*placed.partitioner());
  CHECK(in_place(ordered));
  CHECK(ordered.partitioner() == placed.partitioner());
  const auto parts = ordered.glom().collect(), before = placed.glom().collect();
  REQUIRE(parts.size() == 4);
  for (size_t p = 0; p < 4; ++p) {
    CHECK(std::is_sorted(parts[p].begin(), parts[p].end()));
    CHECK(sorted(before[p]) == parts[p]);
  }
  CHECK_FALSE(in_place(placed.repartition_and_sort_within_partitions(5)));
}

TEST_CASE("operations by key put their results where a partitioner says", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = numbered(context, 40, 3);
  const auto by = *pairs.partition_by(5, [](int key) { return key % 5; }).partitioner();
  const auto check = [&](const auto& rdd) {
    CHECK(rdd.partitioner() == by);
    const auto parts = rdd.keys().glom().collect();
    REQUIRE(parts.size() == 5);
    for (size_t p = 0; p < 5; ++p) {
      CHECK(parts[p].size() == 8);
      for (const int key : parts[p]) CHECK(key % 5 == static_cast<int>(p));
    }
  };
  check(pairs.reduce_by_key(Sum{}, by));
  check(pairs.group_by_key(by));
  check(pairs.fold_by_key(0, Sum{}, by));
  check(pairs.aggregate_by_key(0, Sum{}, Sum{}, by));
  const auto as_is = [](int v) { return v; };
  check(pairs.combine_by_key(as_is, Sum{}, Sum{}, by));
  check(pairs.join(pairs, by));
  check(pairs.left_outer_join(pairs, by));
  check(pairs.right_outer_join(pairs, by));
  check(pairs.full_outer_join(pairs, by));
  check(pairs.cogroup(pairs, by));
  check(pairs.cogroup(pairs, pairs, by));
  check(pairs.cogroup(pairs, pairs, pairs, by));
  check(pairs.subtract_by_key(context.parallelize(IntPairs{}, 1), by));
  const auto groups = context.range(0, 40, 1, 3)
                          .map([](int64_t x) { return static_cast<int>(x); })
                          .group_by([](int x) { return x; }, by);
  check(groups);
  const auto ints = pairs.keys();
  CHECK(sorted(ints.intersection(ints, by).collect()) == sorted(ints.collect()));
  CHECK(ints.intersection(ints, by).num_partitions() == 5);
}

TEST_CASE("combine_by_key without combining before the shuffle: all records travel", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto pairs =
      context.range(0, 1000, 1, 4).map([](int64_t x) { return std::pair(x % 10, x); });
  const auto as_is = [](int64_t v) { return v; };
  const std::plus<int64_t> sum;
  const auto here = pairs.combine_by_key(as_is, sum, sum, 3),
             there = pairs.combine_by_key(as_is, sum, sum, 3, false);
  CHECK(here.collect_as_map() == there.collect_as_map());
  CHECK(here.collect_as_map().at(3) == 49800);
  const auto written = [&](const auto& rdd) {
    int64_t records = 0;
    for (const auto& status : runtime.services.outputs.at(rdd.shuffles().at(0)->id).statuses)
      records += status->records;
    return records;
  };
  CHECK(written(here) == 40);
  CHECK(written(there) == 1000);
}

TEST_CASE("which operations keep a partitioner", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto placed = numbered(context, 20, 2).partition_by(3);
  const auto& by = placed.partitioner();
  CHECK(placed.partition_by(3).id() == placed.id());
  CHECK(placed.filter([](const auto&) { return true; }).partitioner() == by);
  CHECK(placed.map_values([](int v) { return v; }).partitioner() == by);
  CHECK(placed.flat_map_values([](int v) { return std::vector{v}; }).partitioner() == by);
  CHECK(placed.sample(false, 0.5, 1).partitioner() == by);
  const auto all = [](auto& part) {
    IntPairs records;
    for (const auto& record : part) records.push_back(record);
    return records;
  };
  CHECK(placed.map_partitions(all, true).partitioner() == by);
  CHECK_FALSE(placed.map_partitions(all).partitioner());
  const auto with_index = [](int32_t, auto& part) {
    IntPairs records;
    for (const auto& record : part) records.push_back(record);
    return records;
  };
  CHECK(placed.map_partitions_with_index(with_index, true).partitioner() == by);
  CHECK_FALSE(placed.map_partitions_with_index(with_index).partitioner());
  const auto none = [](const auto& rdd) { CHECK_FALSE(rdd.partitioner()); };
  none(placed.map([](const auto& r) { return r; }));
  none(placed.flat_map([](const auto& r) { return std::vector{r}; }));
  none(placed.glom());
  none(placed.key_by([](const auto& r) { return r.first; }));
  none(placed.keys());
  none(placed.values());
  none(placed.zip(placed));
  none(placed.zip_with_index());
  none(placed.zip_with_unique_id());
  none(placed.cartesian(placed));
  none(placed.coalesce(2));
  none(placed.repartition(2));
  none(placed.sort_by([](const auto& r) { return r.first; }));
}

TEST_CASE("zip_partitions of two, three and four, with their partitioner or not", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = numbered(context, 12, 2).partition_by(3);
  auto counts = context.parallelize(upto(7), 3);
  auto words = context.parallelize(std::vector<std::string>{"x", "y", "z"}, 3);
  auto two = a.zip_partitions<int>(counts, [](auto& x, auto& y, auto& emit) {
    int n = 0;
    x.for_each([&](auto&&) { ++n; });
    y.for_each([&](auto&&) { n += 100; });
    emit(n);
  });
  auto three = a.zip_partitions<int>(
      counts, words,
      [](auto& x, auto& y, auto& z, auto& emit) {
        int n = 0;
        x.for_each([&](auto&&) { ++n; });
        y.for_each([&](auto&&) { n += 100; });
        z.for_each([&](auto&&) { n += 10000; });
        emit(n);
      },
      true);
  auto four =
      a.zip_partitions<int>(counts, words, a, [](auto& x, auto& y, auto& z, auto& w, auto& emit) {
        int n = 0;
        x.for_each([&](auto&&) { ++n; });
        y.for_each([&](auto&&) { n += 100; });
        z.for_each([&](auto&&) { n += 10000; });
        w.for_each([&](auto&&) { n += 1000000; });
        emit(n);
      });
  std::vector<int> want2, want3, want4;
  const auto of_a = a.glom().collect();
  const auto of_counts = counts.glom().collect();
  for (size_t p = 0; p < 3; ++p) {
    const int n = static_cast<int>(of_a[p].size());
    want2.push_back(n + 100 * static_cast<int>(of_counts[p].size()));
    want3.push_back(want2.back() + 10000);
    want4.push_back(want3.back() + 1000000 * n);
  }
  CHECK(two.collect() == want2);
  CHECK(three.collect() == want3);
  CHECK(four.collect() == want4);
  CHECK_FALSE(two.partitioner());
  CHECK(three.partitioner() == a.partitioner());
  CHECK_THROWS_WITH(a.zip_partitions<int>(counts, context.parallelize(upto(2), 2),
                                          [](auto&, auto&, auto&, auto&) {}),
                    Contains("Can't zip RDDs with unequal numbers of partitions"));
}

TEST_CASE("zipped partitions would rather be where both sides are, else where one is", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Places = std::vector<std::pair<int, std::vector<std::string>>>;
  auto left = context.make_rdd<int>(Places{{1, {"h1", "h2"}}, {2, {"h1"}}, {3, {}}, {4, {}}});
  auto right = context.make_rdd<int>(Places{{1, {"h2", "h3"}}, {2, {"h3"}}, {3, {"h4"}}, {4, {}}});
  const std::vector<std::vector<std::string>> want{{"h2"}, {"h1", "h3"}, {"h4"}, {}};
  CHECK(left.zip(right).node()->preferred == want);
  CHECK(left.zip_partitions<int>(right, [](auto&, auto&, auto&) {}).node()->preferred == want);
  CHECK(context.parallelize(upto(4), 4)
            .zip(context.parallelize(upto(4), 4))
            .node()
            ->preferred.empty());
}

TEST_CASE("a range of partitions is even where one input has nearly all records", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto skewed =
      context.range(0, 50, 1, 50).flat_map<std::pair<int64_t, int64_t>>([](int64_t p, auto& emit) {
        for (int64_t i = 0; i < (p == 17 ? 200000 : 10); ++i)
          emit(std::pair((p * 1000003 + i * 7919) % 1000003, i));
      });
  auto ordered = skewed.sort_by_key(true, 50);
  const auto sizes = ordered.glom().map([](const auto& part) { return part.size(); }).collect();
  CHECK(sizes.size() == 50);
  CHECK(std::ranges::max(sizes) < 3 * (200490 / 50));
  const auto keys = ordered.keys().collect();
  CHECK(keys.size() == 200490);
  CHECK(std::is_sorted(keys.begin(), keys.end()));

  // No more partitions than keys: none is empty for sure.
  CHECK(numbered(context, 3, 2).sort_by_key(true, 10).num_partitions() == 3);
  CHECK(numbered(context, 0, 2).sort_by_key(true, 10).num_partitions() == 1);
}

TEST_CASE("a negative number of partitions is refused by all that take one", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = numbered(context, 4, 2);
  const auto refused = [](auto f) {
    CHECK_THROWS_WITH(f(), "Number of partitions (-1) cannot be negative.");
  };
  refused([&] { pairs.distinct(-1); });
  refused([&] { pairs.subtract(pairs, -1); });
  refused([&] { pairs.subtract_by_key(pairs, -1); });
  refused([&] { pairs.sort_by_key(true, -1); });
  refused([&] { pairs.sort_by([](const auto& r) { return r.first; }, true, -1); });
  refused([&] { pairs.reduce_by_key(Sum{}, -1); });
  refused([&] { pairs.join(pairs, -1); });
  refused([&] { pairs.intersection(pairs, -1); });
}

TEST_CASE("a partitioner for keys of another type is refused where it is given", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto texts = context.parallelize(std::vector<std::string>{"a", "b", "c"}, 2);
  const auto views = texts.map([](const std::string& s) { return std::pair(s.size(), s); })
                         .partition_by(4, [](size_t k) { return static_cast<int32_t>(k % 4); });
  const auto ints = views.map([](const auto& r) { return std::pair(int(r.first), 1); });
  const auto refused = Catch::StartsWith("a partitioner of keys of the type ");
  CHECK_THROWS_WITH(ints.reduce_by_key(Sum{}, *views.partitioner()), refused);
  CHECK_THROWS_WITH(ints.partition_by(*views.partitioner()), refused);
  const auto ranges = views.sort_by_key(true, 2);
  CHECK_THROWS_WITH(ints.group_by_key(*ranges.partitioner()), refused);
  CHECK(views.map([](const auto& r) { return r; }).partition_by(*views.partitioner()).count() == 3);
}
