// Forked processes of a test, and waiting for them.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>

namespace tinderbox::test {

/// A pidfd is readable when its process has ended.
inline bool wait_readable(int fd, int ms) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, ms) == 1;
}

/// Runs `body` in a forked process, which ends with what it returns.
inline pid_t forked(const std::function<int()>& body) {
  pid_t pid = fork();
  if (pid == 0) _exit(body());
  return pid;
}
/// As a shell tells it: the exit code, or 128 + signal.
inline int status_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Single letters from a forked process to its test.
class Letters {
 public:
  Letters() { REQUIRE(pipe(ends_) == 0); }
  ~Letters() {
    close(ends_[0]);
    close(ends_[1]);
  }
  bool write(char c) const { return ::write(ends_[1], &c, 1) == 1; }
  char read() const {
    char c = 0;
    REQUIRE(::read(ends_[0], &c, 1) == 1);
    return c;
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace tinderbox::test
