// The records that a sort holds in memory, in the order of their keys.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "core/api/steps/by_key/sort_prefix.hpp"
#include "core/api/steps/values/held_bytes.hpp"
#include "core/api/steps/values/order.hpp"

namespace tinderbox::core {

/// Values that own nothing, so that decoding one again costs next to nothing.
template <class T>
inline constexpr bool kPlain = std::is_trivially_copyable_v<T>;
template <class A, class B>
inline constexpr bool kPlain<std::pair<A, B>> = kPlain<A> && kPlain<B>;
template <class... T>
inline constexpr bool kPlain<std::tuple<T...>> = (kPlain<T> && ...);

/// Sorts `places`, whose prefixes are those of their keys, reversed unless ascending. `key_at`
/// gives the key of a place, for those whose prefixes do not tell them apart.
template <class K, class KeyAt>
void sort_places(std::vector<SortEntry>& places, bool ascending, KeyAt key_at) {
  sort_by_prefix(places);
  if constexpr (!SortPrefix<K>::kExact) {
    const auto by_key = [&](const SortEntry& a, const SortEntry& b) {
      return ascending ? before(key_at(a.at), key_at(b.at)) : before(key_at(b.at), key_at(a.at));
    };
    for (auto first = places.begin(), last = first; first != places.end(); first = last) {
      while (last != places.end() && last->prefix == first->prefix) ++last;
      if (last - first > 1) std::sort(first, last, by_key);
    }
  }
}

/// Plain records. They stay as they are encoded, and are decoded again when they are handed out: so
/// a record costs its bytes and a place, and lies in one spot, which is fetched into the cache
/// while those before it are handed out. Thread: one task's.
template <class K, class V>
class EncodedRecords {
 public:
  using Record = std::pair<K, V>;
  explicit EncodedRecords(bool ascending) : ascending_(ascending) {}
  /// Views of records stay good. Shape: piece.size() < 4 GiB. Returns how many records there were.
  int64_t add(Bytes piece) {
    const size_t number = pieces_.size(), before = places_.size();
    pieces_.push_back(std::make_unique<Bytes>(std::move(piece)));
    whole_.push_back(*pieces_.back());
    held_ += static_cast<int64_t>(pieces_.back()->capacity());
    for (Decoder in(whole_.back()); !in.done();) {
      const size_t at = whole_.back().size() - in.remaining();
      const Record record = decode<Record>(in);
      places_.push_back({SortPrefix<K>::of(record.first) ^ flip(), number << 32 | at});
    }
    return static_cast<int64_t>(places_.size() - before);
  }
  size_t size() const { return places_.size(); }
  int64_t bytes() const {
    return held_ + static_cast<int64_t>(places_.capacity() * sizeof(SortEntry));
  }
  void sort() {
    sort_places<K>(places_, ascending_, [this](size_t at) {
      Decoder in(bytes_at(at));
      return decode<K>(in);
    });
  }
  /// Calls f(record) for those from number `at`, which it moves on, until `end` or false.
  template <class F>
  void each(size_t& at, size_t end, F&& f) {
    constexpr size_t kAhead = 16, kLine = 64;
    const bool wide = bytes() > static_cast<int64_t>(kLine * places_.size());
    while (at < end) {
      if (at + kAhead < places_.size()) {
        const char* soon = bytes_at(places_[at + kAhead].at).data();
        __builtin_prefetch(soon);
        if (wide) __builtin_prefetch(soon + kLine);
      }
      Decoder in(bytes_at(places_[at++].at));
      if (!f(decode<Record>(in))) return;
    }
  }
  void clear() { *this = EncodedRecords(ascending_); }

 private:
  uint64_t flip() const { return ascending_ ? 0 : ~uint64_t{0}; }
  std::string_view bytes_at(size_t at) const { return whole_[at >> 32].substr(at & UINT32_MAX); }

  bool ascending_;
  std::vector<std::unique_ptr<Bytes>> pieces_;
  std::vector<std::string_view> whole_;  // those
  std::vector<SortEntry> places_;        // at: the piece, and in its lower half where in it
  int64_t held_ = 0;
};

/// Records that own memory: as they were decoded. Thread: one task's.
template <class K, class V>
class OwnedRecords {
 public:
  using Record = std::pair<K, V>;
  explicit OwnedRecords(bool ascending) : ascending_(ascending) {}
  /// As EncodedRecords.
  int64_t add(Bytes piece) {
    const size_t before = records_.size();
    auto kept = std::make_unique<Bytes>(std::move(piece));
    for (Decoder in(*kept); !in.done();) {
      records_.push_back(decode<Record>(in));
      held_ += held_bytes(records_.back());
    }
    if constexpr (holds_view<Record>()) {
      held_ += static_cast<int64_t>(kept->capacity());
      pieces_.push_back(std::move(kept));
    }
    return static_cast<int64_t>(records_.size() - before);
  }
  size_t size() const { return records_.size(); }
  int64_t bytes() const {
    return held_ + static_cast<int64_t>(records_.capacity() * sizeof(Record) +
                                        records_.size() * sizeof(SortEntry));
  }
  void sort() {
    const uint64_t flip = ascending_ ? 0 : ~uint64_t{0};
    for (size_t i = 0; i < records_.size(); ++i)
      places_.push_back({SortPrefix<K>::of(records_[i].first) ^ flip, i});
    sort_places<K>(places_, ascending_,
                   [this](size_t at) -> const K& { return records_[at].first; });
  }
  template <class F>
  void each(size_t& at, size_t end, F&& f) {
    constexpr size_t kAhead = 16;
    while (at < end) {
      if (at + kAhead < places_.size()) __builtin_prefetch(&records_[places_[at + kAhead].at]);
      if (!f(std::move(records_[places_[at++].at]))) return;
    }
  }
  void clear() { *this = OwnedRecords(ascending_); }

 private:
  bool ascending_;
  std::vector<std::unique_ptr<Bytes>> pieces_;  // that records look into
  std::vector<Record> records_;
  std::vector<SortEntry> places_;
  int64_t held_ = 0;
};

template <class K, class V>
using SortRecords =
    std::conditional_t<kPlain<K> && kPlain<V>, EncodedRecords<K, V>, OwnedRecords<K, V>>;

}  // namespace tinderbox::core
