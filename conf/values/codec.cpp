// Compression codecs, as settings name them.
#include "conf/values/codec.hpp"

#include <strings.h>

#include <string>

namespace tinderbox::conf {
namespace {

struct Known {
  Codec codec;
  const char* short_name;  // in any case
  std::string_view class_name;
};
constexpr Known kKnown[] = {
    {Codec::kLz4, "lz4", "org.apache.spark.io.LZ4CompressionCodec"},
    {Codec::kZstd, "zstd", "org.apache.spark.io.ZStdCompressionCodec"},
};

}  // namespace

std::optional<Codec> parse_codec(std::string_view name) {
  for (const Known& known : kKnown)
    if (name == known.class_name || strcasecmp(std::string(name).c_str(), known.short_name) == 0)
      return known.codec;
  return std::nullopt;
}

}  // namespace tinderbox::conf
