// Rdd<T> against plain loops, every task through the wire form of its program.
#include "core/api/tinderbox.hpp"
#include "tests/local_runtime.hpp"

#include <fstream>
#include <numeric>
#include <thread>

using namespace tinderbox;
using tests::LocalRuntime;

namespace {

std::vector<int> upto(int n) {
  std::vector<int> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 1);
  return all;
}
template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}

}  // namespace

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
  CHECK_THROWS_WITH(
      nums.filter([](int x) { return x > 5; }).reduce([](int a, int b) { return a + b; }),
      "empty collection");
}

TEST_CASE("word count over a file", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in.txt";
  std::ofstream(path) << "to be or not to be\nthat is the question\r\nto die  to sleep\n";
  auto counts =
      context.text_file(path, 3)
          .flat_map<std::string_view>([](std::string_view line, auto& emit) { words(line, emit); })
          .map([](std::string_view w) { return std::pair(w, int64_t{1}); })
          .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  const std::map<std::string, int64_t> want{{"to", 4},    {"be", 2},      {"or", 1},  {"not", 1},
                                            {"that", 1},  {"is", 1},      {"the", 1}, {"die", 1},
                                            {"sleep", 1}, {"question", 1}};
  CHECK(counts.collect_as_map() == want);
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

TEST_CASE("R6 fold and aggregate over ten partitions", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(-1000, 1000, 1, 10);
  CHECK(nums.fold(0, [](int64_t a, int64_t b) { return a + b; }) == -1000);
  CHECK(nums.sum() == -1000);
  const auto set = nums.aggregate(
      std::set<int64_t>(),
      [](std::set<int64_t> s, int64_t x) {
        s.insert(x % 3);
        return s;
      },
      [](std::set<int64_t> a, std::set<int64_t> b) {
        a.merge(b);
        return a;
      });
  CHECK(set == std::set<int64_t>{-2, -1, 0, 1, 2});
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

TEST_CASE("R14 more partitions than records", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.parallelize(upto(10), 1000).repartition(201).count() == 10);
}

TEST_CASE("R15 take looks at as few partitions as it can", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto all = upto(999);
  for (const int n : {1, 2, 100, 1000}) {
    auto nums = context.parallelize(all, n);
    for (const int k : {0, 1, 3, 500, 501, 999, 1000}) {
      CHECK(nums.take(k) == std::vector<int>(all.begin(), all.begin() + std::min(k, 999)));
    }
  }
  CHECK(context.parallelize(std::vector<int>{1, 2}, 2).take(2147483638).size() == 2);
}

TEST_CASE("R16 take runs one job a round", "[rdd]") {
  LocalRuntime several;
  Context context(several);
  CHECK(context.parallelize(upto(101), 100).take(50).size() == 50);
  CHECK(several.jobs > 1);
  LocalRuntime once(2, conf::Conf::of({{"spark.rdd.limit.initialNumPartitions", "1000"}}));
  Context other(once);
  CHECK(other.parallelize(upto(101), 100).take(50).size() == 50);
  CHECK(once.jobs == 1);
}

TEST_CASE("take stops an endless producer", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto endless = context.parallelize(upto(2), 2).flat_map<int64_t>([](int x, auto& emit) {
    for (int64_t i = 0; emit(i * x); ++i) {
    }
  });
  CHECK(endless.take(3) == std::vector<int64_t>{0, 1, 2});
  CHECK(endless.union_with(endless).take(2) == std::vector<int64_t>{0, 1});
  CHECK_FALSE(endless.is_empty());
}

TEST_CASE("R17 top and take_ordered", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(1, 10000, 1, 5).map([](int64_t x) { return x * 7919 % 10007; });
  auto plain = nums.collect();
  std::sort(plain.begin(), plain.end());
  CHECK(nums.take_ordered(5) == std::vector<int64_t>(plain.begin(), plain.begin() + 5));
  CHECK(nums.top(5) == std::vector<int64_t>(plain.rbegin(), plain.rbegin() + 5));
  CHECK(context.parallelize(std::vector<std::string>{"a", "b", "c"}, 2).top(2, std::greater<>{}) ==
        std::vector<std::string>{"a", "b"});
  CHECK(nums.take_ordered(0).empty());
  CHECK(context.empty_rdd<int>().top(3).empty());
  CHECK(nums.filter([](int64_t) { return false; }).top(3).empty());
}

TEST_CASE("R18 is_empty", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.empty_rdd<int>().is_empty());
  CHECK(context.parallelize(std::vector<int>{}, 3).is_empty());
  CHECK(context.parallelize(upto(3), 3).filter([](int) { return false; }).is_empty());
  CHECK_FALSE(context.parallelize(upto(3), 3).filter([](int x) { return x == 3; }).is_empty());
}

