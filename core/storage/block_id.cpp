// Names of blocks: parser, printer, place on the disk.
#include "core/storage/block_id.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace tinderbox::core {
namespace {

using Kind = BlockId::Kind;

/// Takes a name apart from its front. Each step fails once an earlier one did.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}
  bool word(std::string_view w) {
    if (!rest_.starts_with(w)) return false;
    rest_.remove_prefix(w.size());
    return true;
  }
  /// Digits only, without a sign or leading zeros, so that one block has one name.
  template <class V>
  bool number(V& to) {
    const char* end = rest_.data() + rest_.size();
    const bool digit = !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9';
    if (!digit || (rest_[0] == '0' && rest_.size() > 1 && rest_[1] >= '0' && rest_[1] <= '9'))
      return false;
    const auto [at, error] = std::from_chars(rest_.data(), end, to);
    if (error != std::errc()) return false;
    rest_ = std::string_view(at, static_cast<size_t>(end - at));
    return true;
  }
  bool end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Further maps behind the first one, each by what it is more or less than the one before.
bool parse_group(Reader& in, BlockId& id) {
  while (true) {
    const bool more = in.word("+");
    if (!more && !in.word("-")) return true;
    if (id.maps.empty()) id.maps.push_back(std::exchange(id.number, -1));
    int64_t by = 0, map = 0;
    if (id.maps.size() == kGroupBlocks || !in.number(by)) return false;
    if (!more && by == 0) return false;  // one block has one name
    if (__builtin_add_overflow(id.maps.back(), more ? by : -by, &map) || map < 0) return false;
    id.maps.push_back(map);
  }
}

std::optional<BlockId> parse_shuffle(Reader in) {
  BlockId id{.kind = Kind::Shuffle};
  if (!in.number(id.owner) || !in.word("_") || !in.number(id.number)) return std::nullopt;
  if (!parse_group(in, id) || !in.word("_") || !in.number(id.part)) return std::nullopt;
  if (in.end() && id.maps.empty()) return id;
  if (id.part == 0 && id.maps.empty() && (in.rest() == ".data" || in.rest() == ".index")) {
    id.kind = in.rest() == ".data" ? Kind::ShuffleData : Kind::ShuffleIndex;
    return id;
  }
  id.kind = id.maps.empty() ? Kind::ShuffleRange : Kind::ShuffleGroup;
  if (!in.word("_") || !in.number(id.part_end) || !in.end() || id.part_end <= id.part)
    return std::nullopt;
  return id;
}

std::optional<BlockId> parse_broadcast(Reader in) {
  BlockId id{.kind = Kind::Broadcast};
  if (!in.number(id.number)) return std::nullopt;
  if (in.end()) return id;
  id.kind = Kind::BroadcastPiece;
  if (!in.word("_piece") || !in.number(id.part) || !in.end()) return std::nullopt;
  return id;
}

std::optional<BlockId> parse_file(std::string_view name) {
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find('/') == std::string_view::npos &&
                     name.find('\0') == std::string_view::npos;
  if (!plain) return std::nullopt;
  return BlockId{.kind = Kind::File, .file = std::string(name)};
}

/// `word`, then the numbers with a line between each two. A reducer names thousands of blocks.
/// Shape: few numbers, a short word.
std::string joined(std::string_view word, std::initializer_list<int64_t> numbers) {
  char text[128];
  char* at = std::copy(word.begin(), word.end(), text);
  for (const int64_t number : numbers) {
    at = std::to_chars(at, std::end(text), number).ptr;
    *at++ = '_';
  }
  return {text, at - 1};
}

}  // namespace

std::optional<BlockId> parse_block_id(std::string_view name) {
  Reader in(name);
  if (in.word("shuffle_")) return parse_shuffle(in);
  if (in.word("broadcast_")) return parse_broadcast(in);
  if (in.word("file/")) return parse_file(in.rest());
  if (in.word("rdd_")) {
    BlockId id{.kind = Kind::Rdd};
    if (in.number(id.owner) && in.word("_") && in.number(id.part) && in.end()) return id;
  } else if (in.word("taskresult_")) {
    BlockId id{.kind = Kind::TaskResult};
    if (in.number(id.number) && in.end()) return id;
  }
  return std::nullopt;
}

