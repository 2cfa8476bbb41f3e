// Operations by key over ten and more times the memory that tasks have: as with plain loops.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/core/api/values.hpp"
#include "tests/core/storage/fake_files.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using tinderbox::core::held_bytes;
using tinderbox::core::Random;

namespace {

constexpr uint64_t kRowSeed = 11;
constexpr int64_t kRecords = 60000;
constexpr int64_t kKeys = 20000;
using Row = std::pair<std::string, std::string>;

/// 4 MB of rows and their keys, a few keys with very many rows. What is random is hard to compress.
Row row(int64_t i) {
  Random random(kRowSeed, static_cast<uint64_t>(i));
  const auto key = i % 10 == 0 ? random.below(3) : random.below(kKeys);
  std::string value(40 + random.below(40), 'x');
  for (char& c : value) c = static_cast<char>(random.below(256));
  return {"the key of some rows, number " + std::to_string(key), value};
}

std::string short_or_long(int64_t i) {
  return (i % 3 == 0 ? "the long key of some numbers, " : "") + std::to_string(i * 7919 % kKeys);
}

/// A pool of 300 KB, so that a task has its free megabyte and nothing more.
struct Little {
  LocalRuntime runtime{2, conf::Conf::of({{"spark.executor.memory", "512k"}})};
  Context context{runtime};
  auto rows(int64_t factor = 1) {
    return context.range(0, kRecords * factor, 1, 3).map([](int64_t i) { return row(i); });
  }
  bool spilled() {
    CHECK(runtime.services.memory().use().execution == 0);
    return runtime.last_metrics.memory_spilled > 0;
  }
};

std::map<std::string, std::multiset<std::string>> groups() {
  std::map<std::string, std::multiset<std::string>> all;
  for (int64_t i = 0; i < kRecords; ++i) {
    auto [key, value] = row(i);
    all[key].insert(value);
  }
  return all;
}

}  // namespace

TEST_CASE("what a value holds beside itself is told from a few of its parts", "[spill]") {
  CHECK(held_bytes(7) == 0);
  CHECK(held_bytes(std::string("short")) == 0);
  CHECK(held_bytes(std::string(1000, 'x')) >= 1000);
  std::vector<int64_t> numbers(1000);
  CHECK(held_bytes(numbers) == 8000);
  const std::vector<std::string> texts(1000, std::string(100, 'x'));
  CHECK(held_bytes(texts) >= 1000 * (32 + 100));
  CHECK(held_bytes(texts) <= 1000 * (32 + 130));
  CHECK(held_bytes(std::pair(1, texts)) == held_bytes(texts));
  const std::array<std::string, 2> row{std::string(100, 'x'), std::string(100, 'y')};
  CHECK(held_bytes(row) >= 200);
  CHECK(held_bytes(std::pair(1, row)) == held_bytes(row));
  CHECK(held_bytes(std::vector{row, row}) >= 2 * held_bytes(row));
  CHECK(held_bytes(std::optional(texts)) == held_bytes(texts));
  CHECK(held_bytes(std::optional<std::string>()) == 0);
  CHECK(held_bytes(std::variant<int, std::string>(std::string(100, 'x'))) >= 100);
  const std::map<int, int> map{{1, 2}, {3, 4}};
  CHECK(held_bytes(map) == 2 * (32 + 8));
  struct Mixed {
    int a;
    std::string b;
  };
  CHECK(held_bytes(Mixed{1, std::string(100, 'x')}) >= 100);
  // As outer joins of outer joins group them.
  const std::optional<std::string> text(std::string(1000, 'x'));
  const std::pair nested(std::optional(std::pair(std::optional(std::pair(text, text)), text)),
                         std::optional(std::vector<double>(1000)));
  CHECK(held_bytes(std::pair(std::vector{nested}, std::vector<int>{})) >= 3000 + 8000);
  std::vector<std::vector<std::vector<std::vector<std::vector<std::string>>>>> deep(
      2, {{{std::vector<std::string>(3)}}});
  CHECK(held_bytes(deep) >= 2 * 3 * 32);
}

