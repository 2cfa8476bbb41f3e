// Bytes that come front to back: of a file as it is, or of what a compressed one holds.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "net/files/files.hpp"

namespace tinderbox::net {

/// Thread: one at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Bytes read: `n`, or fewer only at the end.
  virtual Result<size_t> read(char* to, size_t n) = 0;
};

/// Of `file` from `offset` on. Nobody is likely to read beyond `end`.
std::unique_ptr<ByteSource> bytes_of(std::unique_ptr<ReadFile> file, int64_t offset = 0,
                                     int64_t end = std::numeric_limits<int64_t>::max());

/// Deflate: zlib's format, which Hadoop calls its default codec.
enum class Compression : uint8_t { None, Gzip, Zstd, Deflate };
/// By the suffix of a name, of a web server's URL before its query: .gz, .zst, .deflate; None for
/// all others, also for those that are compressed in another way (see unreadable_suffix()).
Compression compression_of(std::string_view name);
/// The suffix of what is compressed so: .gz, .zst, .deflate.
std::string_view suffix_of(Compression how);
/// The suffix by which `name` is compressed in a way that is not read here; empty: it is not.
std::string_view unreadable_suffix(std::string_view name);

/// What `from` holds, member after member. `name` is for errors: damaged, or cut short.
std::unique_ptr<ByteSource> decompressed(Compression how, std::unique_ptr<ByteSource> from,
                                         std::string name);
/// All of `bytes` as one member; None: as they are.
Bytes compressed(Compression how, std::string_view bytes, size_t most = 1 << 30);
/// All that `bytes` hold. Errors: as decompressed(); also when that is more than `most` bytes.
Result<Bytes> uncompressed(Compression how, std::string_view bytes, size_t most,
                           const std::string& name);

}  // namespace tinderbox::net
