// A block that is too large for memory, while it comes from a peer: a file without a name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/storage/block_manager.hpp"
#include "core/storage/stores/checksum.hpp"

namespace tinderbox::core {

/// Its errors are own_disk. Nothing of it is left once its bytes are read or it is dropped.
/// Source: Spark DownloadFile of OneForOneBlockFetcher. Thread: one loop's.
class FetchedFile {
 public:
  /// In a local dir of `blocks`. The first error stays.
  Result<bool> append(BlockManager& blocks, std::string_view bytes);
  /// All of it, of a file that is gone with them. The last call.
  Result<Payload> read(BlockManager& blocks);

 private:
  Result<bool> open(BlockManager& blocks);
  Result<Payload> read_back(BlockManager& blocks);

  std::string path_;
  std::unique_ptr<net::WriteFile> writing_;
  RunningChecksum sum_;  // of what was appended
  std::optional<Error> error_;
};

}  // namespace tinderbox::core