TEST_CASE("tables ask for what they need when they grow before they do", "[spill]") {
  core::NumberTable<8> numbers;
  core::CombineTable texts;
  const auto growth = [](auto& table, size_t more) { return table.growth(more); };
  CHECK(growth(numbers, 320) == 0);
  CHECK(growth(numbers, 321) == 2 * numbers.bytes());
  CHECK(growth(texts, 160) == 0);
  CHECK(growth(texts, 161) == 2 * texts.bytes());
  std::vector<int64_t> values;
  values.reserve(10);
  CHECK(core::growth_of(values, 10) == 0);
  CHECK(core::growth_of(values, 11) == 2 * 80);
  // 5/8 of 2^16 slots are full: twice as many would have to be had beside them.
  constexpr int64_t kSlots = 1 << 16, kKeys = kSlots / 8 * 5 + 1;
  LocalRuntime runtime{1, conf::Conf::of({{"spark.executor.memory", "1m"}})};
  Context context{runtime};
  CHECK(context.range(0, kKeys, 1, 1)
            .map([](int64_t i) { return std::pair(i, int64_t{1}); })
            .reduce_by_key(std::plus<int64_t>(), 1)
            .count() == kKeys);
  CHECK(runtime.last_metrics.memory_spilled > 0);
  CHECK(runtime.last_metrics.peak_memory < kSlots * 16 * 2);
}

namespace {
std::atomic<int64_t> paired{0};
/// Pairs that were made when the reader of a partition came to its first one.
template <class T>
int64_t made_for_the_first(const Rdd<T>& pairs) {
  paired = 0;
  return pairs
      .map([](const T& pair) {
        ++paired;
        return pair;
      })
      .template map_partitions<int64_t>([](auto& in, auto& emit) {
        in.peek();
        emit(paired.load());
      })
      .collect()
      .at(0);
}
}  // namespace

