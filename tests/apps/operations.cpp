// operations DIRECTORY [SEED]: every operation against plain loops, on random records, none and
// skewed ones, on such with a huge one over 1, 2 and 7 partitions, and on a million tiny ones. Run
// by tests/processes/cluster/engine_test.sh in local and local-cluster mode.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;
using namespace std::chrono_literals;
using Record = std::pair<std::string, int64_t>;
using Records = std::vector<Record>;
using Numbers = std::vector<int64_t>;
using Sums = std::map<std::string, int64_t>;
using Groups = std::map<std::string, Numbers>;

/// The right side of what takes two.
const Records kOther = {{"k1", 10}, {"k1", 11}, {"k3", 30}, {"nowhere", -1}};
/// Larger inputs are cut to so many records where each is paired with each.
constexpr int64_t kFew = 300;
/// What approximate counts are asked for, and four times as much, which they hold.
constexpr double kDeviation = 0.02, kApart = 4 * kDeviation;

template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}
Groups sorted(Groups groups) {
  for (auto& [key, values] : groups) std::sort(values.begin(), values.end());
  return groups;
}

/// One kind of records, over some number of partitions.
struct Case {
  Context& context;
  std::string name;
  const Records& data;
  int32_t n;
  std::string directory;
  Rdd<Record> rdd, other;

  template <class Got, class Want>
  void same(const char* what, const Got& got, const Want& want) const {
    require(what, got == want);
  }
  void near(const char* what, double got, double want) const {
    require(what, std::abs(got - want) <= 1e-9 * std::max(1.0, std::abs(want)));
  }
  void require(const char* what, bool right) const {
    if (!right)
      throw std::runtime_error(std::string("WRONG: ") + what + " of " + name + " records over " +
                               std::to_string(n) + " partitions");
  }
  /// An empty Rdd has no such value, and says so.
  template <class F, class Want>
  void same_or_none(const char* what, const F& f, const Want& want) const {
    if (!data.empty()) return same(what, f(), want);
    try {
      f();
    } catch (const std::exception&) {
      return;
    }
    require(what, false);
  }
  template <class F>
  auto loop(const F& f) const {
    std::vector<decltype(f(data[0]))> all;
    for (const Record& r : data) all.push_back(f(r));
    return all;
  }
  Groups groups() const {
    Groups all;
    for (const auto& [key, value] : data) all[key].push_back(value);
    return sorted(all);
  }
  Sums sums() const {
    Sums all;
    for (const auto& [key, value] : data) all[key] += value;
    return all;
  }
  Rdd<int64_t> numbers() const { return rdd.values(); }
};

constexpr auto kPlus = [](int64_t a, int64_t b) { return a + b; };

void by_record(const Case& k) {
  const Numbers values = k.loop([](const Record& r) { return r.second; });
  k.same("map", k.rdd.map([](const Record& r) { return r.second * 3; }).collect(),
         k.loop([](const Record& r) { return r.second * 3; }));
  Records even;
  std::copy_if(k.data.begin(), k.data.end(), std::back_inserter(even),
               [](const Record& r) { return r.second % 2 == 0; });
  k.same("filter", k.rdd.filter([](const Record& r) { return r.second % 2 == 0; }).collect(), even);
  Numbers twice;
  for (const int64_t v : values) twice.insert(twice.end(), {v, -v});
  k.same("flat_map of containers",
         k.rdd.flat_map([](const Record& r) {
                return Numbers{r.second, -r.second};
              })
             .collect(),
         twice);
  k.same("flat_map by emit",
         k.rdd
             .flat_map<int64_t>([](const Record& r, auto& emit) {
               emit(int64_t{r.second});
               emit(-r.second);
             })
             .collect(),
         twice);
  k.same("key_by", k.rdd.key_by([](const Record& r) { return r.second % 5; }).collect(),
         k.loop([](const Record& r) { return std::pair(r.second % 5, r); }));
  k.same("keys", k.rdd.keys().collect(), k.loop([](const Record& r) { return r.first; }));
  k.same("values", k.rdd.values().collect(), values);
  k.same("map_values", k.rdd.map_values([](int64_t v) { return v + 1; }).collect(),
         k.loop([](const Record& r) { return Record(r.first, r.second + 1); }));
  Records doubled;
  for (const auto& [key, value] : k.data) doubled.insert(doubled.end(), {{key, value}, {key, 0}});
  k.same("flat_map_values",
         k.rdd.flat_map_values([](int64_t v) {
                return Numbers{v, 0};
              })
             .collect(),
         doubled);
}