TEST_CASE("sample and R21 random_split follow their seed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto nums = context.range(0, 10000, 1, 4);
  const auto once = nums.sample(false, 0.3, 7).collect();
  CHECK(once == nums.sample(false, 0.3, 7).collect());
  CHECK(once != nums.sample(false, 0.3, 8).collect());
  CHECK(once.size() > 2700);
  CHECK(once.size() < 3300);
  const auto twice = nums.sample(true, 2.0, 7).count();
  CHECK(twice > 19000);
  CHECK(twice < 21000);
  CHECK_THROWS_AS(nums.sample(false, 1.5, 1), std::invalid_argument);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto parts = context.range(0, 600, 1, 3).random_split({1, 2, 3}, seed);
    REQUIRE(parts.size() == 3);
    std::vector<int64_t> all;
    for (size_t i = 0; i < 3; ++i) {
      const auto part = parts[i].collect();
      CHECK(std::abs(static_cast<int>(part.size()) - 100 * static_cast<int>(i + 1)) < 50);
      all.insert(all.end(), part.begin(), part.end());
    }
    CHECK(sorted(all) == context.range(0, 600).collect());
  }
}

TEST_CASE("R22 a job on a partition that is not there", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto two = context.parallelize(upto(4), 2);
  CHECK_THROWS_AS(
      two.act(core::CountRecords{}, {2}, "count", Site::current(), [](int32_t, int64_t) {}),
      std::invalid_argument);
}

TEST_CASE("R25 cartesian, also with empty sides", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = context.parallelize(std::vector<int>{1, 2, 3}, 2);
  auto b = context.parallelize(std::vector<std::string>{"x", "y"}, 2);
  CHECK(a.cartesian(b).num_partitions() == 4);
  CHECK(sorted(a.cartesian(b).collect()) ==
        std::vector<std::pair<int, std::string>>{
            {1, "x"}, {1, "y"}, {2, "x"}, {2, "y"}, {3, "x"}, {3, "y"}});
  CHECK(a.cartesian(context.empty_rdd<int>()).count() == 0);
  CHECK(context.empty_rdd<int>().cartesian(a).count() == 0);
}

TEST_CASE("ranges of any step keep within their bounds", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.range(0, 10, 3, 4).collect() == std::vector<int64_t>{0, 3, 6, 9});
  CHECK(context.range(10, 0, -3, 2).collect() == std::vector<int64_t>{10, 7, 4, 1});
  CHECK(context.range(5, 5).count() == 0);
  CHECK_THROWS_AS(context.range(0, 5, 0), std::invalid_argument);
  CHECK_THROWS_WITH(context.range(0, 5, 1, -1), "Positive number of partitions required");
  CHECK(context.range(INT64_MIN, INT64_MAX, INT64_MAX, 3).collect() ==
        std::vector<int64_t>{INT64_MIN, -1, INT64_MAX - 1});
}

TEST_CASE("R23 sort_by of records with keys of their own", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  using Person = std::pair<std::string, int>;
  const std::vector<Person> people{{"carol", 30}, {"bob", 20}, {"ann", 40}};
  auto rdd = context.parallelize(people, 2);
  CHECK(rdd.sort_by([](const Person& p) { return p.first; }).keys().collect() ==
        std::vector<std::string>{"ann", "bob", "carol"});
  CHECK(rdd.sort_by([](const Person& p) { return p.second; }, false).keys().collect() ==
        std::vector<std::string>{"ann", "carol", "bob"});
  CHECK(context.empty_rdd<Person>()
            .sort_by([](const Person& p) { return p.first; })
            .collect()
            .empty());
}

TEST_CASE("text files: every line once, whatever the splits", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory;
  std::string text;
  std::vector<std::string> want;
  for (int i = 0; i < 300; ++i) {
    want.push_back(std::string(static_cast<size_t>(i * i % 97), static_cast<char>('a' + i % 26)));
    text += want.back() + (i % 3 == 0 ? "\r\n" : "\n");
  }
  std::ofstream(dir + "/lines") << text;
  for (int n = 1; n < 40; ++n) CHECK(context.text_file(dir + "/lines", n).collect() == want);
  std::ofstream(dir + "/lines") << text << "no end";
  want.push_back("no end");
  for (const int n : {1, 2, 3, 500, 20000})
    CHECK(context.text_file(dir + "/lines", n).collect() == want);
  std::ofstream(dir + "/long") << std::string(3000000, 'x') << "\ny\n";
  CHECK(context.text_file(dir + "/long", 7)
            .map([](std::string_view l) { return l.size(); })
            .collect() == std::vector<size_t>{3000000, 1});
  std::ofstream(dir + "/empty") << "";
  CHECK(context.text_file(dir + "/empty").collect().empty());
}