TEST_CASE("who takes pairs one by one holds a bounded number of them", "[spill]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto left = context.range(0, 1000, 1, 1), right = context.range(0, 3000, 1, 1);
  const auto by_one = [](const auto& numbers) {
    return numbers.map([](int64_t i) { return std::pair(int64_t{7}, i); });
  };
  const auto joined = by_one(left).join(by_one(right), 1);
  const int64_t of_product = made_for_the_first(left.cartesian(right));
  CHECK(of_product > 0);
  CHECK(of_product <= 1024);
  const int64_t of_join = made_for_the_first(joined);
  CHECK(of_join > 0);
  CHECK(of_join <= (16 << 10) + 1);
  const auto sums = joined
                        .map_partitions<std::pair<int64_t, int64_t>>([](auto& in, auto& emit) {
                          std::pair<int64_t, int64_t> sum;
                          for (const auto& r : in) {
                            ++sum.first;
                            sum.second += r.second.first * r.second.second;
                          }
                          emit(sum);
                        })
                        .collect();
  CHECK(sums == std::vector{std::pair(int64_t{3'000'000},
                                      int64_t{999 * 1000 / 2} * int64_t{2999 * 3000 / 2})});
  CHECK(joined.map([](const auto& r) { return r.second.first * r.second.second; }).sum() ==
        sums.at(0).second);
  CHECK(by_one(left).left_outer_join(by_one(right), 1).take(20'000).size() == 20'000);
  CHECK(left.cartesian(right).take(5000).back() == std::pair(int64_t{1}, int64_t{1999}));
}

namespace {
std::atomic<int64_t> pushed{0}, most_waiting{0};
}  // namespace

TEST_CASE("a join does not keep all that a function pushes", "[spill]") {
  constexpr int64_t kAll = 200'000;
  LocalRuntime runtime;
  Context context(runtime);
  const auto key = [](int64_t i) { return std::pair(i, i); };
  pushed = paired = most_waiting = 0;
  const auto left = context.range(0, 1, 1, 1).map(key).partition_by(1);
  const auto all = left.map_partitions<std::pair<int64_t, int64_t>>(
      [](auto&, auto& emit) {
        for (int64_t i = 0; i < kAll; ++i) {
          ++pushed;
          if (!emit(std::pair(i, i))) return;
        }
      },
      true);
  const auto sum = all.join(context.range(0, kAll, 1, 1).map(key), 1)
                       .map([](const auto& r) {
                         most_waiting = std::max(most_waiting.load(), pushed - ++paired);
                         return r.first - r.second.first + r.second.second;
                       })
                       .sum();
  CHECK(sum == kAll * (kAll - 1) / 2);
  CHECK(paired == kAll);
  CHECK(most_waiting > 0);
  CHECK(most_waiting <= (4 << 10));
}

TEST_CASE("grouping what does not fit in memory", "[spill]") {
  Little little;
  std::map<std::string, std::multiset<std::string>> got;
  for (auto& [key, values] : little.rows().group_by_key(2).collect()) {
    CHECK(got.count(key) == 0);
    got[key] = {values.begin(), values.end()};
  }
  CHECK(little.spilled());
  CHECK((got == groups()));
  CHECK(little.runtime.files().list(little.runtime.services.directory)->empty());
}

TEST_CASE("groups keep the order in which their values came", "[spill]") {
  Little little;
  auto numbered = little.context.range(0, 200000, 1, 1).map([](int64_t i) {
    return std::pair("key " + std::to_string(i % 5000), i);
  });
  const auto ordered = numbered.group_by_key(1).map_values([](const std::vector<int64_t>& v) {
    return std::is_sorted(v.begin(), v.end()) && v.size() == 40;
  });
  CHECK(ordered.filter([](const auto& r) { return r.second; }).count() == 5000);
  CHECK(little.spilled());
}

TEST_CASE("sums, combined values and distinct records of what does not fit in memory", "[spill]") {
  Little little;
  std::map<std::string, std::string> least;
  std::map<std::string, int64_t> lengths;
  for (const auto& [key, values] : groups()) {
    least[key] = *values.begin();
    for (const auto& value : values) lengths[key] += static_cast<int64_t>(value.size());
  }
  const auto found = little.rows().reduce_by_key(
      [](const std::string& a, const std::string& b) { return std::min(a, b); }, 2);
  const auto pairs = found.collect();
  CHECK(little.spilled());
  CHECK((std::map(pairs.begin(), pairs.end()) == least));
  CHECK(pairs.size() == least.size());

  const auto sums =
      little.rows()
          .map_values([](const std::string& v) { return static_cast<int64_t>(v.size()); })
          .reduce_by_key(std::plus<int64_t>(), 2)
          .collect_as_map();
  CHECK((std::map(sums.begin(), sums.end()) == lengths));

  CHECK(little.rows().union_with(little.rows()).distinct(2).count() == kRecords);
  CHECK(little.spilled());
}

TEST_CASE("joins and cogroups of what does not fit in memory", "[spill]") {
  Little little;
  // Keys of the right side: every third of the left ones, and as many that the left side lacks.
  const auto right_of = [](int64_t i) {
    return std::pair("the key of some rows, number " + std::to_string(3 * i + 3),
                     std::to_string(i) + std::string(60, 'r'));
  };
  auto right = little.context.range(0, kKeys, 1, 2).map(right_of);
  std::map<std::string, std::string> right_map;
  for (int64_t i = 0; i < kKeys; ++i) right_map.insert(right_of(i));
  const auto left_groups = groups();

  std::multiset<std::tuple<std::string, std::string, std::string>> want, want_left, want_right;
  for (const auto& [key, values] : left_groups)
    for (const auto& value : values) {
      const auto r = right_map.find(key);
      if (r != right_map.end()) want.insert({key, value, r->second});
      want_left.insert({key, value, r == right_map.end() ? "-" : r->second});
    }
  want_right = want;
  for (const auto& [key, value] : right_map)
    if (!left_groups.count(key)) want_right.insert({key, "-", value});

  const auto flat = [](const auto& rows) {
    std::multiset<std::tuple<std::string, std::string, std::string>> all;
    const auto text = [](const auto& v) {
      if constexpr (requires { v.has_value(); })
        return v ? std::string(*v) : "-";
      else
        return std::string(v);
    };
    for (const auto& [key, values] : rows)
      all.insert({key, text(values.first), text(values.second)});
    return all;
  };
  CHECK((flat(little.rows().join(right, 2).collect()) == want));
  CHECK(little.spilled());
  CHECK((flat(right.join(little.rows(), 2)
                  .map_values([](auto v) { return std::pair(v.second, v.first); })
                  .collect()) == want));
  CHECK(little.spilled());
  CHECK((flat(little.rows().left_outer_join(right, 2).collect()) == want_left));
  CHECK((flat(little.rows().right_outer_join(right, 2).collect()) == want_right));
  auto want_full = want_left;
  for (const auto& one : want_right)
    if (std::get<1>(one) == "-") want_full.insert(one);
  CHECK((flat(little.rows().full_outer_join(right, 2).collect()) == want_full));
  CHECK(little.spilled());

  size_t both = 0;
  for (const auto& [key, sides] : little.rows().cogroup(right, 2).collect()) {
    const auto l = left_groups.find(key);
    const std::multiset<std::string> values(sides.first.begin(), sides.first.end());
    CHECK((values == (l == left_groups.end() ? std::multiset<std::string>() : l->second)));
    CHECK(sides.second.size() == right_map.count(key));
    both += l != left_groups.end() && right_map.count(key);
  }
  CHECK(both > 1000);
  CHECK(little.runtime.files().list(little.runtime.services.directory)->empty());
}

TEST_CASE("a reader that wants no more of what was spilled gets no more", "[spill]") {
  Little little;
  CHECK(little.rows().group_by_key(1).take(3).size() == 3);
  CHECK(little.rows().join(little.rows(), 1).take(7).size() == 7);
  CHECK(little.rows().sort_by_key(true, 1).take(5).size() == 5);
  CHECK(little.runtime.files().list(little.runtime.services.directory)->empty());
}

TEST_CASE("sorting what does not fit in memory, also through files", "[spill]") {
  Little little;
  constexpr int64_t kFactor = 5;  // 20 MB a partition: more than stays in memory as pieces
  for (const bool ascending : {true, false}) {
    std::vector<std::string> want;
    for (int64_t i = 0; i < kRecords * kFactor; ++i) want.push_back(row(i).first);
    std::sort(want.begin(), want.end());
    if (!ascending) std::reverse(want.begin(), want.end());
    std::vector<std::string> got;
    for (const auto& r : little.rows(kFactor).sort_by_key(ascending, 2).collect())
      got.push_back(r.first);
    CHECK((got == want));
    CHECK(little.spilled());
    CHECK(little.runtime.last_metrics.disk_spilled > 8 << 20);
  }
  CHECK(little.runtime.files().list(little.runtime.services.directory)->empty());
}

TEST_CASE("a sort has no more runs open than fit in its memory, and writes all twice for that",
          "[spill]") {
  tinderbox::test::FakeFiles disk;
  LocalRuntime runtime{1, conf::Conf::of({{"spark.executor.memory", "7m"}})};
  runtime.services.disk = &disk;
  disk.directories.insert(runtime.services.directory);
  const int64_t share = runtime.services.memory().share();
  Context context{runtime};
  constexpr int64_t kRows = 5 * kRecords;
  const auto keys = context.range(0, kRows, 1, 100)
                        .map([](int64_t i) { return row(i); })
                        .sort_by_key(true, 1)
                        .keys()
                        .collect();
  CHECK(std::is_sorted(keys.begin(), keys.end()));
  CHECK(keys.size() == static_cast<size_t>(kRows));
  int64_t values = 0;  // bytes, which compress to no less
  for (int64_t i = 0; i < kRows; ++i) values += static_cast<int64_t>(row(i).second.size());
  const int64_t written = runtime.last_metrics.disk_spilled;
  CHECK(written > 2 * values);
  CHECK(written < 3 * values);
  CHECK(disk.most_viewed() > share / 8);
  CHECK(disk.most_viewed() < share / 2);
  CHECK(disk.viewed() == 0);
  CHECK(disk.files.empty());
}

TEST_CASE("a sort that cannot hold all of its partition holds a small part of it", "[spill]") {
  constexpr int64_t kMemory = 300 << 20, kRecord = 1 << 20;
  LocalRuntime runtime{1, conf::Conf::of({{"spark.executor.memory", "810m"}})};
  REQUIRE(runtime.services.memory().size() >= kMemory);
  Context context{runtime};
  const auto most_held = [&](int64_t records) {
    const auto sorted = context.range(0, records, 1, 40)
                            .map([](int64_t i) {
                              Random random(kRowSeed, static_cast<uint64_t>(i));
                              return std::pair(random.below(1000), std::string(kRecord, 'x'));
                            })
                            .sort_by_key(true, 1)
                            .map([](const std::pair<uint64_t, std::string>& r) { return r.first; })
                            .collect();
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
    CHECK(sorted.size() == static_cast<size_t>(records));
    return runtime.last_metrics.peak_memory;
  };
  CHECK(most_held(200) > 200 * kRecord);
  CHECK(runtime.last_metrics.memory_spilled == 0);
  const int64_t held = most_held(500);
  CHECK(runtime.last_metrics.memory_spilled > 400 * kRecord);
  CHECK(held > 64 * kRecord);
  CHECK(held < 100 * kRecord);
}

TEST_CASE("a partition that does not fit in memory is kept on disk, or not at all", "[spill]") {
  for (const auto& level : {MEMORY_ONLY, MEMORY_AND_DISK, DISK_ONLY}) {
    Little little;
    auto computed = little.context.long_accumulator();
    auto rows = little.rows().map(capture(computed, [](const auto& sum, const Row& r) {
      sum.add(1);
      return r;
    }));
    rows.persist(level);
    const auto lengths = [&] {
      return rows.map([](const Row& r) { return static_cast<int64_t>(r.second.size()); }).sum();
    };
    const auto first = lengths();
    CHECK(lengths() == first);
    CHECK(first > 40 * kRecords);
    CHECK(computed.value() == (level.disk ? 1 : 2) * kRecords);
    CHECK(little.runtime.services.memory().use().execution == 0);
    CHECK(little.runtime.files().list(little.runtime.services.directory)->empty());
  }
}

TEST_CASE("one key with more than all memory is grouped all the same", "[spill]") {
  Little little;
  auto one = little.context.range(0, 100000, 1, 2).map([](int64_t i) {
    return std::pair(std::string("one"), std::to_string(i) + std::string(30, 'x'));
  });
  const auto all = one.group_by_key(2).collect();
  REQUIRE(all.size() == 1);
  CHECK(all[0].second.size() == 100000);
  CHECK(one.join(little.context.parallelize(std::vector{std::pair(std::string("one"), 1)}, 1), 2)
            .count() == 100000);
}

TEST_CASE("a first key with more than all memory lets others spill all the same", "[spill]") {
  constexpr int64_t kLarge = 3 << 20, kOthers = 13000, kOther = 1000;  // ten times the memory
  Little little;
  auto rows = little.context.range(0, kOthers + 1, 1, 1).map([](int64_t i) {
    return std::pair(i, std::string(i == 0 ? kLarge : kOther, static_cast<char>('a' + i % 26)));
  });
  const auto right = [](const std::string& value, int64_t key) {
    return value.size() == static_cast<size_t>(key == 0 ? kLarge : kOther) &&
           value.front() == static_cast<char>('a' + key % 26);
  };
  const auto spilled_in_bounds = [&] {
    CHECK(little.runtime.last_metrics.peak_memory > kLarge);
    CHECK(little.runtime.last_metrics.peak_memory < 2 * kLarge + (2 << 20));
    return little.spilled();
  };
  std::set<int64_t> seen;
  for (const auto& [key, values] : rows.group_by_key(1).collect()) {
    CHECK((values.size() == 1 && right(values[0], key)));
    seen.insert(key);
  }
  CHECK(seen.size() == kOthers + 1);
  CHECK(spilled_in_bounds());

  seen.clear();
  auto keys = rows.map_values([](const std::string&) { return 1; });
  for (const auto& [key, values] : keys.join(rows, 1).collect()) {
    CHECK(right(values.second, key));
    seen.insert(key);
  }
  CHECK(seen.size() == kOthers + 1);
  CHECK(spilled_in_bounds());
}

TEST_CASE("damage of what was spilled is told, and no record of it is seen", "[spill]") {
  LocalRuntime runtime(1, conf::Conf::of({{"spark.executor.memory", "512k"}}));
  core::TaskContext task;
  task.services = &runtime.services;
  core::SpilledParts parts(task, 2, "temp_local", {core::PieceCodec::Lz4});
  for (int i = 0; i < 100000; ++i) {
    Encoder out(parts.buffer(i % 2));
    out.text("record " + std::to_string(i * 7919));
    parts.added(i % 2);
  }
  parts.spill();
  parts.finish();
  const auto names = runtime.files().list(runtime.services.directory);
  REQUIRE(names->size() == 1);
  const std::string path = runtime.services.directory + "/" + names->front().name;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 4));  // of the first
  file.put('?').flush();
  const auto read = [&](int32_t part) {
    core::SpilledReader reader(parts, part);
    int64_t pieces = 0;
    while (reader.next()) ++pieces;
    return pieces;
  };
  CHECK_THROWS_WITH(read(0), Catch::Contains("what was spilled is damaged: the checksum is wrong"));
  CHECK(read(1) > 1);
}