void by_partition(const Case& k) {
  const auto sum = [](Partition<int64_t>& in) {
    int64_t all = 0;
    for (const int64_t x : in) all += x;
    return Numbers{all};
  };
  const auto parts = k.rdd.glom().collect();
  k.same("glom: partitions", static_cast<int32_t>(parts.size()), k.n);
  Records joined;
  Numbers sums, indexed;
  for (const Records& part : parts) {
    joined.insert(joined.end(), part.begin(), part.end());
    sums.push_back(0);
    for (const Record& r : part) sums.back() += r.second;
    indexed.push_back(sums.back() + static_cast<int64_t>(indexed.size()));
  }
  k.same("glom", joined, k.data);
  k.same("map_partitions", k.numbers().map_partitions(sum).collect(), sums);
  k.same("map_partitions_with_index",
         k.numbers()
             .map_partitions_with_index<int64_t>([](int32_t p, Partition<int64_t>& in, auto& emit) {
               int64_t all = p;
               for (const int64_t x : in) all += x;
               emit(all);
             })
             .collect(),
         indexed);
  std::transform(sums.begin(), sums.end(), sums.begin(), [](int64_t s) { return 2 * s; });
  k.same("zip_partitions",
         k.numbers()
             .zip_partitions<int64_t>(k.numbers(),
                                      [](Partition<int64_t>& a, Partition<int64_t>& b, auto& emit) {
                                        int64_t all = 0;
                                        for (const int64_t x : a) all += x;
                                        for (const int64_t x : b) all += x;
                                        emit(all);
                                      })
             .collect(),
         sums);
  const auto texts = k.loop([](const Record& r) { return std::to_string(r.second); });
  k.same("pipe",
         k.rdd.map([](const Record& r) { return std::to_string(r.second); }).pipe("cat").collect(),
         texts);
  k.same("barrier", sorted(k.numbers().barrier().map_partitions(sum).collect()),
         sorted(k.numbers().map_partitions(sum).collect()));
}

void several(const Case& k) {
  Records both = k.data;
  both.insert(both.end(), kOther.begin(), kOther.end());
  k.same("union_with", k.rdd.union_with(k.other).collect(), both);
  k.same("union_all", k.context.union_all(std::vector{k.rdd, k.other}).collect(), both);
  k.same("zip", k.rdd.zip(k.numbers()).collect(),
         k.loop([](const Record& r) { return std::pair(r, r.second); }));
  std::vector<std::pair<int64_t, int64_t>> indexed, unique;
  for (const auto& r : k.data) indexed.emplace_back(r.second, indexed.size());
  k.same("zip_with_index", k.numbers().zip_with_index().collect(), indexed);
  const auto parts = k.numbers().glom().collect();
  for (size_t p = 0; p < parts.size(); ++p)
    for (size_t i = 0; i < parts[p].size(); ++i)
      unique.emplace_back(parts[p][i], i * parts.size() + p);
  k.same("zip_with_unique_id", k.numbers().zip_with_unique_id().collect(), unique);

  const Records few(k.data.begin(), k.data.begin() + std::min<int64_t>(kFew, std::ssize(k.data)));
  std::vector<std::pair<Record, Record>> pairs;
  for (const Record& a : few)
    for (const Record& b : kOther) pairs.emplace_back(a, b);
  k.same("cartesian", sorted(k.context.parallelize(few, k.n).cartesian(k.other).collect()),
         sorted(pairs));
  const std::set<Record> mine(k.data.begin(), k.data.end());
  const Records some(mine.begin(), std::next(mine.begin(), std::min<int64_t>(5, std::ssize(mine))));
  const auto known = k.context.parallelize(some, 2).union_with(k.other);
  Records common, without;
  for (const Record& r : mine)
    if (std::count(some.begin(), some.end(), r) + std::count(kOther.begin(), kOther.end(), r) > 0)
      common.push_back(r);
  for (const Record& r : k.data)
    if (!std::binary_search(common.begin(), common.end(), r)) without.push_back(r);
  k.same("intersection", sorted(k.rdd.intersection(known).collect()), common);
  k.same("subtract", sorted(k.rdd.subtract(known).collect()), sorted(without));
}

