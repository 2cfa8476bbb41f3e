#include "net/process/crash_watch.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace tinderbox::net {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr size_t kStackBytes = 64 << 10;

// What a signal handler may reach.
std::atomic<int> crash_fd{-1};
std::atomic<int64_t> patience_ns{0};

void linger() {
  const int fd = crash_fd.load();
  if (fd < 0) return;
  const uint64_t one = 1;
  if (::write(fd, &one, sizeof one) < 0) return;
  const int64_t ns = patience_ns.load();
  timespec left{ns / 1'000'000'000, ns % 1'000'000'000};
  while (::nanosleep(&left, &left) != 0) {
  }
}

/// The signal comes again when the handler returns, and ends the process.
void on_crash_signal(int number) {
  linger();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void replace(int number, void (*from)(int), void (*to)(int)) {
  struct sigaction action {};
  if (::sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
      action.sa_handler != from)
    return;
  action = {};
  action.sa_handler = to;
  action.sa_flags = to == SIG_DFL ? 0 : SA_ONSTACK;
  ::sigaction(number, &action, nullptr);
}

}  // namespace

Result<std::unique_ptr<CrashWatch>> CrashWatch::make(PollLoop& loop, std::function<void()> on_crash,
                                                     Duration patience) {
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return Error{"eventfd: no descriptor left"};
  return std::unique_ptr<CrashWatch>(new CrashWatch(loop, fd, std::move(on_crash), patience));
}

CrashWatch::CrashWatch(PollLoop& loop, int fd, std::function<void()> on_crash, Duration patience)
    : loop_(loop), fd_(fd) {
  loop_.watch(fd_, [fd, on_crash = std::move(on_crash)] {
    uint64_t count;
    if (::read(fd, &count, sizeof count) > 0) on_crash();
  });
  patience_ns = std::chrono::nanoseconds(patience).count();
  crash_fd = fd_;
  [[maybe_unused]] static const int registered = std::atexit(linger);
  for (const int number : kCrashes) replace(number, SIG_DFL, on_crash_signal);
}

CrashWatch::~CrashWatch() {
  for (const int number : kCrashes) replace(number, on_crash_signal, SIG_DFL);
  crash_fd = -1;
  loop_.unwatch(fd_);
  ::close(fd_);
}

SignalStack::SignalStack() : memory_(new char[kStackBytes]) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  ::sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  ::sigaltstack(&off, nullptr);
}

}  // namespace tinderbox::net
