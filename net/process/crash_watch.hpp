// The last moment of a process that crashes.
#pragma once

#include <functional>
#include <memory>

#include "net/loop.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

/// While it lives, a thread that crashes (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) or calls exit()
/// first wakes the loop and waits for `patience`: what other threads have to say still goes out.
/// Then the process ends as it would have. A signal that has a handler (a sanitizer's, say) keeps
/// it. One at a time. Thread: the loop's, or before it runs.
class CrashWatch {
 public:
  /// Errors: no descriptor is left.
  static Result<std::unique_ptr<CrashWatch>> make(PollLoop& loop, std::function<void()> on_crash,
                                                  Duration patience);
  ~CrashWatch();
  CrashWatch(const CrashWatch&) = delete;
  CrashWatch& operator=(const CrashWatch&) = delete;

 private:
  CrashWatch(PollLoop& loop, int fd, std::function<void()> on_crash, Duration patience);
  PollLoop& loop_;
  int fd_;
};

/// A stack on which this thread's handlers run: its own may be what has overflowed.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace tinderbox::net