void regrouped(const Case& k) {
  const Records all = sorted(k.data);
  const std::set<Record> once(all.begin(), all.end());
  k.same("distinct", sorted(k.rdd.distinct().collect()), Records(once.begin(), once.end()));
  k.same("coalesce", k.rdd.coalesce(2).collect(), k.data);
  k.same("coalesce with a shuffle", sorted(k.rdd.coalesce(3, true).collect()), all);
  k.same("repartition", sorted(k.rdd.repartition(5).collect()), all);
  k.same("sort_by", k.numbers().sort_by([](int64_t v) { return -v; }, true, 3).collect(), [&] {
    Numbers down = k.loop([](const Record& r) { return r.second; });
    std::sort(down.rbegin(), down.rend());
    return down;
  }());
  std::map<int64_t, Records> by_rest;
  for (const Record& r : all) by_rest[r.second % 7].push_back(r);
  auto grouped = k.rdd.group_by([](const Record& r) { return r.second % 7; }).collect_as_map();
  for (auto& [rest, records] : grouped) std::sort(records.begin(), records.end());
  k.same("group_by", grouped, by_rest);
}

/// What is drawn depends on the seed alone, and comes from the records.
void drawn(const Case& k) {
  const Records all = sorted(k.data);
  const auto some = k.rdd.sample(false, 0.4, 17).collect();
  k.same("sample again", k.rdd.sample(false, 0.4, 17).collect(), some);
  k.require("sample", std::ranges::includes(all, sorted(some)));
  // So far from the mean it comes once in a hundred million seeds.
  const auto n = static_cast<double>(all.size());
  const auto near = [](size_t count, double mean, double deviation) {
    return std::abs(static_cast<double>(count) - mean) <= 6 * deviation;
  };
  k.require("sample: how many", near(some.size(), 0.4 * n, std::sqrt(0.24 * n)));
  k.same("sample of all", k.rdd.sample(false, 1, 17).collect(), k.data);
  const auto repeated = k.rdd.sample(true, 1.5, 17).collect();
  k.require("sample with replacement: how many",
            near(repeated.size(), 1.5 * n, std::sqrt(1.5 * n)));
  for (const Record& r : repeated)
    k.require("sample with replacement", std::binary_search(all.begin(), all.end(), r));
  Records parts;
  for (const auto& part : k.rdd.random_split({1, 2, 3}, 17))
    for (Record& r : part.collect()) parts.push_back(std::move(r));
  k.same("random_split", sorted(parts), all);
  const auto size = std::min<int64_t>(10, std::ssize(all));
  k.require("take_sample", std::ranges::includes(all, sorted(k.rdd.take_sample(false, 10, 17))));
  k.same("take_sample: how many", std::ssize(k.rdd.take_sample(false, 10, 17)), size);
  const auto with_copies = k.rdd.take_sample(true, 25, 17);
  k.same("take_sample with replacement: how many", std::ssize(with_copies),
         all.empty() ? ptrdiff_t{0} : ptrdiff_t{25});
  for (const Record& r : with_copies)
    k.require("take_sample with replacement", std::binary_search(all.begin(), all.end(), r));
  std::map<std::string, double> whole, half;
  Sums of_half;
  for (const auto& [key, values] : k.groups()) {
    whole[key] = 1, half[key] = 0.5;
    of_half[key] = static_cast<int64_t>(std::ceil(0.5 * static_cast<double>(values.size())));
  }
  k.same("sample_by_key", sorted(k.rdd.sample_by_key(false, whole, 17).collect()), all);
  for (const Record& r : k.rdd.sample_by_key(true, half, 17).collect())
    k.require("sample_by_key with replacement", std::binary_search(all.begin(), all.end(), r));
  k.same("sample_by_key_exact with replacement: how many",
         k.rdd.sample_by_key_exact(true, half, 17).count_by_key(), of_half);
  const auto exact = k.rdd.sample_by_key_exact(false, half, 17);
  k.same("sample_by_key_exact: how many", exact.count_by_key(), of_half);
  k.require("sample_by_key_exact", std::ranges::includes(all, sorted(exact.collect())));
}