std::string block_name(const BlockId& id) {
  const ShuffleId shuffle{id.owner};
  switch (id.kind) {
    case Kind::Rdd:
      return rdd_block(RddId{id.owner}, id.part);
    case Kind::Shuffle:
      return shuffle_block(shuffle, id.number, id.part);
    case Kind::ShuffleRange:
      return joined("shuffle_", {shuffle.value, id.number, id.part, id.part_end});
    case Kind::ShuffleGroup:
      return shuffle_group_block(shuffle, id.maps, id.part, id.part_end);
    case Kind::ShuffleData:
      return shuffle_data_file(shuffle, id.number);
    case Kind::ShuffleIndex:
      return shuffle_index_file(shuffle, id.number);
    case Kind::Broadcast:
      return broadcast_block(BroadcastId{id.number});
    case Kind::BroadcastPiece:
      return broadcast_piece_block(BroadcastId{id.number}, id.part);
    case Kind::TaskResult:
      return task_result_block(TaskId{id.number});
    case Kind::File:
      return "file/" + id.file;
  }
  return {};
}

std::string shown_block(const std::string& name) {
  constexpr size_t kShown = 64;
  return name.size() <= kShown ? name : name.substr(0, kShown) + "...";
}

std::string rdd_block(RddId rdd, int32_t partition) {
  return joined("rdd_", {rdd.value, partition});
}
std::string shuffle_block(ShuffleId shuffle, int64_t map_id, int32_t reduce) {
  return joined("shuffle_", {shuffle.value, map_id, reduce});
}
std::string shuffle_range_block(ShuffleId shuffle, int64_t map_id, int32_t first, int32_t end) {
  if (end == first + 1) return shuffle_block(shuffle, map_id, first);
  return joined("shuffle_", {shuffle.value, map_id, first, end});
}
std::string shuffle_group_block(ShuffleId shuffle, std::span<const int64_t> maps, int32_t first,
                                int32_t end) {
  constexpr size_t kLikely = 3, kEnd = 24;  // one that follows closely; the partitions
  std::string name = joined("shuffle_", {shuffle.value, maps.front()});
  name.reserve(name.size() + kLikely * maps.size() + kEnd);
  char digits[24];
  for (size_t i = 1; i < maps.size(); ++i) {
    const int64_t by = maps[i] - maps[i - 1];
    if (by >= 0) name += '+';
    name.append(digits, std::to_chars(digits, std::end(digits), by).ptr);
  }
  return name + joined("_", {first, end});
}
std::string shuffle_data_file(ShuffleId shuffle, int64_t map_id) {
  return shuffle_block(shuffle, map_id, 0) + ".data";
}
std::string shuffle_index_file(ShuffleId shuffle, int64_t map_id) {
  return shuffle_block(shuffle, map_id, 0) + ".index";
}
std::string broadcast_block(BroadcastId broadcast) {
  return "broadcast_" + std::to_string(broadcast.value);
}
std::string broadcast_piece_block(BroadcastId broadcast, int32_t piece) {
  return broadcast_block(broadcast) + "_piece" + std::to_string(piece);
}
std::string task_result_block(TaskId task) { return "taskresult_" + std::to_string(task.value); }

DiskPlace disk_place(std::string_view name, size_t directories, size_t sub_directories) {
  uint32_t hash = 0;  // java.lang.String.hashCode; names are ASCII
  for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  constexpr uint32_t kMin = uint32_t{1} << 31;  // its absolute value does not fit: 0 instead
  if (hash == kMin) hash = 0;
  if (hash > kMin) hash = ~hash + 1;
  const size_t sub = hash / directories % sub_directories;
  constexpr char kHex[] = "0123456789abcdef";
  return {hash % directories, {kHex[sub >> 4 & 15], kHex[sub & 15]}};
}

}  // namespace tinderbox::core
