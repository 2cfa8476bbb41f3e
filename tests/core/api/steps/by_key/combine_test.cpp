// Values combined through the queue of a table: as with plain loops, in the order in which they
// came.
#include "core/api/steps/by_key/combine.hpp"

#include <map>

#include "tests/core/api/values.hpp"

using namespace tinderbox;
using namespace tinderbox::tests;
using namespace tinderbox::core;

namespace {

constexpr uint64_t kCombineSeed = 23;

/// Adds random records to a Combiner by its queue, which is flushed now and then, and to a map.
template <class K, class C, class Create, class Merge>
void compare(int64_t keys, int64_t records, Create create, Merge merge) {
  Random random(kCombineSeed, static_cast<uint64_t>(keys));
  Combiner<K, C> combiner;
  typename Combiner<K, C>::template Queue<int32_t> queue(combiner);
  std::map<K, C> expected;
  for (int64_t i = 0; i < records; ++i) {
    const auto key = static_cast<K>(random.below(static_cast<uint64_t>(keys)));
    auto value = static_cast<int32_t>(i);
    const auto [it, fresh] = expected.try_emplace(key);
    if (fresh)
      it->second = create(int32_t(value));
    else
      merge(it->second, int32_t(value));
    queue.push({reinterpret_cast<const char*>(&key), sizeof key}, value, create, merge);
    if (random.below(500) == 0) queue.flush(create, merge);
  }
  queue.flush(create, merge);
  std::map<K, C> got;
  combiner.table().each([&](const auto& slot) {
    got.emplace(KeyBytes<K>::restore(slot.key()), combiner.value(slot));
  });
  CHECK((got == expected));
  CHECK(combiner.table().size() == got.size());
  int64_t held = 0;
  for (const auto& [key, value] : got) held += held_bytes(value);
  CHECK(combiner.bytes() >= held);
}

}  // namespace

TEST_CASE("groups and sums by way of a table's queue are those of a map", "[combine]") {
  const GroupAggregator<int32_t> group;
  auto create = [&](int32_t&& v) { return group.create(std::move(v)); };
  auto append = [&](std::vector<int32_t>& c, int32_t&& v) { group.merge_value(c, std::move(v)); };
  auto sum = [](int32_t&& v) { return int64_t{v}; };
  auto add = [](int64_t& c, int32_t&& v) { c += v; };
  for (const int64_t keys : {1, 2, 40, 1000, 60000}) {
    CAPTURE(keys, kCombineSeed);
    for (const int64_t records : {0, 1, 31, 32, 33, 63, 64, 65, 100000}) {
      compare<int32_t, std::vector<int32_t>>(keys, records, create, append);
      compare<int64_t, std::vector<int32_t>>(keys, records, create, append);
      compare<int32_t, int64_t>(keys, records, sum, add);
    }
  }
}

TEST_CASE("what is held is looked at with each value that lies beside the table", "[combine]") {
  auto sum = [](int32_t&& v) { return int64_t{v}; };
  auto add = [](int64_t& c, int32_t&& v) { c += v; };
  auto large = [](int32_t&&) { return std::vector<int32_t>(1 << 10); };
  auto same = [](std::vector<int32_t>&, int32_t&&) {};
  Combiner<int32_t, std::vector<int32_t>> beside;
  Combiner<int32_t, int64_t> within;
  Combiner<int32_t, std::vector<int32_t>>::Queue<int32_t> of_beside(beside);
  Combiner<int32_t, int64_t>::Queue<int32_t> of_within(within);
  int looks = 0;
  for (int32_t key = 1; key <= 200; ++key) {
    const std::string_view bytes(reinterpret_cast<const char*>(&key), sizeof key);
    CHECK(of_beside.push(bytes, key, large, same));
    looks += of_within.push(bytes, key, sum, add) ? 1 : 0;
    if (key == 40) CHECK(beside.bytes() >= 8 * 4096);
  }
  CHECK(looks == 3);
}