TEST_CASE("a disk that fails while steps spill: one line says what where, nothing stays",
          "[spill]") {
  tinderbox::test::FakeFiles disk;
  Little little;
  auto& services = little.runtime.services;
  services.disk = &disk;
  disk.directories = {services.directory};
  const auto rows = little.rows(3);  // in one partition more than stays in memory as pieces
  const auto grouped = rows.group_by_key(1);
  const auto ordered = rows.sort_by_key(true, 1);
  const auto joined = rows.join(rows, 1);
  const std::function<size_t()> steps[] = {[&] { return grouped.take(1).size(); },
                                           [&] { return ordered.take(1).size(); },
                                           [&] { return joined.take(1).size(); }};
  const auto fails = [&](const std::function<size_t()>& step, const std::string& why) {
    CHECK_THROWS_WITH(
        step(), Catch::Matches("Job aborted due to stage failure: cannot spill: cannot write " +
                               services.directory + "/temp_local_[0-9_]+: " + why));
    CHECK(services.memory().use().execution == 0);
    CHECK(disk.files.empty());
  };
  const int64_t room = std::exchange(disk.capacity, 1 << 20);
  for (const auto& step : steps) fails(step, "No space left on device");
  disk.capacity = room;
  disk.refuse = "temp_local";
  for (const auto& step : steps) fails(step, "Input/output error");
  // A join has two files: the first one is whole when the second one fails.
  disk.refuse.clear();
  int ended = 0;
  disk.before_commit = [&](const std::string& path) {
    if (++ended == 2) disk.refuse = path;
  };
  fails(steps[2], "Input/output error");
  CHECK(ended == 2);
  disk.before_commit = {};
  disk.refuse.clear();
  for (const auto& step : steps) CHECK(step() == 1);
  CHECK(disk.files.empty());
  CHECK(services.memory().use().execution == 0);
}