void by_key(const Case& k) {
  const Groups groups = k.groups();
  const Sums sums = k.sums();
  const Records all = sorted(k.data);
  k.same("reduce_by_key", k.rdd.reduce_by_key(kPlus, 3).collect_as_map(), sums);
  k.same("group_by_key", sorted(k.rdd.group_by_key(3).collect_as_map()), groups);
  k.same("aggregate_by_key",
         k.rdd
             .aggregate_by_key(
                 int64_t{0}, [](int64_t a, int64_t v) { return a + v; }, kPlus, 3)
             .collect_as_map(),
         sums);
  k.same("fold_by_key", k.rdd.fold_by_key(0, kPlus, 3).collect_as_map(), sums);
  k.same("combine_by_key",
         k.rdd
             .combine_by_key([](int64_t v) { return v; },
                             [](int64_t a, int64_t v) { return a + v; }, kPlus, 3)
             .collect_as_map(),
         sums);
  k.same("reduce_by_key_locally", k.rdd.reduce_by_key_locally(kPlus), sums);
  const auto placed = k.rdd.partition_by(3);
  k.same("partition_by", sorted(placed.collect()), all);
  k.same("reduce_by_key in place", placed.reduce_by_key(kPlus).collect_as_map(), sums);
  const auto ordered = k.rdd.sort_by_key(true, 3);
  const auto keys = ordered.keys().collect();
  k.require("sort_by_key", std::is_sorted(keys.begin(), keys.end()));
  k.same("sort_by_key: records", sorted(ordered.collect()), all);
  const auto down = k.rdd.sort_by_key(false, 3).keys().collect();
  k.require("sort_by_key, descending", std::is_sorted(down.rbegin(), down.rend()));
  const auto within = k.rdd.repartition_and_sort_within_partitions(3);
  for (const Records& part : within.glom().collect())
    k.require("repartition_and_sort_within_partitions",
              std::ranges::is_sorted(part, {}, &Record::first));
  k.same("repartition_and_sort_within_partitions: records", sorted(within.collect()), all);
  Records between;
  for (const Record& r : all)
    if (r.first >= "k1" && r.first <= "k3") between.push_back(r);
  k.same("filter_by_range", sorted(k.rdd.filter_by_range("k1", "k3").collect()), between);
  k.same("filter_by_range of sorted records", sorted(ordered.filter_by_range("k1", "k3").collect()),
         between);
  const auto known = groups.find("k1");
  const Numbers found = known == groups.end() ? Numbers{} : known->second;
  k.same("lookup", sorted(k.rdd.lookup("k1")), found);
  k.same("lookup by partitioner", sorted(placed.lookup("k1")), found);
  Sums counts;
  for (const auto& [key, values] : groups) counts[key] = std::ssize(values);
  k.same("count_by_key", k.rdd.count_by_key(), counts);
  const auto distinct = k.rdd.count_approx_distinct_by_key(kDeviation).collect_as_map();
  for (const auto& [key, values] : groups) {
    const auto truth = static_cast<double>(std::set(values.begin(), values.end()).size());
    const auto about = static_cast<double>(distinct.at(key));
    k.require("count_approx_distinct_by_key", std::abs(about - truth) <= 1 + kApart * truth);
  }
}

