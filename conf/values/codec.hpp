// Compression codecs, as settings name them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tinderbox::conf {

enum class Codec : uint8_t { kLz4, kZstd };

/// `lz4` or `zstd` in any case, or the name of Spark's class; none for all else, lzf and snappy
/// too. Source: Spark CompressionCodec.createCodec.
std::optional<Codec> parse_codec(std::string_view name);

}  // namespace tinderbox::conf