TEST_CASE("numbers in groups with short keys and long ones, over the memory that there is",
          "[spill]") {
  Little little;
  constexpr int64_t kNumbers = 400000;
  std::map<std::string, std::multiset<int32_t>> expected;
  for (int64_t i = 0; i < kNumbers; ++i) expected[short_or_long(i)].insert(static_cast<int32_t>(i));
  const auto groups =
      little.context.range(0, kNumbers, 1, 3)
          .map([](int64_t i) { return std::pair(short_or_long(i), static_cast<int32_t>(i)); })
          .group_by_key(2)
          .collect();
  CHECK(little.spilled());
  std::map<std::string, std::multiset<int32_t>> got;
  for (const auto& [name, numbers] : groups) got[name].insert(numbers.begin(), numbers.end());
  CHECK(got.size() == groups.size());
  CHECK((got == expected));
}

TEST_CASE("cartesian with a side that does not fit in memory", "[spill]") {
  Little little;
  auto made = little.context.long_accumulator();
  const auto left = little.context.range(0, 3, 1, 1);
  const auto right =
      little.context.range(0, kRecords, 1, 2).map(capture(made, [](const auto& m, int64_t i) {
        m.add(1);
        return row(i).second;
      }));
  std::multiset<std::string> want, got;
  for (int64_t i = 0; i < kRecords; ++i)
    for (int copy = 0; copy < 3; ++copy) want.insert(row(i).second);
  for (auto& [number, value] : left.cartesian(right).collect()) got.insert(std::move(value));
  CHECK((got == want));
  CHECK(made.value() > 3 * kRecords);  // once more until it was too much
  CHECK(little.runtime.services.memory().use().execution == 0);
  made.reset();
  CHECK(left.cartesian(little.context.range(0, 10, 1, 2)
                           .map(capture(made,
                                        [](const auto& m, int64_t i) {
                                          m.add(1);
                                          return i;
                                        })))
            .count() == 30);
  CHECK(made.value() == 10);
}
