// Keys whose equality or order is not that of their bytes, and keys of every shape.
#include <cmath>
#include <limits>

#include "core/api/steps/values/order.hpp"
#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tests::LocalRuntime;
using tests::sorted;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Point {
  double x;
  int32_t name;
  auto operator<=>(const Point&) const = default;
};
struct Eight {
  int32_t a, b;
  auto operator<=>(const Eight&) const = default;
};
struct Hashed {
  int64_t id;
  struct hasher {
    size_t operator()(const Hashed& h) const { return static_cast<size_t>(h.id); }
  };
  auto operator<=>(const Hashed&) const = default;
};
/// As a library's type may be: nothing of it is public but what travels.
class Amount {
 public:
  Amount() = default;
  Amount(int64_t cents, std::string currency) : cents_(cents), currency_(std::move(currency)) {}
  const std::string& currency() const { return currency_; }
  auto operator<=>(const Amount&) const = default;
  template <class Self>
  static auto record_fields(Self& self) {
    return std::tie(self.cents_, self.currency_);
  }

 private:
  int64_t cents_ = 0;
  std::string currency_;
};
struct Tree {
  int value = 0;
  std::vector<Tree> children;
};

template <class K>
Rdd<std::pair<K, int64_t>> counted(Context& context, const std::vector<K>& keys) {
  return context.parallelize(keys, 3)
      .map([](const K& key) { return std::pair(key, int64_t{1}); })
      .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
}

static_assert(core::holds_floating<double>());
static_assert(core::holds_floating<std::pair<int, std::vector<float>>>());
static_assert(core::holds_floating<std::optional<std::tuple<int, double>>>());
static_assert(core::holds_floating<std::map<std::string, std::variant<int, double>>>());
static_assert(core::holds_floating<Point>());
static_assert(core::holds_floating<std::array<float, 2>>());
static_assert(!core::holds_floating<std::pair<int, std::string>>());
static_assert(!core::holds_floating<std::string_view>());
static_assert(!core::holds_floating<Eight>());
static_assert(!core::holds_floating<Tree>());

}  // namespace

TEST_CASE("NaN is last in every order, and equals itself", "[order]") {
  using core::before;
  CHECK(before(1.0, kNan));
  CHECK_FALSE(before(kNan, 1.0));
  CHECK_FALSE(before(kNan, -kNan));
  CHECK(before(std::pair(1.0, 2), std::pair(kNan, 1)));
  CHECK(before(std::pair(kNan, 1), std::pair(kNan, 2)));
  CHECK(before(std::tuple(1, kNan, 1), std::tuple(1, kNan, 2)));
  CHECK_FALSE(before(std::tuple(1, kNan, 2), std::tuple(1, kNan, 1)));
  CHECK(before(std::vector{kNan}, std::vector{kNan, 1.0}));
  CHECK(before(std::optional<double>(), std::optional(kNan)));
  CHECK(before(Point{1, 1}, Point{kNan, 1}));
  CHECK_FALSE(before(Point{kNan, 1}, Point{1, 1}));
  CHECK(before(Point{kNan, 1}, Point{kNan, 2}));
  CHECK_FALSE(before(Point{kNan, 1}, Point{kNan, 1}));
  using Either = std::variant<double, int64_t>;
  CHECK(before(Either(1.0), Either(kNan)));
  CHECK(before(Either(kNan), Either(int64_t{0})));
  CHECK_FALSE(before(Either(kNan), Either(-kNan)));
  CHECK(before(std::optional(1.0), std::optional(kNan)));
  CHECK_FALSE(before(std::optional(kNan), std::optional<double>()));
  core::MapBy<double, int> map{{kNan, 1}, {1.0, 2}};
  CHECK(map.size() == 2);
  CHECK(map.at(-kNan) == 1);
}

