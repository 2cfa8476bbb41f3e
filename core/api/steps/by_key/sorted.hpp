// Records of a shuffle in the order of their keys.
#pragma once

#include <algorithm>

#include "core/api/steps/by_key/shuffled.hpp"
#include "core/api/steps/by_key/sort_prefix.hpp"

namespace tinderbox::core {

/// Where a record stands, and the prefix of its key.
struct SortEntry {
  uint64_t prefix;
  size_t at;
};

/// The places of `records` in the order of their keys.
template <class K, class V>
std::vector<SortEntry> sorted_places(const std::vector<std::pair<K, V>>& records, bool ascending) {
  using Prefix = SortPrefix<K>;
  const uint64_t flip = ascending ? 0 : ~uint64_t{0};
  std::vector<SortEntry> places(records.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = {Prefix::of(records[i].first) ^ flip, i};
  std::sort(places.begin(), places.end(), [&](const SortEntry& a, const SortEntry& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    if constexpr (Prefix::kExact) return false;
    const K &x = records[a.at].first, &y = records[b.at].first;
    return ascending ? x < y : y < x;
  });
  return places;
}

/// Source: Spark ShuffledRDD with a key ordering. The pieces are kept, so views stay good.
template <class K, class V>
class SortedNode final : public OperatorNode<SortedNode<K, V>, std::pair<K, V>> {
 public:
  using Record = std::pair<K, V>;
  explicit SortedNode(bool ascending) : ascending_(ascending) {}
  explicit SortedNode(Decoder& in) : ascending_(decode<bool>(in)) {}
  void encode(Encoder& out) const { core::encode(out, ascending_); }
  std::unique_ptr<Cursor<Record>> open(int32_t partition, TaskContext& context) const override {
    auto cursor = std::make_unique<SortedCursor>();
    ShuffleReader reader(context, std::get<ShufflePtr>(this->dependencies.at(0))->id, partition);
    while (const auto piece = reader.next()) {
      check_killed(context);
      cursor->pieces.push_back(std::make_unique<Bytes>(reader.take(*piece)));
      each_record(*cursor->pieces.back(), cursor->records);
    }
    context.metrics.shuffle_read_records += static_cast<int64_t>(cursor->records.size());
    cursor->places = sorted_places(cursor->records, ascending_);
    return cursor;
  }

 private:
  static void each_record(std::string_view piece, std::vector<Record>& records) {
    for (Decoder in(piece); !in.done();) records.push_back(decode<Record>(in));
  }
  struct SortedCursor final : Cursor<Record> {
    bool next(Sink<Record> out) override {
      for (const size_t end = std::min(next_place + 1024, places.size()); next_place < end;) {
        if (!out(std::move(records[places[next_place++].at]))) return false;
      }
      return next_place < places.size();
    }
    std::vector<std::unique_ptr<Bytes>> pieces;
    std::vector<Record> records;
    std::vector<SortEntry> places;
    size_t next_place = 0;
  };
  bool ascending_;
};

}  // namespace tinderbox::core
