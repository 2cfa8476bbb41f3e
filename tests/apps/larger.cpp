// larger MEGABYTES LIMIT [DIRECTORY]: groups, sorts, joins, aggregates and keeps so much data, or
// saves it in DIRECTORY and reads it back. Executors must not have more than LIMIT megabytes in
// memory at once.
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>

#include "core/api/tinderbox.hpp"

namespace {

using namespace tinderbox;

constexpr int64_t kValue = 1000;  // bytes of a record, hard to compress

std::string value_of(int64_t number) {
  core::Random random(static_cast<uint64_t>(number), 0);
  std::string value(kValue, '\0');
  for (size_t i = 0; i + 8 <= value.size(); i += 8) {
    const uint64_t bits = random.bits();
    value.replace(i, 8, reinterpret_cast<const char*>(&bits), 8);
  }
  return value;
}

/// The most that this process ever had in memory. Unit: MB.
int64_t peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> word) return std::stoll(word) / 1024;
  return 0;
}

void require(bool right, const std::string& what) {
  if (!right) throw std::runtime_error("wrong: " + what);
}

/// A number that looks random, each once. Source: a permutation of [0, n).
int64_t scattered(int64_t i, int64_t n) { return i * 7919 % n; }

/// Half as many keys as records, the larger value of each; all values twice, each once of them;
/// both sides of all keys.
void by_hash(Context& c, int64_t records) {
  const int64_t half = records / 2;
  auto rows = c.range(0, records, 1, 8).map(capture(records, [](int64_t n, int64_t i) {
    return std::pair(scattered(i, n), value_of(scattered(i, n)));
  }));
  const int64_t larger =
      rows.map(capture(half,
                       [](int64_t h, const auto& r) { return std::pair(r.first % h, r.second); }))
          .reduce_by_key([](const std::string& a, const std::string& b) { return std::max(a, b); },
                         2)
          .filter(capture(half,
                          [](int64_t h, const auto& r) {
                            return r.second == std::max(value_of(r.first), value_of(r.first + h));
                          }))
          .count();
  require(larger == half, "the larger of two: " + std::to_string(larger));
  const int64_t different =
      c.range(0, 2 * records, 1, 8)
          .map(capture(records, [](int64_t n, int64_t i) { return value_of(i % n); }))
          .distinct(2)
          .count();
  require(different == records, "distinct: " + std::to_string(different));
  const int64_t sides = rows.cogroup(rows, 2)
                            .filter([](const auto& g) {
                              return g.second.first.size() == 1 && g.second.second.size() == 1 &&
                                     g.second.first[0] == value_of(g.first);
                            })
                            .count();
  require(sides == records, "cogroup: " + std::to_string(sides));
}

/// Groups, sorts, joins, keeps.
void steps(Context& c, int64_t records) {
  auto rows = c.range(0, records, 1, 8).map(capture(records, [](int64_t n, int64_t i) {
    return std::pair(scattered(i, n), value_of(scattered(i, n)));
  }));
  const int64_t keys = records / 10;

  auto groups =
      rows.map(capture(keys, [](int64_t k, const auto& r) { return std::pair(r.first % k, r); }))
          .group_by_key(2);
  const int64_t of_ten =
      groups
          .filter(capture(keys,
                          [](int64_t k, const auto& g) {
                            std::set<int64_t> members;
                            for (const auto& [number, value] : g.second)
                              if (number % k == g.first && value == value_of(number))
                                members.insert(number);
                            return g.second.size() == 10 && members.size() == 10;
                          }))
          .count();
  require(of_ten == keys, "groups of ten: " + std::to_string(of_ten));

  auto order = rows.sort_by_key(true, 2)
                   .map_partitions<std::pair<int64_t, int64_t>>([](auto& in, auto& emit) {
                     int64_t last = -1, n = 0;
                     in.for_each([&](const auto& r) {
                       if (r.first <= last) throw std::runtime_error("out of order");
                       if (r.second != value_of(r.first)) throw std::runtime_error("another value");
                       last = r.first;
                       ++n;
                     });
                     emit(std::pair(last, n));
                   })
                   .collect();
  require(order[0].first == order[0].second - 1 && order[1].first == records - 1 &&
              order[0].second + order[1].second == records,
          "sort");

  const int64_t joined =
      rows.join(
              rows.map_values([](const std::string& v) { return static_cast<int64_t>(v.size()); }),
              2)
          .filter([](const auto& r) {
            return static_cast<int64_t>(r.second.first.size()) == r.second.second;
          })
          .count();
  require(joined == records, "join");
  const int64_t both =
      rows.join(rows, 2)
          .filter([](const auto& r) {
            return r.second.first == value_of(r.first) && r.second.second == r.second.first;
          })
          .count();
  require(both == records, "join of two large sides");

  rows.persist(MEMORY_AND_DISK);
  for (int i = 0; i < 2; ++i) require(rows.count() == records, "kept");
  rows.unpersist();
}

/// As objects, and as a checkpoint: two parts each.
void files(Context& c, int64_t records, const std::string& directory) {
  auto rows = c.range(0, records, 1, 2).map([](int64_t i) { return std::pair(i, value_of(i)); });
  const auto right = [](const auto& r) { return r.second == value_of(r.first); };
  rows.save_as_object_file(directory + "/objects");
  auto objects = c.object_file<std::pair<int64_t, std::string>>(directory + "/objects");
  require(objects.num_partitions() == 2, "files of objects");
  require(objects.filter(right).count() == records, "objects");

  c.set_checkpoint_dir(directory + "/checkpoints");
  rows.checkpoint();
  require(rows.count() == records && rows.is_checkpointed(), "no checkpoint");
  require(rows.filter(right).count() == records, "checkpoint");
}

int run(Context& c, std::span<const std::string> args) {
  const int64_t records = std::stoll(args[0]) * 1000 / kValue * 1000, limit = std::stoll(args[1]);
  if (args.size() > 2) {
    files(c, records, args[2]);
  } else {
    by_hash(c, records);
    steps(c, records);
  }
  const auto peaks = c.range(0, 64, 1, 64).map([](int64_t) { return peak_megabytes(); }).collect();
  const int64_t peak = *std::max_element(peaks.begin(), peaks.end());
  std::printf("all right, at most %lld MB of %lld\n", static_cast<long long>(peak),
              static_cast<long long>(limit));
  return peak <= limit ? 0 : 1;
}

TINDERBOX_APPLICATION(larger, "more data than memory: MEGABYTES LIMIT [DIRECTORY]", run);

}  // namespace
