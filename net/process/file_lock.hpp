// One process at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "net/types.hpp"

namespace tinderbox::net {

/// Held until it is destroyed or the process ends, however it ends. Source: flock(2).
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileLock();
  /// Makes the file if need be. None: another process holds it. Errors: it can't be made or locked.
  static Result<std::optional<FileLock>> take(const std::string& path);

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace tinderbox::net
