// Takes files that somebody sends: PUT /NAME.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

struct ExpectedFile {
  std::string name;  // without directories
  std::string sha256;
};

struct ReceiveOptions {
  std::string host = "::";  // where it listens; 0.0.0.0 where there is no IPv6
  int port = 0;
  std::vector<ExpectedFile> files;
  std::string directory;                        // made when missing
  Duration patience = std::chrono::minutes(2);  // without any byte
  const std::atomic<bool>* cancelled = nullptr;
};

/// Returns when all files are in the directory, executable, each whole and with its checksum. One
/// that comes again with other bytes is refused, and so is any other name. Blocks.
/// Errors, one line: the port is in use; nothing came for too long; what could not be written.
Result<bool> receive_files(const ReceiveOptions& options);

}  // namespace tinderbox::net
