// Joins and partitioners against plain loops, every task through the wire form of its program.
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::IntPairs;
using tests::LocalRuntime;
using tests::sorted;

TEST_CASE("R38 joins", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Names = std::vector<std::pair<int, std::string>>;
  for (const int n : {1, 2, 7}) {
    auto left = context.parallelize(IntPairs{{1, 1}, {1, 2}, {2, 1}, {3, 1}}, n);
    auto right = context.parallelize(Names{{1, "x"}, {2, "y"}, {2, "z"}, {4, "w"}}, n);
    using Inner = std::pair<int, std::pair<int, std::string>>;
    CHECK(sorted(left.join(right).collect()) ==
          std::vector<Inner>{{1, {1, "x"}}, {1, {2, "x"}}, {2, {1, "y"}}, {2, {1, "z"}}});
    CHECK(left.left_outer_join(right).count() == 5);
    CHECK(left.right_outer_join(right).count() == 5);
    CHECK(left.full_outer_join(right).count() == 6);
    auto lonely = left.left_outer_join(right)
                      .filter([](const auto& r) { return !r.second.second.has_value(); })
                      .collect();
    REQUIRE(lonely.size() == 1);
    CHECK(lonely[0].first == 3);
    auto missing = left.right_outer_join(right).lookup(4);
    REQUIRE(missing.size() == 1);
    CHECK_FALSE(missing[0].first.has_value());
    CHECK(missing[0].second == "w");
    auto ones = context.parallelize(IntPairs{{1, 1}, {1, 2}}, n);
    CHECK(ones.join(context.parallelize(Names{{1, "a"}, {1, "b"}, {1, "c"}}, n)).count() == 6);
    CHECK(ones.join(context.parallelize(Names{{9, "a"}}, n)).count() == 0);
  }
}

TEST_CASE("joins of random pairs are those of plain loops", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  constexpr uint64_t kSeed = 11;
  CAPTURE(kSeed);
  core::Random random(kSeed, 1);
  auto make = [&](size_t n) {
    IntPairs pairs;
    for (size_t i = 0; i < n; ++i)
      pairs.emplace_back(static_cast<int>(random.below(40)), static_cast<int>(i));
    return pairs;
  };
  using Maybe = std::optional<int>;
  using Row = std::pair<int, std::pair<Maybe, Maybe>>;
  for (const int n : {1, 2, 7}) {
    const IntPairs a = make(60), b = make(30);
    std::vector<Row> both, left, right;
    for (const auto& [k, v] : a)
      for (const auto& [l, w] : b)
        if (k == l) both.push_back({k, {v, w}});
    auto alone = [](const IntPairs& in, int key) {
      return std::none_of(in.begin(), in.end(), [&](const auto& p) { return p.first == key; });
    };
    for (const auto& [k, v] : a)
      if (alone(b, k)) left.push_back({k, {v, std::nullopt}});
    for (const auto& [k, w] : b)
      if (alone(a, k)) right.push_back({k, {std::nullopt, w}});
    auto rows = [](const auto& rdd) {
      std::vector<Row> got;
      for (const auto& [k, values] : rdd.collect())
        got.push_back({k, {values.first, values.second}});
      return sorted(got);
    };
    auto joined = [&](std::initializer_list<std::vector<Row>> parts) {
      std::vector<Row> all;
      for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
      return sorted(all);
    };
    const auto x = context.parallelize(a, n), y = context.parallelize(b, n + 1);
    CHECK(rows(x.join(y)) == joined({both}));
    CHECK(rows(x.left_outer_join(y)) == joined({both, left}));
    CHECK(rows(x.right_outer_join(y)) == joined({both, right}));
    CHECK(rows(x.full_outer_join(y)) == joined({both, left, right}));
    // One side in place, the other one shuffled, and the other way round.
    const auto here = x.partition_by(3);
    CHECK(rows(here.join(y)) == joined({both}));
    CHECK(rows(here.right_outer_join(y)) == joined({both, right}));
    CHECK(rows(y.partition_by(3).left_outer_join(here).map_values([](const auto& v) {
            return std::pair(v.second, Maybe(v.first));
          })) == joined({both, right}));
    CHECK(x.join(y).take(3).size() == 3);
  }
}

