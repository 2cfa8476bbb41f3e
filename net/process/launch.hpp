// One child process, from prepared arguments to a running program.
#pragma once

#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// A descriptor that is closed with its owner. Negative: none.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~OwnedFd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

struct Launch {
  std::string file;
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value, complete
  std::string directory;
  OwnedFd in, out, err;  // become 0, 1, 2
  OwnedFd extra;         // becomes 3, when set
};

/// Starts it and returns its pid once the program is running. The child shares this process's
/// memory until then (as posix_spawn does), so neither its size nor other threads matter; all
/// descriptors over 3 are closed, signal handling is the default, the process group is new, and
/// SIGKILL comes when the calling thread ends. Thread: any. Errors: what the system said.
Result<int64_t> launch(const Launch& what);

}  // namespace tinderbox::net