void joins(const Case& k) {
  using Both = std::pair<std::string, std::pair<int64_t, int64_t>>;
  using Maybe = std::optional<int64_t>;
  std::vector<Both> inner;
  std::vector<std::pair<std::string, std::pair<int64_t, Maybe>>> left;
  std::vector<std::pair<std::string, std::pair<Maybe, int64_t>>> right;
  std::vector<std::pair<std::string, std::pair<Maybe, Maybe>>> full;
  Records alone;
  const Groups mine = k.groups();
  Groups theirs;
  for (const auto& [key, value] : kOther) theirs[key].push_back(value);
  for (const auto& [key, v] : k.data) {
    const auto other = theirs.find(key);
    if (other == theirs.end()) {
      left.push_back({key, {v, std::nullopt}}), full.push_back({key, {v, std::nullopt}});
      alone.emplace_back(key, v);
      continue;
    }
    for (const int64_t w : other->second) {
      inner.push_back({key, {v, w}}), left.push_back({key, {v, w}});
      right.push_back({key, {v, w}}), full.push_back({key, {v, w}});
    }
  }
  for (const auto& [key, w] : kOther)
    if (!mine.contains(key))
      right.push_back({key, {std::nullopt, w}}), full.push_back({key, {std::nullopt, w}});
  k.same("join", sorted(k.rdd.join(k.other, 3).collect()), sorted(inner));
  k.same("left_outer_join", sorted(k.rdd.left_outer_join(k.other, 3).collect()), sorted(left));
  k.same("right_outer_join", sorted(k.rdd.right_outer_join(k.other, 3).collect()), sorted(right));
  k.same("full_outer_join", sorted(k.rdd.full_outer_join(k.other, 3).collect()), sorted(full));
  k.same("subtract_by_key", sorted(k.rdd.subtract_by_key(k.other).collect()), sorted(alone));
  const auto placed = k.rdd.partition_by(3);
  k.same("join in place", sorted(placed.join(k.other.partition_by(3)).collect()), sorted(inner));

  const auto of = [](const Groups& all, const std::string& key) {
    const auto found = all.find(key);
    return found == all.end() ? Numbers{} : found->second;
  };
  const auto two = k.rdd.cogroup(k.other, 3).collect_as_map();
  const auto three = k.rdd.cogroup(k.other, k.rdd, 3).collect_as_map();
  const auto four = k.rdd.cogroup(k.other, k.rdd, k.other, 3).collect_as_map();
  const auto same = k.rdd.group_with(k.other, k.rdd, k.other).collect_as_map();
  std::set<std::string> keys;
  for (const Groups* groups : std::initializer_list<const Groups*>{&mine, &theirs})
    for (const auto& [key, values] : *groups) keys.insert(key);
  k.same("cogroup: keys", two.size() + three.size() + four.size() + same.size(), 4 * keys.size());
  const auto members = [](auto groups) {
    std::apply([](auto&... each) { (std::sort(each.begin(), each.end()), ...); }, groups);
    return groups;
  };
  for (const std::string& key : keys) {
    const Numbers a = of(mine, key), b = of(theirs, key);
    k.same("cogroup", members(two.at(key)), std::pair(a, b));
    k.same("cogroup of three", members(three.at(key)), std::tuple(a, b, a));
    k.same("cogroup of four", members(four.at(key)), std::tuple(a, b, a, b));
    k.same("group_with", members(same.at(key)), std::tuple(a, b, a, b));
  }
}

