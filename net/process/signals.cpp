// Plain handlers, not blocked signals: those would be inherited by all that the application starts.
#include "net/process/signals.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace tinderbox::net {
namespace {

// What a signal handler may reach.
std::atomic<int> stop_fd{-1};
std::atomic<int> first_signal{0};
std::atomic<bool> first_came{false};  // as who waits for it looks at it
std::atomic<bool> only_noted{false};
std::atomic<int> watch_fd{-1};

void on_watched_signal(int) {
  int saved = errno;
  uint64_t one = 1;
  // The counter is full when this fails, so the loop will look anyway.
  [[maybe_unused]] ssize_t written = ::write(watch_fd.load(), &one, sizeof one);
  errno = saved;
}

void on_stop_signal(int number) {
  // A closed terminal says it several times: by its shell and by the kernel.
  if (number == SIGHUP && first_signal.load() != 0) return;
  int saved = errno;
  int fd = stop_fd.load();
  if ((fd < 0 && !only_noted.load()) || first_signal.exchange(number) != 0) _exit(128 + number);
  first_came = true;
  uint64_t one = 1;
  if (fd >= 0 && ::write(fd, &one, sizeof one) < 0) _exit(128 + number);
  errno = saved;
}

void forget_first_signal() {
  first_signal = 0;
  first_came = false;
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

/// As under nohup.
bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// All that an init forwards: what is sent to it, not what it or its terminal causes itself.
sigset_t forwarded_signals() {
  sigset_t set;
  sigfillset(&set);
  for (int n : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGTTIN, SIGTTOU})
    sigdelset(&set, n);
  return set;
}

/// Reaps all that ended; exits when the program did.
void reap_all(pid_t program) {
  int status;
  int result = -1;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == program) result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (result >= 0) _exit(result);
}

[[noreturn]] void be_init(pid_t program, const sigset_t& signals) {
  for (;;) {
    int number = ::sigwaitinfo(&signals, nullptr);
    if (number == SIGCHLD)
      reap_all(program);
    else if (number > 0)
      ::kill(program, number);
  }
}

/// The program gets the terminal and a process group of its own, so that ^C reaches it once, not
/// twice.
void be_program(pid_t init, const sigset_t& before) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != init) _exit(127);
  ::setpgid(0, 0);
  if (::isatty(STDIN_FILENO)) {
    ::signal(SIGTTOU, SIG_IGN);  // sent to a background group that sets the foreground
    ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
    ::signal(SIGTTOU, SIG_DFL);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void configure_signals() {
  set_handler(SIGPIPE, SIG_IGN);
  set_handler(SIGTERM, on_stop_signal);
  set_handler(SIGINT, on_stop_signal);
  if (!is_ignored(SIGHUP)) set_handler(SIGHUP, on_stop_signal);
}

StopSignals::StopSignals(PollLoop& loop, std::function<void(int)> stop)
    : loop_(loop), fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::runtime_error("eventfd: no descriptor left");
  loop_.watch(fd_, [fd = fd_, stop = std::move(stop)] {
    uint64_t count;
    if (::read(fd, &count, sizeof count) > 0) stop(first_signal.load());
  });
  forget_first_signal();
  stop_fd = fd_;
}

StopSignals::~StopSignals() {
  stop_fd = -1;
  loop_.unwatch(fd_);
  ::close(fd_);
}

NotedSignals::NotedSignals() {
  forget_first_signal();
  only_noted = true;
}

NotedSignals::~NotedSignals() { only_noted = false; }

const std::atomic<bool>& stop_asked() { return first_came; }

int stop_signal() { return first_signal.load(); }

Result<int> signal_number(const std::string& name) {
  struct Entry {
    const char* name;
    int number;
  };
  for (const Entry& e : {Entry{"PWR", SIGPWR}, Entry{"USR1", SIGUSR1}, Entry{"USR2", SIGUSR2},
                         Entry{"HUP", SIGHUP}, Entry{"WINCH", SIGWINCH}})
    if (name == e.name || name == std::string("SIG") + e.name) return e.number;
  return Error{"'" + name + "' is no signal to wait for; give PWR, USR1, USR2, HUP or WINCH"};
}

Result<std::unique_ptr<SignalWatch>> SignalWatch::make(PollLoop& loop, const std::string& name,
                                                       std::function<void()> on_signal) {
  const Result<int> number = signal_number(name);
  if (!number) return number.error();
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return Error{"eventfd: no descriptor left"};
  return std::unique_ptr<SignalWatch>(new SignalWatch(loop, *number, fd, std::move(on_signal)));
}

SignalWatch::SignalWatch(PollLoop& loop, int number, int fd, std::function<void()> on_signal)
    : loop_(loop), number_(number), fd_(fd) {
  loop_.watch(fd_, [fd, on_signal = std::move(on_signal)] {
    uint64_t count;
    if (::read(fd, &count, sizeof count) > 0) on_signal();
  });
  watch_fd = fd_;
  set_handler(number_, on_watched_signal);
}

SignalWatch::~SignalWatch() {
  set_handler(number_, SIG_IGN);
  watch_fd = -1;
  loop_.unwatch(fd_);
  ::close(fd_);
}

void split_off_init() {
  if (::getpid() == 1) run_under_init();
}

void run_under_init() {
  sigset_t signals = forwarded_signals(), before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  pid_t init = ::getpid();
  pid_t program = ::fork();
  if (program < 0) throw std::runtime_error("fork: no process left");
  if (program == 0) return be_program(init, before);
  be_init(program, signals);
}

}  // namespace tinderbox::net