TEST_CASE("joined values of a key come in the order in which they lay there", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto left = context.parallelize(IntPairs{{1, 10}, {1, 20}}, 1);
  const auto right = context.parallelize(IntPairs{{1, 1}, {2, 0}, {1, 2}, {1, 3}}, 1);
  using Row = std::pair<int, std::pair<int, int>>;
  CHECK(left.join(right).collect() ==
        std::vector<Row>{
            {1, {10, 1}}, {1, {10, 2}}, {1, {10, 3}}, {1, {20, 1}}, {1, {20, 2}}, {1, {20, 3}}});
}

TEST_CASE("joins of views keep what they join", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto text = context.parallelize(std::vector<std::string>{"ann berlin oslo", "bob paris"}, 2);
  auto pairs =
      text.flat_map<std::pair<std::string, std::string>>([](const std::string& line, auto& emit) {
        std::string name;
        words(line, [&](std::string_view w) {
          if (name.empty())
            name = w;
          else
            emit(std::pair(name, std::string(w)));
          return true;
        });
      });
  auto views = pairs.map([](const auto& p) {
    return std::pair(std::string_view(p.first), std::string_view(p.second));
  });
  auto joined = views.join(views.map_values([](std::string_view v) { return v.size(); }));
  using Row = std::pair<std::string, std::pair<std::string, size_t>>;
  CHECK(sorted(joined.collect()) == std::vector<Row>{{"ann", {"berlin", 4}},
                                                     {"ann", {"berlin", 6}},
                                                     {"ann", {"oslo", 4}},
                                                     {"ann", {"oslo", 6}},
                                                     {"bob", {"paris", 5}}});
  CHECK(views
            .reduce_by_key(
                [](std::string_view a, std::string_view b) { return std::string(std::max(a, b)); })
            .collect_as_map() ==
        std::map<std::string, std::string>{{"ann", "oslo"}, {"bob", "paris"}});
}

TEST_CASE("R39 cogroup of two, three and four", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = context.parallelize(IntPairs{{1, 1}, {1, 2}, {3, 1}}, 2);
  auto b = context.parallelize(IntPairs{{1, 10}, {4, 40}}, 3);
  auto two = a.cogroup(b).collect_as_map();
  CHECK(two.size() == 3);
  CHECK(sorted(two.at(1).first) == std::vector<int>{1, 2});
  CHECK(two.at(4).first.empty());
  CHECK(two.at(3).second.empty());
  auto three = a.cogroup(b, b).collect_as_map();
  CHECK(std::get<2>(three.at(4)) == std::vector<int>{40});
  auto four = a.cogroup(b, b, a).collect_as_map();
  CHECK(sorted(std::get<3>(four.at(1))) == std::vector<int>{1, 2});
  CHECK(a.group_with(b, b, a).collect_as_map().size() == four.size());
  CHECK(a.group_with(b, b).collect_as_map() == three);
  CHECK(a.group_with(b).collect_as_map().at(4).second == std::vector<int>{40});
}

TEST_CASE("co-partitioned inputs are joined in place", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = context.parallelize(IntPairs{{1, 1}, {2, 2}, {3, 3}}, 2).partition_by(3);
  auto b = context.parallelize(IntPairs{{1, 10}, {3, 30}}, 2).partition_by(3);
  auto joined = a.join(b);
  CHECK(joined.partitioner() == a.partitioner());
  CHECK(joined.count() == 2);
  CHECK(runtime.stages == 3);
  auto both = a.union_with(b);
  CHECK(both.num_partitions() == 3);
  CHECK(both.partitioner() == a.partitioner());
  CHECK(both.count() == 5);
  CHECK(a.union_with(context.parallelize(IntPairs{{9, 9}}, 1)).num_partitions() == 4);
}