void actions(const Case& k) {
  const Records all = sorted(k.data);
  const Numbers values = k.loop([](const Record& r) { return r.second; });
  int64_t sum = 0;
  for (const int64_t v : values) sum += v;
  const auto numbers = k.numbers();
  k.same("count", k.rdd.count(), std::ssize(k.data));
  k.same("collect", k.rdd.collect(), k.data);
  Records one_by_one;
  for (const Record& r : k.rdd.to_local_iterator()) one_by_one.push_back(r);
  k.same("to_local_iterator", one_by_one, k.data);
  const auto some = std::min<int64_t>(20, std::ssize(k.data));
  k.same("take", k.rdd.take(20), Records(k.data.begin(), k.data.begin() + some));
  k.same("is_empty", k.rdd.is_empty(), k.data.empty());
  k.same("fold", numbers.fold(0, kPlus), sum);
  k.same("aggregate",
         numbers.aggregate(
             int64_t{0}, [](int64_t a, int64_t v) { return a + v; }, kPlus),
         sum);
  k.same("tree_aggregate",
         numbers.tree_aggregate(
             int64_t{0}, [](int64_t a, int64_t v) { return a + v; }, kPlus),
         sum);
  auto added = k.context.long_accumulator();
  numbers.foreach (capture(added, [](const auto& a, int64_t v) { a.add(v); }));
  numbers.foreach_partition(capture(added, [](const auto& a, Partition<int64_t>& in) {
    for (const int64_t v : in) a.add(v);
  }));
  k.same("foreach, foreach_partition", added.value(), 2 * sum);
  int64_t of_parts = 0;
  std::vector<int32_t> all_parts(static_cast<size_t>(k.n));
  std::iota(all_parts.begin(), all_parts.end(), 0);
  numbers.run_job(
      [](Partition<int64_t>& in) {
        int64_t part = 0;
        for (const int64_t v : in) part += v;
        return part;
      },
      all_parts, [&](int32_t, int64_t part) { of_parts += part; });
  k.same("run_job", of_parts, sum);
  std::map<Record, int64_t> counts;
  for (const Record& r : k.data) ++counts[r];
  k.same("count_by_value", k.rdd.count_by_value(), counts);
  k.same("take_ordered", k.rdd.take_ordered(20), Records(all.begin(), all.begin() + some));
  k.same("top", k.rdd.top(20), Records(all.rbegin(), all.rbegin() + some));
  const auto about = static_cast<double>(k.rdd.count_approx_distinct(kDeviation));
  const auto truth = static_cast<double>(counts.size());
  k.require("count_approx_distinct", std::abs(about - truth) <= 1 + kApart * truth);
  Sums last;
  for (const auto& [key, value] : k.data) last.insert_or_assign(key, value);
  k.same("collect_as_map", k.rdd.collect_as_map(), last);
  k.same_or_none(
      "first", [&] { return k.rdd.first(); }, k.data.empty() ? Record{} : k.data[0]);
  k.same_or_none(
      "reduce", [&] { return numbers.reduce(kPlus); }, sum);
  k.same_or_none(
      "tree_reduce", [&] { return numbers.tree_reduce(kPlus); }, sum);
  k.same_or_none(
      "max", [&] { return k.rdd.max(); }, all.empty() ? Record{} : all.back());
  k.same_or_none(
      "min", [&] { return k.rdd.min(); }, all.empty() ? Record{} : all.front());
}