TEST_CASE("NaN and both zeros are one key each, whatever they are a part of", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<double> values{0.0, -0.0, kNan, 1.0, -kNan, 2.0, 0.0, kNan};
  const auto check = [&](auto make) {
    using K = decltype(make(0.0));
    std::vector<K> keys;
    for (const double v : values) keys.push_back(make(v));
    const auto of = [](const auto& counts, const K& key) {
      int64_t n = 0;
      for (const auto& [k, count] : counts)
        if (!core::before(k, key) && !core::before(key, k)) n += count;
      return n;
    };
    const auto counts = counted(context, keys).collect();
    CHECK(counts.size() == 4);
    CHECK(of(counts, make(0.0)) == 3);
    CHECK(of(counts, make(kNan)) == 3);
    const auto map = context.parallelize(keys, 3).count_by_value();
    CHECK(map.size() == 4);
    CHECK(map.at(make(kNan)) == 3);
    CHECK(map.at(make(-0.0)) == 3);
    CHECK(context.parallelize(keys, 3).distinct().count() == 4);
    CHECK(context.parallelize(keys, 3)
              .count_by_value_approx(std::chrono::seconds(9))
              .final_value()
              .size() == 4);
    const auto ones = context.parallelize(keys, 3).map([](const K& k) { return std::pair(k, 1); });
    CHECK(ones.reduce_by_key_locally([](int a, int b) { return a + b; }).at(make(kNan)) == 3);
    CHECK(ones.collect_as_map().size() == 4);
    CHECK(ones.join(ones).count() == 3 * 3 + 3 * 3 + 1 + 1);
    CHECK(ones.group_by_key().count() == 4);
  };
  check([](double v) { return v; });
  check([](double v) { return static_cast<float>(v); });
  check([](double v) { return std::pair(v, std::string("x")); });
  check([](double v) { return std::tuple(1, v); });
  check([](double v) { return std::vector{v, v}; });
  check([](double v) { return std::optional(v); });
  check([](double v) { return std::map<int, double>{{1, v}}; });
  check([](double v) { return std::array{v, v}; });
  check([](double v) { return Point{v, 1}; });
  check([](double v) { return std::variant<int64_t, double>(v); });
  check([](double v) { return std::pair(1, std::optional(Point{v, 1})); });
}

TEST_CASE("a struct with floating point in it: both zeros are one key", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto counts = counted(context, std::vector<Point>{{0.0, 1}, {-0.0, 1}, {1.0, 1}});
  CHECK(counts.collect_as_map() == core::MapBy<Point, int64_t>{{{0.0, 1}, 2}, {{1.0, 1}, 1}});
}

TEST_CASE("a key may have a hasher of its own", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(counted(context, std::vector<Hashed>{{1}, {2}, {1}}).count() == 2);
}

TEST_CASE("structs with NaN in them are sorted, the ones with NaN last", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  std::vector<Point> points;
  for (int32_t i = 0; i < 200; ++i) points.push_back({i % 3 == 1 ? kNan : i * 7919 % 200, i});
  const auto got =
      context.parallelize(points, 4).sort_by([](const Point& p) { return p; }).collect();
  std::sort(points.begin(), points.end(), core::Before{});
  CHECK(std::isnan(points.back().x));
  CHECK(std::equal(got.begin(), got.end(), points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.name == b.name; }));
}

TEST_CASE("NaN is the largest of records that are sorted, wherever it came from", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const auto& values :
       {std::vector{kNan, 3.0, -1.0, -kNan, 2.0}, {1.0, kNan, kNan, -5.0, 0.0}}) {
    auto nums = context.parallelize(values, 2);
    CHECK(std::isnan(nums.max()));
    CHECK(nums.min() == *std::min_element(values.begin(), values.end(), core::Before{}));
    CHECK(nums.take_ordered(3).size() == 3);
    CHECK(std::ranges::none_of(nums.take_ordered(3), [](double v) { return std::isnan(v); }));
    CHECK(std::ranges::all_of(nums.top(2), [](double v) { return std::isnan(v); }));
    for (const int n : {1, 3}) {
      const auto up = nums.sort_by([](double v) { return v; }, true, n).collect();
      CHECK(std::ranges::is_sorted(up, core::Before{}));
      CHECK(up.size() == 5);
      const auto pairs = nums.sort_by([](double v) { return std::pair(v, 1); }, false, n).collect();
      CHECK(std::is_sorted(pairs.rbegin(), pairs.rend(), core::Before{}));
      CHECK(std::isnan(pairs.front()));
    }
    CHECK(std::isnan(nums.stats().max()));
    CHECK(std::isnan(nums.stats().min()));
  }
}

TEST_CASE("keys of every shape are one key when they are equal", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (const int n : {1, 2, 7}) {
    const auto check = [&](auto key_of) {
      const auto counts = context.range(0, 2000, 1, n).map(key_of).count_by_value();
      CHECK(counts.size() == 50);
      for (const auto& [key, count] : counts) CHECK(count == 40);
    };
    check([](int64_t x) { return std::tuple(x % 2, static_cast<char>(x / 2 % 25)); });
    check([](int64_t x) { return std::map<int64_t, std::string>{{x % 50, "v"}, {-1, "w"}}; });
    check([](int64_t x) { return Eight{static_cast<int32_t>(x % 50), 7}; });
    check([](int64_t x) { return Point{static_cast<double>(x % 50), 7}; });
    check([](int64_t x) {
      return x % 2 ? std::variant<int64_t, std::string>(x % 50)
                   : std::variant<int64_t, std::string>(std::to_string(x % 50));
    });
    CHECK(context.range(0, 2000, 1, n).map([](int64_t x) { return x % 2 == 0; }).count_by_value() ==
          std::map<bool, int64_t>{{false, 1000}, {true, 1000}});
  }
}