TEST_CASE("R47 lookup, with and without a partitioner", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto pairs = context.parallelize(IntPairs{{1, 2}, {3, 4}, {5, 6}, {5, 7}}, 3);
  CHECK(pairs.lookup(1) == std::vector<int>{2});
  CHECK(pairs.lookup(5) == std::vector<int>{6, 7});
  CHECK(pairs.lookup(-1).empty());
  auto placed = pairs.partition_by(4);
  const int before = runtime.tasks;
  CHECK(placed.count() == 4);
  const int placed_tasks = runtime.tasks - before;
  CHECK(sorted(placed.lookup(5)) == std::vector<int>{6, 7});
  CHECK(runtime.tasks == before + placed_tasks + 1);
  auto bad = pairs.partition_by(2, [](int key) { return -key; });
  CHECK_THROWS_WITH(bad.count(), Catch::Contains("partition function answered -1"));
}

TEST_CASE("R41 the default partitioner", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto plain = [&](int n) { return context.parallelize(IntPairs{{1, 1}}, n); };
  auto hashed = [&](int from, int n) { return plain(from).partition_by(n); };
  CHECK(plain(1000).join(hashed(2, 10)).num_partitions() == 1000);
  CHECK(plain(20).join(hashed(2, 10)).num_partitions() == 10);
  CHECK(plain(4).cogroup(hashed(2, 10), plain(20)).num_partitions() == 10);
  CHECK(plain(2000).group_by_key().num_partitions() == 2000);
  CHECK(plain(2).join(plain(2000)).num_partitions() == 2000);
  LocalRuntime four(2, conf::Conf::of({{"spark.default.parallelism", "4"}}));
  Context other(four);
  auto other_plain = [&](int n) { return other.parallelize(IntPairs{{1, 1}}, n); };
  CHECK(other_plain(20).group_by_key().num_partitions() == 4);
  CHECK(other_plain(20).join(other_plain(2).partition_by(10)).num_partitions() == 10);
  CHECK(other_plain(1000).join(other_plain(2).partition_by(10)).num_partitions() == 10);
}

TEST_CASE("which operators keep the partitioner (R19, R43, R44)", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto placed = context.parallelize(IntPairs{{1, 1}, {1, 1}, {2, 2}, {3, 3}}, 2).partition_by(3);
  CHECK(placed.filter([](const auto&) { return true; }).partitioner());
  CHECK(placed.map_values([](int v) { return v; }).partitioner());
  CHECK(placed.flat_map_values([](int v) { return std::vector<int>{v, v}; }).partitioner());
  CHECK(placed.sample(false, 0.5, 1).partitioner());
  CHECK(placed.sample(true, 0.5, 1).partitioner());
  CHECK_FALSE(placed.map([](const auto& p) { return p; }).partitioner());
  CHECK_FALSE(placed.keys().partitioner());
  CHECK_FALSE(placed.values().partitioner());
  CHECK(sorted(placed.flat_map_values([](int v) {
                       return std::vector<int>{v, v};
                     })
                   .keys()
                   .collect()) == std::vector<int>{1, 1, 1, 1, 2, 2, 3, 3});
  auto other = context.parallelize(IntPairs{{2, 0}, {3, 3}}, 2);
  CHECK(placed.subtract_by_key(other).collect() == IntPairs{{1, 1}, {1, 1}});
  CHECK(placed.subtract_by_key(other).partitioner() == placed.partitioner());
  CHECK(sorted(placed.subtract(other).collect()) == IntPairs{{1, 1}, {1, 1}, {2, 2}});
  CHECK_FALSE(placed.subtract(other).partitioner());
}

TEST_CASE("a partitioned Rdd gives each key one partition", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto parts = context.range(0, 10000, 1, 3)
                   .map([](int64_t x) { return std::pair(x % 100, x); })
                   .partition_by(8)
                   .keys()
                   .glom()
                   .collect();
  std::map<int64_t, size_t> home;
  size_t total = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    total += parts[p].size();
    for (const int64_t key : parts[p]) CHECK(home.emplace(key, p).first->second == p);
  }
  CHECK(total == 10000);
  CHECK(home.size() == 100);
}
