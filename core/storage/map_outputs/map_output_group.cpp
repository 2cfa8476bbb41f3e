#include "core/storage/map_outputs/map_output_group.hpp"

#include <utility>

namespace tinderbox::core {
namespace {

constexpr size_t kLength = 4;
/// Room for one output: two records of a few bytes in a piece.
constexpr size_t kLikely = 64;
constexpr uint32_t kFailed = uint32_t{1} << 31;

void append_part(std::string_view part, uint32_t flags, Bytes& to) {
  const uint32_t word = static_cast<uint32_t>(part.size()) | flags;
  char length[kLength];
  for (size_t i = 0; i < kLength; ++i) length[i] = static_cast<char>(word >> (8 * i));
  to.append(length, kLength);
  to.append(part);
}

uint32_t word_at(std::string_view bytes) {
  uint32_t word = 0;
  for (size_t i = 0; i < kLength; ++i)
    word |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

}  // namespace

Result<Payload> read_group(MapOutputStore& outputs, const BlockId& block) {
  Bytes group;
  group.reserve(block.maps.size() * kLikely);
  int64_t left = kGroupBytes;
  const bool single = block.part_end == block.part + 1;
  const BlockId one{.kind = single ? BlockId::Kind::Shuffle : BlockId::Kind::ShuffleRange,
                    .owner = block.owner,
                    .part = block.part,
                    .part_end = block.part_end};
  outputs.read_each(one, block.maps, [&](const Result<std::string_view>& bytes) {
    const std::string_view part = bytes ? *bytes : std::string_view(bytes.error().message);
    left -= static_cast<int64_t>(part.size());
    if (left >= 0) append_part(part, bytes ? 0 : kFailed, group);
    return left >= 0;
  });
  if (left < 0) return Error{"a group of map outputs has more than its bound of bytes"};
  return Payload(std::move(group));
}

Result<std::string_view> GroupReader::next() {
  const std::string_view all = std::exchange(left_, {});
  if (all.size() < kLength) return Error{"the group of map outputs ends inside a length"};
  const uint32_t word = word_at(all), length = word & ~kFailed;
  if (length > all.size() - kLength)
    return Error{"the group of map outputs ends inside one of them"};
  const std::string_view part = all.substr(kLength, length);
  left_ = all.substr(kLength + length);
  if (word & kFailed) return Error{std::string(part)};
  return part;
}

}  // namespace tinderbox::core
