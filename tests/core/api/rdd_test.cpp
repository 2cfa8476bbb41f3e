// Transformations of Rdd<T> against plain loops, every task through the wire form of its program.
#include <span>
#include <unordered_map>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::LocalRuntime;
using tests::sorted;
using tests::upto;

TEST_CASE("R1 four numbers in two partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.parallelize(std::vector<int>{1, 2, 3, 4}, 2);
  CHECK(nums.num_partitions() == 2);
  CHECK(nums.collect() == std::vector<int>{1, 2, 3, 4});
  CHECK(nums.count() == 4);
  CHECK(sorted(context.parallelize(upto(9), 3).repartition(5).collect()) == upto(9));
  CHECK(nums.reduce([](int a, int b) { return a + b; }) == 10);
  CHECK(nums.fold(0, [](int a, int b) { return a + b; }) == 10);
  CHECK(nums.union_with(nums).collect() == std::vector<int>{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(nums.glom().collect() == std::vector<std::vector<int>>{{1, 2}, {3, 4}});
  CHECK(nums.map([](int x) { return std::to_string(x); }).collect() ==
        std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(nums.filter([](int x) { return x > 2; }).collect() == std::vector<int>{3, 4});
  CHECK(
      nums.flat_map([](int x) { return std::vector<int>(static_cast<size_t>(x), x); }).collect() ==
      std::vector<int>{1, 2, 2, 3, 3, 3, 4, 4, 4, 4});
  CHECK(nums.key_by([](int x) { return x % 2 == 0; }).collect() ==
        std::vector<std::pair<bool, int>>{{false, 1}, {true, 2}, {false, 3}, {true, 4}});
  CHECK(nums.max() == 4);
  CHECK(nums.min() == 1);
  auto sums = nums.map_partitions([](Partition<int>& in) {
    int sum = 0;
    for (int x : in) sum += x;
    return std::vector<int>{sum};
  });
  CHECK(sums.collect() == std::vector<int>{3, 7});
  auto indexed = nums.map_partitions_with_index<std::pair<int, int>>(
      [](int p, Partition<int>& in, auto& emit) {
        int sum = 0;
        in.for_each([&](int x) { sum += x; });
        emit(std::pair(p, sum));
      });
  CHECK(indexed.collect() == std::vector<std::pair<int, int>>{{0, 3}, {1, 7}});
  std::map<int32_t, int> of_some;
  const auto sum_up = [](Partition<int>& in) {
    int sum = 0;
    for (int x : in) sum += x;
    return sum;
  };
  const auto keep = [&](int32_t i, int sum) { of_some[i] = sum; };
  nums.run_job(sum_up, {1, 0}, keep);
  CHECK(of_some == std::map<int32_t, int>{{0, 7}, {1, 3}});
  nums.run_job(sum_up, {}, keep);
  CHECK(of_some.size() == 2);
  CHECK_THROWS_AS(nums.run_job(sum_up, {2}, keep), std::invalid_argument);
  CHECK_THROWS_WITH(
      nums.filter([](int x) { return x > 5; }).reduce([](int a, int b) { return a + b; }),
      "empty collection");
}

TEST_CASE("R8 empty Rdds", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto none = context.empty_rdd<int>();
  CHECK(none.num_partitions() == 0);
  CHECK(none.count() == 0);
  CHECK(none.collect().empty());
  CHECK_THROWS_WITH(none.reduce([](int a, int b) { return a + b; }), Catch::Contains("empty"));
  CHECK_THROWS_WITH(none.first(), "empty collection");
  CHECK(none.fold(7, [](int a, int b) { return a + b; }) == 7);
  CHECK(runtime.jobs == 0);
  auto pairs = context.parallelize(std::vector<std::pair<int, int>>{{1, 1}, {2, 2}}, 2);
  auto empty = context.empty_rdd<std::pair<int, int>>();
  CHECK(pairs.join(empty).count() == 0);
  CHECK(pairs.right_outer_join(empty).count() == 0);
  CHECK(pairs.left_outer_join(empty).count() == 2);
  CHECK(pairs.full_outer_join(empty).count() == 2);
  CHECK(pairs.cogroup(empty).count() == 2);
  CHECK(pairs.union_with(empty).count() == 2);
}

TEST_CASE("operators agree with plain loops over 1, 2 and 7 partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto all = upto(100);
  for (const int n : {1, 2, 7}) {
    auto nums = context.parallelize(all, n);
    CHECK(nums.collect() == all);
    CHECK(nums.count() == 100);
    CHECK(sorted(nums.map([](int x) { return x % 10; }).distinct().collect()) ==
          std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(nums.sort_by([](int x) { return -x; }).collect() ==
          std::vector<int>(all.rbegin(), all.rend()));
    CHECK(
        nums.map([](int x) { return (x * 37) % 101; }).sort_by([](int x) { return x; }).collect() ==
        all);
    CHECK(nums.sort_by([](int x) { return x; }, false, 3).collect() ==
          std::vector<int>(all.rbegin(), all.rend()));
    CHECK(nums.coalesce(2).collect() == all);
    CHECK(sorted(nums.repartition(5).collect()) == all);
    CHECK(nums.count_by_value().size() == 100);
    CHECK(nums.zip(nums.map([](int x) { return x * x; }))
              .map([](const auto& p) { return p.second - p.first * p.first; })
              .sum() == 0);
    CHECK(nums.take_ordered(3) == std::vector<int>{1, 2, 3});
    CHECK(nums.top(3) == std::vector<int>{100, 99, 98});
    std::vector<std::pair<int, int64_t>> numbered;
    for (int x : all) numbered.emplace_back(x, x - 1);
    CHECK(nums.zip_with_index().collect() == numbered);
    std::set<int64_t> unique;
    for (const auto& [x, id] : nums.zip_with_unique_id().collect()) unique.insert(id);
    CHECK(unique.size() == 100);
    auto lines = nums.map([](int x) { return std::to_string(x); });
    CHECK(lines.reduce([](const std::string& a, const std::string& b) {
      return std::to_string(std::stoi(a) + std::stoi(b));
    }) == "5050");
    CHECK(sorted(nums.intersection(context.parallelize(std::vector<int>{5, 5, 6, 200}, 3))
                     .collect()) == std::vector<int>{5, 6});
    CHECK(nums.subtract(
                  context.range(2, 200, 1, 2).map([](int64_t x) { return static_cast<int>(x); }))
              .collect() == std::vector<int>{1});
    int groups = 0;
    for (auto& [odd, members] : nums.group_by([](int x) { return x % 2; }).collect()) {
      ++groups;
      CHECK(sorted(members).front() == (odd ? 1 : 2));
      CHECK(members.size() == 50);
    }
    CHECK(groups == 2);
  }
}

TEST_CASE("R9 repartition spreads evenly", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK_THROWS_AS(context.range(0, 10, 1, 2).repartition(0), std::invalid_argument);
  struct Case {
    int count, from, to;
  };
  for (const auto& [count, from, to] :
       {Case{1000, 10, 2}, Case{100, 10, 20}, Case{20000, 20, 100}, Case{1000, 250, 128}}) {
    const auto parts = context.range(0, count, 1, from).repartition(to).glom().collect();
    REQUIRE(static_cast<int>(parts.size()) == to);
    size_t total = 0;
    for (const auto& part : parts) {
      total += part.size();
      CHECK(part.size() <= static_cast<size_t>(count / to + from));
      CHECK(!part.empty());
    }
    CHECK(total == static_cast<size_t>(count));
  }
}

TEST_CASE("R10 coalesce joins neighbours", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto ten = context.parallelize(upto(10), 10);
  CHECK(ten.coalesce(2).glom().collect() ==
        std::vector<std::vector<int>>{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}});
  CHECK(ten.coalesce(3).glom().collect() ==
        std::vector<std::vector<int>>{{1, 2, 3}, {4, 5, 6}, {7, 8, 9, 10}});
  CHECK(ten.coalesce(10).num_partitions() == 10);
  CHECK(ten.coalesce(20).num_partitions() == 10);
  CHECK(ten.coalesce(20, true).num_partitions() == 20);
  CHECK(ten.coalesce(1).shuffles().empty());
  CHECK(ten.coalesce(1, true).shuffles().size() == 1);
  CHECK(sorted(ten.coalesce(1, true).collect()) == upto(10));
  CHECK_THROWS_WITH(ten.coalesce(0), "Number of partitions (n) must be positive.");
}

TEST_CASE("R12 zip wants equal shapes", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto two = context.parallelize(upto(4), 2);
  CHECK_THROWS_WITH(two.zip(context.parallelize(upto(4), 1)),
                    "Can't zip RDDs with unequal numbers of partitions: List(2, 1)");
  CHECK_THROWS_WITH(
      two.zip(context.parallelize(upto(5), 2)).collect(),
      Catch::Contains("Can only zip RDDs with same number of elements in each partition"));
  auto sums = two.zip_partitions<int>(context.parallelize(upto(5), 2),
                                      [](Partition<int>& a, Partition<int>& b, auto& emit) {
                                        int left = 0, right = 0;
                                        for (int x : a) left += x;
                                        for (int x : b) right += x;
                                        emit(left * 100 + right);
                                      });
  CHECK(sums.collect() == std::vector<int>{303, 712});
}

TEST_CASE("zips of zips keep views good and batches in step", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto names = context.parallelize(upto(5000), 2).map([](int x) {
    return std::to_string(x) + std::string(20, '.');
  });
  auto zipped =
      names.zip(context.parallelize(upto(5000), 2).filter([](int) { return true; }).zip(names));
  int64_t wrong = zipped
                      .filter([](const auto& r) {
                        return r.first != r.second.second || std::stoi(r.first) != r.second.first;
                      })
                      .count();
  CHECK(wrong == 0);
}

TEST_CASE("what fails behind an emitter fails the task, though user code swallows it", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto passed = context.parallelize(upto(6), 2).flat_map<int>([](int x, auto& emit) {
    try {
      emit(x);
    } catch (const std::exception&) {
    }
  });
  const auto checked = passed.map([](int x) {
    if (x == 2) throw std::runtime_error("it is two");
    return x;
  });
  CHECK_THROWS_WITH(checked.count(), Catch::Contains("it is two"));
  checked.cache();
  CHECK_THROWS_WITH(checked.count(), Catch::Contains("it is two"));
  CHECK(!runtime.services.blocks.contains("rdd_2_0"));
  CHECK(passed.count() == 6);
}

TEST_CASE("what functions return is moved from only where it is theirs", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  const auto three = context.parallelize(upto(3), 1);
  const std::vector<std::string> once{"alpha", "beta"};
  std::vector<std::string> thrice;
  for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), once.begin(), once.end());
  CHECK(three
            .flat_map([](int) -> auto& {
              static thread_local std::vector<std::string> table{"alpha", "beta"};
              return table;
            })
            .collect() == thrice);
  CHECK(three
            .flat_map([](int) {
              static thread_local std::vector<std::string> table{"alpha", "beta"};
              return std::span<std::string>(table);
            })
            .collect() == thrice);
  CHECK(three.map([](int x) { return std::pair(x, x); })
            .flat_map_values([](int) {
              static thread_local std::vector<std::string> table{"alpha", "beta"};
              return std::span<std::string>(table);
            })
            .values()
            .collect() == thrice);
  const auto parts = three.map_partitions([](auto&) {
    static thread_local std::vector<std::string> table{"alpha", "beta"};
    return std::span<std::string>(table);
  });
  CHECK(parts.collect() == once);
  CHECK(parts.collect() == once);
}

TEST_CASE("functions may return maps, vectors of bool and references", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto numbers = context.parallelize(upto(6), 2);
  auto counts = numbers.map_partitions([](auto& in) {
    std::unordered_map<std::string, int64_t> n;
    for (int x : in) ++n[x % 2 ? "odd" : "even"];
    return n;
  });
  CHECK(counts.reduce_by_key(tests::Sum{}).collect_as_map() ==
        std::map<std::string, int64_t>{{"even", 3}, {"odd", 3}});
  CHECK(numbers.flat_map([](int x) {
                 return std::vector<bool>{x > 3, true};
               })
            .collect()
            .size() == 12);
  CHECK(numbers
            .map(capture(std::vector<std::string>{"a"},
                         [](const auto& t, int) -> const std::string& { return t[0]; }))
            .distinct()
            .collect() == std::vector<std::string>{"a"});
  CHECK(numbers
            .map([](int x) {
              const std::map<int, int> one{{x % 2, x}};
              return *one.begin();
            })
            .reduce_by_key(tests::Sum{})
            .collect_as_map() == std::map<int, int>{{0, 12}, {1, 9}});
}

TEST_CASE("records of a partition may be skipped", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7}) {
    const auto numbers = context.range(0, 3000, 1, n);
    const auto partitions = numbers.glom().collect();
    std::vector<int64_t> without_first, thirds;
    for (const auto& partition : partitions)
      for (size_t i = 0; i < partition.size(); ++i) {
        if (i > 0) without_first.push_back(partition[i]);
        if (i % 3 == 0) thirds.push_back(partition[i]);
      }
    CHECK(numbers
              .map_partitions<int64_t>([](auto& in, auto& emit) {
                auto it = in.begin();
                for (++it; it != in.end(); ++it) emit(*it);
              })
              .collect() == without_first);
    CHECK(numbers
              .map_partitions<int64_t>([](auto& in, auto& emit) {
                for (auto it = in.begin(); it != in.end(); ++it, ++it, ++it) emit(*it);
              })
              .collect() == thirds);
    CHECK(numbers
              .map_partitions<int64_t>([](auto& in, auto& emit) {
                if (in.peek()) in.advance();
                in.for_each([&](int64_t x) { emit(x); });
              })
              .collect() == without_first);
    std::vector<int64_t> local;
    auto all = numbers.to_local_iterator();
    auto it = all.begin();
    for (++it; it != all.end(); ++it, ++it) local.push_back(*it);
    CHECK(local.size() == 1500);
    CHECK(local.back() == 2999);
  }
}

TEST_CASE("for_each stops where it is told to, also after records were taken", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto rest = context.range(0, 10, 1, 1).map_partitions<int64_t>([](auto& in, auto& emit) {
    for (int i = 0; i < 3; ++i) in.advance();
    in.for_each([](int64_t x) { return x < 5; });
    while (auto* x = in.peek()) {
      emit(*x);
      in.advance();
    }
  });
  CHECK(rest.collect() == std::vector<int64_t>{6, 7, 8, 9});
}

TEST_CASE("records may be of bool", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto numbers = context.parallelize(upto(4), 2);
  const auto flags = numbers.map([](int x) { return x > 2; });
  CHECK(flags.zip(numbers).count_by_key() == std::map<bool, int64_t>{{false, 2}, {true, 2}});
  int n = 0;
  for (auto& flag : flags.to_local_iterator()) n += flag ? 1 : 0;
  CHECK(n == 2);
  CHECK(numbers.sort_by([](int x) { return x <= 2; }).first() == 3);
  CHECK(flags
            .map_partitions([](auto& in) {
              int trues = 0;
              for (auto& flag : in) trues += flag ? 1 : 0;
              return std::vector{trues};
            })
            .collect() == std::vector{0, 2});
}
