// clone(CLONE_VM | CLONE_VFORK) by hand: posix_spawn knows neither PR_SET_PDEATHSIG nor
// close_range.
//
// Between clone and exec the child runs on memory that it shares with this process, whose other
// threads go on. So it makes only system calls, on data that was prepared before; all signals are
// blocked from before the clone until the child has reset their handlers, so that no handler of
// ours runs in it.
#include "net/process/launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "net/process/sanitizers.hpp"

#if defined(TINDERBOX_THREAD_SANITIZER)
// The sanitizer's own clone() takes this for a fork and forgets, in this process too, what
// synchronizes with what.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;
#endif

namespace tinderbox::net {
namespace {

#if defined(TINDERBOX_THREAD_SANITIZER)
constexpr auto* start_on = &__clone;
#else
constexpr auto* start_on = &::clone;
#endif

constexpr size_t kStack = 64 << 10;
constexpr int kFirstClosed = 4;

/// Everything the child needs, in plain memory.
struct Child {
  const char* file;
  char* const* argv;
  char* const* environment;
  const char* directory;
  int fds[4];  // what becomes 0 … 3; negative: closed
  pid_t parent;
  long max_fds;
  const char* failed_step = nullptr;  // set by the child
  int error = 0;
};

/// Past a sanitizer, which would take the child's end for this process's and report in its memory.
[[noreturn]] void end_child() {
  for (;;) ::syscall(SYS_exit_group, 127);
}

int fail(Child* c, const char* step) {
  c->failed_step = step;
  c->error = errno;
  end_child();
}

/// Of the child's own table: past a sanitizer, which would take it for a descriptor of ours.
void close_own(int fd) { ::syscall(SYS_close, fd); }

void close_others(long max_fds) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, kFirstClosed, ~0U, 0U) == 0) return;
#endif
  for (int fd = kFirstClosed; fd < max_fds; ++fd) close_own(fd);
}

void reset_signals() {
  struct sigaction fresh {};
  fresh.sa_handler = SIG_DFL;
  for (int n = 1; n < NSIG; ++n) ::sigaction(n, &fresh, nullptr);  // some can't be set: fine
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int run_child(void* argument) {
  auto* c = static_cast<Child*>(argument);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail(c, "prctl");
  if (::getppid() != c->parent) end_child();  // the parent died before the line above
  if (::setpgid(0, 0) != 0) return fail(c, "setpgid");
  for (int to = 0; to < kFirstClosed; ++to) {
    if (c->fds[to] < 0)
      close_own(to);
    else if (::syscall(SYS_dup3, c->fds[to], to, 0) < 0)
      return fail(c, "dup3");
  }
  close_others(c->max_fds);
  if (::chdir(c->directory) != 0) return fail(c, "chdir");
  reset_signals();
  ::execve(c->file, c->argv, c->environment);
  return fail(c, "exec");
}

/// Memory for the child's stack while it shares ours.
class Stack {
 public:
  Stack()
      : base_(::mmap(nullptr, kStack, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~Stack() {
    if (base_ != MAP_FAILED) ::munmap(base_, kStack);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  char* top() const { return base_ == MAP_FAILED ? nullptr : static_cast<char*>(base_) + kStack; }

 private:
  void* base_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& t : texts) out.push_back(const_cast<char*>(t.c_str()));
  out.push_back(nullptr);
  return out;
}

/// A copy that none of the child's dup2 calls can overwrite.
OwnedFd out_of_the_way(int fd) { return OwnedFd(::fcntl(fd, F_DUPFD_CLOEXEC, 10)); }

long max_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<long>(std::min<rlim_t>(limit.rlim_cur, 1 << 16));
}

Error failure(const Launch& what, const char* step, int error) {
  std::string at = std::strcmp(step, "chdir") == 0 ? " in '" + what.directory + "'" : "";
  return Error{"cannot start '" + what.file + "'" + at + ": " + step + ": " + std::strerror(error)};
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<int64_t> launch(const Launch& what) {
  const OwnedFd* wanted[] = {&what.in, &what.out, &what.err, &what.extra};
  OwnedFd held[4];
  std::vector<char*> argv = pointers(what.argv), environment = pointers(what.environment);
  Child child{what.file.c_str(), argv.data(), environment.data(), what.directory.c_str(),
              {-1, -1, -1, -1},  ::getpid(),  max_descriptors()};
  for (int i = 0; i < 4; ++i) {
    if (!*wanted[i]) continue;
    held[i] = out_of_the_way(wanted[i]->get());
    if (!held[i]) return failure(what, "fcntl", errno);
    child.fds[i] = held[i].get();
  }
  Stack stack;
  if (stack.top() == nullptr) return failure(what, "mmap", errno);

  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = start_on(run_child, stack.top(), CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  if (pid < 0) return failure(what, "clone", error);
  if (child.failed_step == nullptr) return int64_t{pid};
  int status;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return failure(what, child.failed_step, child.error);
}

}  // namespace tinderbox::net