TEST_CASE("R42 text files: directories, globs, lists, missing ones", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory;
  for (const char* name : {"/d/one.txt", "/d/two.txt", "/d/three.log", "/d/_hidden", "/d/.also"}) {
    (void)runtime.files().make_directories(dir + "/d");
    std::ofstream(dir + name) << name << "\n";
  }
  (void)runtime.files().make_directories(dir + "/none");
  auto lines = [&](const std::string& path) { return sorted(context.text_file(path).collect()); };
  CHECK(lines(dir + "/d") == std::vector<std::string>{"/d/one.txt", "/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/d/t*") == std::vector<std::string>{"/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/?/*.txt") == std::vector<std::string>{"/d/one.txt", "/d/two.txt"});
  CHECK(lines(dir + "/d/{one,three}.*") == std::vector<std::string>{"/d/one.txt", "/d/three.log"});
  CHECK(lines("file:" + dir + "/d/one.txt,file://" + dir + "/d/three.log") ==
        std::vector<std::string>{"/d/one.txt", "/d/three.log"});
  CHECK(context.text_file(dir + "/none").num_partitions() == 0);
  CHECK(context.text_file(dir + "/none")
            .map([](std::string_view l) { return std::pair(l, 1); })
            .reduce_by_key([](int a, int b) { return a + b; })
            .collect()
            .empty());
  CHECK_THROWS_WITH(context.text_file(dir + "/missing"),
                    "Input path does not exist: file:" + dir + "/missing");
  CHECK_THROWS_WITH(context.text_file(dir + "/zz*"),
                    "Input Pattern file:" + dir + "/zz* matches 0 files");
  CHECK_THROWS_WITH(context.text_file("hdfs://h/x"),
                    Catch::Contains("No FileSystem for scheme \"hdfs\""));
}

TEST_CASE("save_as_text_file commits parts and refuses an existing directory", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string out = runtime.services.directory + "/out";
  context.parallelize(upto(6), 3)
      .map([](int x) { return std::pair(x, x / 2.0); })
      .save_as_text_file(out);
  auto list = runtime.files().list(out);
  std::vector<std::string> names;
  for (const auto& entry : *list) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"_SUCCESS", "part-00000", "part-00001", "part-00002"});
  CHECK(context.text_file(out).collect() ==
        std::vector<std::string>{"(1,0.5)", "(2,1.0)", "(3,1.5)", "(4,2.0)", "(5,2.5)", "(6,3.0)"});
  CHECK_THROWS_WITH(context.range(0, 1).save_as_text_file(out),
                    "Output directory file:" + out + " already exists");
  const std::string failed = runtime.services.directory + "/failed";
  CHECK_THROWS(context.parallelize(upto(2), 2)
                   .map([](int x) { return x == 2 ? throw std::runtime_error("bad two") : x; })
                   .save_as_text_file(failed));
  CHECK_FALSE((*runtime.files().stat(failed + "/_SUCCESS")).has_value());
}

