// Sorting by the beginnings of keys gives the order of the keys, and so do bounds of partitions.
#include "core/api/steps/by_key/sorted.hpp"

#include <limits>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using tinderbox::core::PartitionOf;
using tinderbox::core::Random;
using tinderbox::core::SortPrefix;

namespace {

constexpr uint64_t kSeed = 7;

/// Keys in order, of records that a sort holds as pairs of As and int: a piece for every hundred.
template <class As, class K>
std::vector<K> sorted_keys(const std::vector<std::pair<K, int>>& records, bool ascending) {
  core::SortRecords<As, int> sorted(ascending);
  for (size_t from = 0; from < records.size(); from += 100) {
    Bytes piece;
    Encoder out(piece);
    for (size_t i = from; i < from + 100; ++i)
      core::encode<std::pair<As, int>>(out, std::pair<As, int>(records[i]));
    CHECK(sorted.add(std::move(piece)) == 100);
  }
  CHECK(sorted.size() == records.size());
  CHECK(sorted.bytes() > static_cast<int64_t>(records.size() * sizeof(core::SortEntry)));
  sorted.sort();
  std::vector<K> keys;
  for (size_t at = 0; at < sorted.size();)
    sorted.each(at, std::min(at + 33, sorted.size()),
                [&](std::pair<As, int>&& record) { return keys.emplace_back(record.first), true; });
  sorted.clear();
  CHECK(sorted.size() == 0);
  return keys;
}

/// Keys by `make`, compared in pairs, sorted both ways, and put between bounds.
template <class K, class Make>
void check_order(Make make) {
  Random random(kSeed, 1);
  std::vector<std::pair<K, int>> records;
  for (int i = 0; i < 500; ++i) records.emplace_back(make(random), i);
  const K first = records[0].first;
  for (const auto& [key, i] : records) {
    const uint64_t a = SortPrefix<K>::of(first), b = SortPrefix<K>::of(key);
    if (first < key) CHECK(a <= b);
    if (key < first) CHECK(b <= a);
    if (SortPrefix<K>::kExact) CHECK((a == b) == !(first < key || key < first));
  }
  for (const bool ascending : {true, false}) {
    std::vector<K> want;
    for (const auto& [key, i] : records) want.push_back(key);
    std::sort(want.begin(), want.end());
    if (!ascending) std::reverse(want.begin(), want.end());
    CHECK(sorted_keys<K>(records, ascending) == want);
    if constexpr (std::is_same_v<K, std::string>)
      CHECK(sorted_keys<std::string_view>(records, ascending) == want);
  }
  std::vector<K> bounds;
  for (size_t i = 0; i < 20; ++i) bounds.push_back(records[i].first);
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (const bool ascending : {true, false}) {
    Bytes parameters;
    Encoder out(parameters);
    out.text(core::type_of_keys<K>());
    core::encode(out, ascending);
    core::encode(out, bounds);
    const auto n = static_cast<int32_t>(bounds.size());
    const PartitionOf<K> partition_of({core::Partitioner::Kind::Range, n + 1, parameters});
    for (const auto& [key, i] : records) {
      const auto at = static_cast<int32_t>(std::lower_bound(bounds.begin(), bounds.end(), key) -
                                           bounds.begin());
      CHECK(partition_of(key, 0) == (ascending ? at : n - at));
    }
  }
}

std::string random_text(Random& random) {
  std::string text(random.below(12), 'x');
  for (char& c : text) c = "\0ab\xff"[random.below(4)];
  return random.below(2) ? text : "a long beginning that many have" + text;
}

}  // namespace

TEST_CASE("keys are sorted by their beginnings", "[sorted]") {
  CAPTURE(kSeed);
  check_order<int64_t>([](Random& r) { return static_cast<int64_t>(r.below(UINT64_MAX)); });
  check_order<uint64_t>([](Random& r) { return r.below(UINT64_MAX); });
  check_order<int8_t>([](Random& r) { return static_cast<int8_t>(r.below(256)); });
  check_order<bool>([](Random& r) { return r.below(2) == 1; });
  check_order<double>([](Random& r) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> special = {0.0, -0.0, infinity, -infinity, 5e-324, -5e-324};
    return r.below(3) ? (r.unit() - 0.5) * 1e9 : special[r.below(special.size())];
  });
  check_order<float>([](Random& r) { return static_cast<float>(r.unit() - 0.5); });
  check_order<std::string>(random_text);
  check_order<std::pair<std::string, int>>(
      [](Random& r) { return std::pair(random_text(r), static_cast<int>(r.below(3))); });
  check_order<std::tuple<int, std::string>>(
      [](Random& r) { return std::tuple(static_cast<int>(r.below(3)), random_text(r)); });
  check_order<std::vector<int>>(
      [](Random& r) { return std::vector<int>(r.below(4), static_cast<int>(r.below(4))); });
}

TEST_CASE("-0.0 and 0.0 are one key, also between bounds", "[sorted]") {
  CHECK(SortPrefix<double>::of(-0.0) == SortPrefix<double>::of(0.0));
  CHECK(SortPrefix<float>::of(-0.0f) == SortPrefix<float>::of(0.0f));
}

TEST_CASE("sorted records with views inside tuples and optionals stay as they were", "[sorted]") {
  tests::LocalRuntime runtime;
  Context context(runtime);
  std::vector<std::string> words;
  for (int i = 0; i < 3000; ++i)
    words.push_back("a word of some length " + std::to_string(i * 7 % 3000));
  const auto lines = context.parallelize(words, 2).map(
      [](const std::string& w) { return std::pair(w.substr(20), w); });
  const auto views =
      lines.map_values([](const std::string& w) { return std::tuple(std::string_view(w), 1); });
  std::sort(words.begin(), words.end());
  std::vector<std::string> got;
  for (const auto& [key, value] : views.sort_by_key(true, 2).collect())
    got.push_back(std::get<0>(value));
  CHECK(got == words);
  got.clear();
  const auto sides = lines.map_values([](const std::string& w) { return std::string_view(w); });
  for (const auto& [key, value] : lines.left_outer_join(sides).sort_by_key().collect())
    got.push_back(*value.second);
  CHECK(got == words);
}