TEST_CASE("words that are views are counted by value at the driver too", "[pair_rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto words = context.parallelize(std::vector<std::string>{"a", "b", "a"}, 2)
                   .flat_map<std::string_view>([](const std::string& s, auto& emit) { emit(s); });
  CHECK(words.count_by_value() == std::map<std::string, int64_t>{{"a", 2}, {"b", 1}});
  const auto about = words.count_by_value_approx(std::chrono::seconds(9)).final_value();
  CHECK(about.at("a").mean == 2);
}

TEST_CASE("a key may be a view of its record, however short the text is", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<std::string> words{"banana", "apple", "avocado", "a long word of many letters"};
  const auto rdd = context.parallelize(words, 2);
  const auto whole = [](const std::string& w) { return std::string_view(w); };
  const auto initial = [](const std::string& w) { return std::string_view(w).substr(0, 1); };
  CHECK(rdd.sort_by(whole).collect() == sorted(words));
  std::map<std::string, size_t> groups;
  for (const auto& [key, of] : rdd.group_by(initial).collect()) groups[key] = of.size();
  CHECK(groups == std::map<std::string, size_t>{{"a", 3}, {"b", 1}});
  for (const auto& [key, word] : rdd.key_by(whole).collect()) CHECK(key == word);
}

TEST_CASE("keys that are pairs and vectors of views are sorted and found as owned ones", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<std::string> words{"pear", "fig", "apple", "banana", "fig"};
  const auto by_word = [](const std::string& w) {
    return std::pair(std::string_view(w), w.size());
  };
  const auto by_words = [](const std::string& w) { return std::vector{std::string_view(w)}; };
  const auto rdd = context.parallelize(words, 2);
  CHECK(rdd.sort_by(by_word).collect() == sorted(words));
  CHECK(rdd.sort_by(by_words, true, 1).collect() == sorted(words));
  const auto pairs = rdd.map(by_word);
  using Pairs = std::vector<std::pair<std::string, size_t>>;
  CHECK(pairs.top(2) == Pairs{{"pear", 4}, {"fig", 3}});
  CHECK(pairs.take_ordered(1) == Pairs{{"apple", 5}});
  CHECK(pairs.max() == std::pair<std::string, size_t>("pear", 4));
  const auto keyed = rdd.key_by(by_word);
  CHECK(keyed.lookup({"fig", 3}) == std::vector<std::string>{"fig", "fig"});
  CHECK(keyed.filter_by_range({"b", 0}, {"g", 0}).count() == 3);
}

TEST_CASE("lookup finds what grouping has as one key", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::vector<std::pair<double, int>> pairs{{kNan, 1}, {0.0, 2}, {-0.0, 3}, {kNan, 4}};
  const auto rdd = context.parallelize(pairs, 2);
  CHECK(sorted(rdd.lookup(kNan)) == std::vector{1, 4});
  CHECK(sorted(rdd.partition_by(3).lookup(-0.0)) == std::vector{2, 3});
}

TEST_CASE("a custom type goes through jobs as a key, as a value, kept and in files", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  std::vector<Amount> all;
  for (int i = 0; i < 300; ++i)
    all.emplace_back(i % 7, i % 2 ? std::string(40, 'x') : std::string("EUR"));
  auto amounts = context.parallelize(all, 3);
  CHECK(amounts.collect() == all);
  std::set<Amount> different(all.begin(), all.end());
  CHECK(different.size() == 14);
  CHECK(sorted(amounts.distinct(2).collect()) ==
        std::vector<Amount>(different.begin(), different.end()));
  CHECK(amounts.sort_by([](const Amount& a) { return a; }, true, 2).collect() == sorted(all));
  std::map<Amount, int64_t> counts;
  for (const Amount& a : all) ++counts[a];
  CHECK(amounts.map([](const Amount& a) { return std::pair(a, int64_t{1}); })
            .reduce_by_key(std::plus<int64_t>(), 2)
            .filter(capture(counts, [](const auto& right,
                                       const auto& r) { return right.at(r.first) == r.second; }))
            .count() == 14);
  const auto by_currency = amounts.map([](const Amount& a) { return std::pair(a.currency(), a); });
  for (const auto& [currency, group] : by_currency.group_by_key(2).collect()) {
    CHECK(group.size() == 150);
    for (const Amount& a : group) CHECK(a.currency() == currency);
  }
  CHECK(by_currency.join(by_currency, 2).count() == 2 * 150 * 150);
  amounts.persist(MEMORY_AND_DISK);
  for (int i = 0; i < 2; ++i)
    CHECK(amounts.map([](const Amount& a) { return a; }).collect() == all);
  const std::string directory = runtime.services.directory + "/amounts";
  amounts.save_as_object_file(directory);
  CHECK(sorted(context.object_file<Amount>(directory).collect()) == sorted(all));
  CHECK(core::held_bytes(std::pair(1, Amount(1, std::string(1000, 'x')))) >= 1000);
}