TEST_CASE("R7 a persisted Rdd is computed once", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto computed = context.long_accumulator("computed");
  auto rdd = context.parallelize(upto(4), 2).map(capture(computed, [](const auto& n, int x) {
    n.add(1);
    return std::to_string(x);
  }));
  rdd.persist(MEMORY_AND_DISK);
  for (int i = 0; i < 3; ++i) CHECK(rdd.collect() == std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(computed.value() == 4);
  CHECK(runtime.services.blocks.contains("rdd_1_0"));
  CHECK_THROWS_WITH(rdd.persist(DISK_ONLY),
                    "Cannot change storage level of an RDD after it was already assigned a level");
  runtime.services.blocks.erase("rdd_1_1");
  CHECK(rdd.count() == 4);
  CHECK(computed.value() == 6);
  rdd.unpersist();
  CHECK(runtime.services.blocks.empty());
  CHECK(rdd.count() == 4);
  rdd.persist(DISK_ONLY);
  auto failing = context.parallelize(upto(2), 1).map([](int x) -> int {
    throw std::runtime_error("oops " + std::to_string(x));
  });
  failing.cache();
  CHECK_THROWS_WITH(failing.count(), Catch::Contains("oops 1"));
  auto views = context.parallelize(std::vector<std::string>{"b a", "c"}, 2)
                   .flat_map<std::string>([](const std::string& l, auto& emit) {
                     words(l, [&](std::string_view w) { return emit(std::string(w)); });
                   });
  views.cache();
  CHECK(views.collect() == std::vector<std::string>{"b", "a", "c"});
  CHECK(views.collect() == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("R48 a checkpoint cuts the lineage after the first job", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto computed = context.long_accumulator();
  auto rdd = context.parallelize(upto(6), 3).map(capture(computed, [](const auto& n, int x) {
    n.add(1);
    return x * 2;
  }));
  CHECK_THROWS_WITH(rdd.checkpoint(), "Checkpoint directory has not been set in the SparkContext");
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  rdd.checkpoint();
  CHECK_FALSE(rdd.is_checkpointed());
  auto child = rdd.map([](int x) { return x + 1; });
  CHECK(child.collect() == std::vector<int>{3, 5, 7, 9, 11, 13});
  CHECK(rdd.is_checkpointed());
  CHECK(computed.value() == 12);
  CHECK(child.collect() == std::vector<int>{3, 5, 7, 9, 11, 13});
  CHECK(rdd.collect() == std::vector<int>{2, 4, 6, 8, 10, 12});
  CHECK(computed.value() == 12);
}

TEST_CASE("broadcast values reach tasks once, accumulators come back", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto table = context.broadcast(std::map<int, std::string>{{1, "one"}, {2, "two"}});
  auto names = context.parallelize(std::vector<int>{1, 2, 1, 2}, 4)
                   .map(capture(table, [](const auto& t, int x) { return t.value().at(x); }));
  CHECK(names.collect() == std::vector<std::string>{"one", "two", "one", "two"});
  CHECK(names.count() == 4);
  CHECK(runtime.services.broadcast_fetches == 1);
  table.unpersist();
  CHECK(names.count() == 4);
  table.destroy();
  CHECK_THROWS_WITH(table.value(),
                    Catch::StartsWith("Attempted to use Broadcast(0) after it was destroyed"));
  CHECK_THROWS_WITH(names.count(), Catch::Contains("Failed to get broadcast_0"));

  auto sum = context.long_accumulator("sum");
  auto half = context.double_accumulator();
  auto odd = context.collection_accumulator<int>();
  auto largest = context.accumulator(
      std::string(), [](std::string& into, const std::string& s) { into = std::max(into, s); });
  context.parallelize(upto(100), 7)
      .foreach (capture(sum, half, odd, largest,
                        [](const auto& s, const auto& h, const auto& o, const auto& l, int x) {
                          s.add(x);
                          h.add(0.5);
                          if (x % 2 == 1) o.add(x);
                          l.add(std::to_string(x));
                        }));
  CHECK(sum.value() == 5050);
  CHECK(half.value() == 50.0);
  CHECK(odd.value().size() == 50);
  CHECK(largest.value() == "99");
  context.parallelize(upto(4), 2)
      .foreach_partition(capture(sum, [](const auto& s, Partition<int>& in) {
        for (int x : in) s.add(x);
      }));
  CHECK(sum.value() == 5060);
}

TEST_CASE("R31 an Rdd cannot be used inside a task", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  static Context* inside = nullptr;
  inside = &context;
  CHECK_THROWS_WITH(
      context.parallelize(upto(2), 1).map([](int) { return inside->range(0, 1).count(); }).count(),
      Catch::Contains("SPARK-5063"));
}

TEST_CASE("job properties belong to the thread", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  context.set_job_group("g", "counting");
  context.add_job_tag("a");
  context.add_job_tag("b");
  context.remove_job_tag("a");
  context.range(0, 3).count();
  CHECK(runtime.last_properties.at("spark.jobGroup.id") == "g");
  CHECK(runtime.last_properties.at("spark.job.description") == "counting");
  CHECK(runtime.last_properties.at("spark.job.tags") == "b");
  std::thread([&] { context.range(0, 3).count(); }).join();
  CHECK(runtime.last_properties.empty());
  context.clear_job_group();
  context.clear_job_tags();
  context.range(0, 3).count();
  CHECK(runtime.last_properties.empty());
}

TEST_CASE("a shuffle is forgotten with the last Rdd that reads it", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  {
    auto counts = context.parallelize(upto(10), 2)
                      .map([](int x) { return std::pair(x % 3, 1); })
                      .reduce_by_key([](int a, int b) { return a + b; });
    auto child = counts.map_values([](int n) { return n * 2; });
    counts = context.empty_rdd<std::pair<int, int>>();
    CHECK(child.count() == 3);
    CHECK(runtime.stages == 2);
    CHECK(child.count() == 3);
    CHECK(runtime.stages == 3);
    CHECK(runtime.forgotten.empty());
  }
  CHECK(runtime.forgotten == std::vector<ShuffleId>{{0}});
}