void statistics(const Case& k) {
  const auto numbers = k.numbers();
  double sum = 0, squares = 0;
  std::vector<int64_t> buckets(2);
  for (const auto& [key, value] : k.data) {
    sum += static_cast<double>(value);
    buckets[0] += value >= -10 && value < 0;
    buckets[1] += value >= 0 && value <= 10;
  }
  const auto n = static_cast<double>(k.data.size());
  for (const auto& [key, value] : k.data)
    squares += (static_cast<double>(value) - sum / n) * (static_cast<double>(value) - sum / n);
  k.near("sum", static_cast<double>(numbers.sum()), sum);
  k.same("histogram of buckets", numbers.histogram(std::vector<double>{-10, 0, 10}), buckets);
  k.same("stats: count", numbers.stats().n, std::ssize(k.data));
  if (k.data.empty()) {
    k.require("mean", std::isnan(numbers.mean()) || numbers.mean() == 0);
    return;
  }
  k.near("mean", numbers.mean(), sum / n);
  k.near("variance", numbers.variance(), squares / n);
  k.near("stdev", numbers.stdev(), std::sqrt(squares / n));
  k.near("pop_variance", numbers.pop_variance(), squares / n);
  k.near("pop_stdev", numbers.pop_stdev(), std::sqrt(squares / n));
  k.near("sample_variance", numbers.sample_variance(), squares / (n - 1));
  k.near("sample_stdev", numbers.sample_stdev(), std::sqrt(squares / (n - 1)));
  const auto [low, high] =
      std::minmax_element(k.data.begin(), k.data.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto least = static_cast<double>(low->second), most = static_cast<double>(high->second);
  const auto [bounds, counts] = numbers.histogram(4);
  const bool one = least == most;  // then there is one bucket
  k.require("histogram: bounds",
            bounds.size() == (one ? 2 : 5) && bounds.front() == least && bounds.back() == most);
  std::vector<int64_t> even(bounds.size() - 1);
  for (const auto& [key, value] : k.data) {
    const auto v = static_cast<double>(value);
    const auto above = std::upper_bound(bounds.begin() + 1, bounds.end() - 1, v);
    ++even[static_cast<size_t>(above - bounds.begin() - 1)];
  }
  k.same("histogram", counts, even);
}

/// Beside the caller, and by time: with enough of it they are exact.
void later(const Case& k) {
  const auto numbers = k.numbers();
  const auto size = static_cast<double>(k.data.size());
  double sum = 0;
  for (const auto& [key, value] : k.data) sum += static_cast<double>(value);
  const auto count = k.rdd.count_async();
  const auto all = k.rdd.collect_async();
  const auto few = k.rdd.take_async(3);
  auto added = k.context.long_accumulator();
  const auto each =
      numbers.foreach_async(capture(added, [](const auto& a, int64_t v) { a.add(v); }));
  const auto parts = numbers.foreach_partition_async(capture(added, [](const auto& a, auto& part) {
    for (const int64_t v : part) a.add(v);
  }));
  k.same("count_async", count.get(), std::ssize(k.data));
  k.same("collect_async", all.get(), k.data);
  k.same("take_async", few.get(),
         Records(k.data.begin(), k.data.begin() + std::min<int64_t>(3, std::ssize(k.data))));
  each.get(), parts.get();
  k.near("foreach_async", static_cast<double>(added.value()), 2 * sum);
  k.near("count_approx", k.rdd.count_approx(1h).final_value().mean, size);
  k.near("sum_approx", numbers.sum_approx(1h).final_value().mean, sum);
  if (!k.data.empty())
    k.near("mean_approx", numbers.mean_approx(1h).final_value().mean, sum / size);
  const Groups groups = k.groups();
  const auto by_key = k.rdd.count_by_key_approx(1h).final_value();
  const auto by_value = k.rdd.keys().count_by_value_approx(1h).final_value();
  k.same("approximate counts: keys", by_key.size() + by_value.size(), 2 * groups.size());
  for (const auto& [key, values] : groups) {
    k.near("count_by_key_approx", by_key.at(key).mean, static_cast<double>(values.size()));
    k.near("count_by_value_approx", by_value.at(key).mean, static_cast<double>(values.size()));
  }
}

void kept(const Case& k) {
  auto computed = k.context.long_accumulator();
  const auto plus_one = [&] {
    return k.rdd.map_values(capture(computed, [](const auto& n, int64_t v) {
      n.add(1);
      return v + 1;
    }));
  };
  const Records want = k.loop([](const Record& r) { return Record(r.first, r.second + 1); });
  for (const StorageLevel& level :
       {DISK_ONLY, DISK_ONLY_2, DISK_ONLY_3, MEMORY_ONLY, MEMORY_ONLY_2, MEMORY_ONLY_SER,
        MEMORY_ONLY_SER_2, MEMORY_AND_DISK, MEMORY_AND_DISK_2, MEMORY_AND_DISK_SER,
        MEMORY_AND_DISK_SER_2, OFF_HEAP}) {
    computed.reset();
    const auto rdd = plus_one();
    rdd.persist(level);
    k.same("persist", rdd.collect(), want);
    k.same("persist, the second time", rdd.collect(), want);
    k.same("persist: records computed", computed.value(), std::ssize(want));
    rdd.unpersist();
  }
  const auto checkpointed = plus_one(), local = plus_one();
  k.context.set_checkpoint_dir(k.directory + "/checkpoints");
  checkpointed.checkpoint();
  local.local_checkpoint();
  for (const auto* rdd : std::initializer_list<const Rdd<Record>*>{&checkpointed, &local}) {
    computed.reset();
    k.same("checkpoint", rdd->collect(), want);
    k.require("is_checkpointed", rdd->is_checkpointed());
    k.same("checkpoint, read", rdd->collect(), want);
    // Files are written by a job of their own, which computes once more.
    k.same("checkpoint: records computed", computed.value(),
           (rdd == &local ? 1 : 2) * std::ssize(want));
  }
}

void saved(const Case& k) {
  static int folders = 0;
  const std::string to = k.directory + "/saved-" + std::to_string(folders++);
  const auto texts =
      k.loop([](const Record& r) { return r.first + " " + std::to_string(r.second); });
  const auto text =
      k.rdd.map([](const Record& r) { return r.first + " " + std::to_string(r.second); });
  for (const Compression how : {Compression::None, Compression::Gzip, Compression::Zstd}) {
    const std::string path = to + "-text-" + std::to_string(static_cast<int>(how));
    text.save_as_text_file(path, how);
    k.same("save_as_text_file, text_file", sorted(k.context.text_file(path, 3).collect()),
           sorted(texts));
  }
  k.rdd.save_as_object_file(to + "-objects");
  k.same("object_file", sorted(k.context.object_file<Record>(to + "-objects").collect()),
         sorted(k.data));
  k.rdd.save_as_sequence_file(to + "-pairs");
  k.same("sequence_file",
         sorted(k.context.sequence_file<std::string, int64_t>(to + "-pairs", 3).collect()),
         sorted(k.data));
}

// ---- the records ----------------------------------------------------------------------

Records random_records(uint64_t seed) {
  std::mt19937_64 random(seed);
  Records all;
  for (int i = 0; i < 3000; ++i)
    all.emplace_back("k" + std::to_string(random() % 60),
                     static_cast<int64_t>(random() % 1000) - 500);
  return all;
}
/// Nine in ten of one key.
Records skewed_records() {
  Records all;
  for (int64_t i = 0; i < 4000; ++i)
    all.emplace_back(i % 10 ? "k1" : "k" + std::to_string(i % 37), i % 101 - 50);
  return all;
}
Records huge_records() {
  return {{"k1", 4}, {std::string(8 << 20, 'h'), 7}, {"k3", -2}, {"k1", 9}};
}
Records tiny_records() {
  Records all;
  for (int64_t i = 0; i < 1'000'000; ++i)
    all.emplace_back("k" + std::to_string(i % 1000), i % 21 - 10);
  return all;
}

int run(Context& c, std::span<const std::string> args) {
  const uint64_t seed = args.size() > 1 ? std::stoull(args[1]) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  struct Kind {
    const char* name;
    Records data;
    std::vector<int32_t> partitions = {1, 2, 7};
  };
  const std::vector<Kind> kinds = {{"random", random_records(seed)},
                                   {"no", {}},
                                   {"skewed", skewed_records()},
                                   {"huge", huge_records()},
                                   {"a million tiny", tiny_records()}};
  for (const auto& [name, data, partitions] : kinds)
    for (const int32_t n : partitions) {
      const Case k{c, name, data, n, args[0], c.parallelize(data, n), c.parallelize(kOther, 2)};
      for (const auto operations : {by_record, by_partition, several, regrouped, drawn, by_key,
                                    joins, actions, statistics, later, kept, saved})
        operations(k);
      std::printf("%s records over %d partitions: right\n", name, n);
      std::fflush(stdout);
    }
  return 0;
}

TINDERBOX_APPLICATION(operations, "check every operation: DIRECTORY [SEED]", run);

}  // namespace
