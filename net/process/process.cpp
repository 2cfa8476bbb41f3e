// Processes over pidfd: a child is a descriptor on the loop, so no SIGCHLD handling can clash with
// the application's own children.
#include "net/process/process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "net/process/control_group.hpp"
#include "net/process/elf.hpp"
#include "net/process/exec.hpp"
#include "net/process/launch.hpp"

namespace tinderbox::net {
namespace {

constexpr Duration kPollWithoutPidfd = std::chrono::milliseconds(50);

bool is_url(const std::string& file) {
  return file.find("://") != std::string::npos || file.starts_with("file:") ||
         file.starts_with("local:");
}

Error system_error(const std::string& what) { return Error{what + ": " + std::strerror(errno)}; }

/// Makes the parents and then `directory` itself. Value: false when it was there already.
Result<bool> make_new_directory(const std::string& directory) {
  for (size_t at = directory.find('/', 1); at != std::string::npos;
       at = directory.find('/', at + 1)) {
    if (::mkdir(directory.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST)
      return system_error("cannot create directory '" + directory.substr(0, at) + "'");
  }
  if (::mkdir(directory.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  return system_error("cannot create directory '" + directory + "'");
}

std::string quoted_command(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& a : argv) (((out += out.empty() ? "" : " ") += '"') += a) += '"';
  return out;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// A file without a name that holds `text`: in memory, else in `directory`.
Result<OwnedFd> unnamed_file(const std::string& text, const std::string& directory) {
  OwnedFd fd(::memfd_create("properties", MFD_CLOEXEC));
  if (!fd) {
    std::string path = directory + "/.properties";
    fd = OwnedFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return system_error("cannot create '" + path + "'");
    ::unlink(path.c_str());
  }
  if (!write_all(fd.get(), text)) return system_error("cannot write the child's properties");
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

Result<OwnedFd> open_output(const std::string& path) {
  OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) return system_error("cannot create '" + path + "'");
  return fd;
}

Result<bool> write_file(const std::string& path, const std::string& text) {
  OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || !write_all(fd.get(), text)) return system_error("cannot write '" + path + "'");
  return true;
}

/// Nothing to read; a root without /dev gets an empty memory file.
OwnedFd empty_input() {
  OwnedFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return fd ? std::move(fd) : OwnedFd(::memfd_create("stdin", MFD_CLOEXEC));
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    std::string_view entry = *e;
    if (!changes.contains(std::string(entry.substr(0, entry.find('='))))) out.emplace_back(entry);
  }
  for (auto& [name, value] : changes) out.push_back(name + "=" + value);
  return out;
}

std::string absolute(const std::string& path) {
  char real[PATH_MAX];
  return ::realpath(path.c_str(), real) != nullptr ? real : path;
}

ChildEnd end_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {128 + WTERMSIG(wait_status), true};
  return {WEXITSTATUS(wait_status), false};
}

/// Reaps `pid` if it has ended; whatever it left in its process group is killed while the group's
/// number is still its own.
std::optional<ChildEnd> reap(pid_t pid, bool wait) {
  siginfo_t info{};
  int r;
  do r = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG));
  while (r != 0 && errno == EINTR);
  if (r != 0) return ChildEnd{255};  // someone else reaped it: its status is lost
  if (info.si_pid == 0) return std::nullopt;
  ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return end_of(status);
}

}  // namespace

class Processes::Impl : public std::enable_shared_from_this<Processes::Impl> {
 public:
  Impl(PollLoop& loop, Handler handler, std::function<std::string(std::string_view)> redact,
       PeerFile peer)
      : loop_(loop),
        handler_(std::move(handler)),
        redact_(std::move(redact)),
        peer_(std::move(peer)) {}

  void spawn(SpawnSpec spec) {
    uint64_t ticket = spec.ticket;
    if (Result<bool> ready = prepare_directory(spec.directory); !ready)
      return started(ticket, ready.error());
    if (!is_url(spec.file)) {
      spec.file = absolute(spec.file);
      return start(spec);
    }
    auto fetching = std::make_unique<Fetching>();
    Fetching* f = fetching.get();
    fetching_[ticket] = std::move(fetching);
    f->thread = std::thread([this, f, spec = std::move(spec)]() mutable {
      Result<std::string> file = fetched(spec, f->cancelled);
      loop_.post(
          [weak = weak_from_this(), spec = std::move(spec), file = std::move(file)]() mutable {
            if (auto self = weak.lock()) self->fetch_done(std::move(spec), std::move(file));
          });
    });
  }

  void signal(uint64_t ticket, int number) {
    if (auto f = fetching_.find(ticket); f != fetching_.end()) f->second->cancelled = true;
    auto r = running_.find(ticket);
    if (r == running_.end()) return;
    r->second.killed |= number == SIGKILL;
    ::kill(number == SIGKILL ? -r->second.pid : r->second.pid, number);
  }

  size_t count() const { return running_.size() + fetching_.size(); }

  void end() {
    for (auto& [ticket, f] : fetching_) f->cancelled = true;
    for (auto& [ticket, f] : fetching_) f->thread.join();
    for (auto& [ticket, r] : running_) {
      if (r.pidfd) loop_.unwatch(r.pidfd.get());
      ::kill(-r.pid, SIGKILL);
      reap(r.pid, true);
    }
    fetching_.clear();
    running_.clear();
  }

 private:
  struct Running {
    pid_t pid = 0;
    OwnedFd pidfd;
    bool killed = false;  // SIGKILL was sent from here
  };
  struct Fetching {
    std::thread thread;
    std::atomic<bool> cancelled{false};
  };

  Result<bool> prepare_directory(const std::string& directory) {
    Result<bool> fresh = make_new_directory(directory);
    if (!fresh) return fresh;
    if (!*fresh && !own_directories_.contains(directory))
      return Error{"directory '" + directory + "' exists already: a new one was to be made"};
    own_directories_.insert(directory);
    return true;
  }

  /// On a helper thread.
  Result<std::string> fetched(const SpawnSpec& spec, const std::atomic<bool>& cancelled) const {
    FetchOptions options;
    options.peer = peer_;
    options.cancelled = &cancelled;
    Result<std::string> path = fetch(spec.file, spec.directory, options);
    if (path && cancelled) return Error{"it was killed before it started"};
    return path;
  }

  void fetch_done(SpawnSpec spec, Result<std::string> file) {
    auto f = fetching_.find(spec.ticket);
    if (f == fetching_.end()) return;
    bool cancelled = f->second->cancelled;
    f->second->thread.join();
    fetching_.erase(f);
    if (cancelled) return started(spec.ticket, Error{"it was killed before it started"});
    if (!file) return started(spec.ticket, file.error());
    spec.file = absolute(*file);
    start(spec);
  }

  void start(const SpawnSpec& spec) {
    Result<Launch> ready = prepare(spec);
    if (!ready) return started(spec.ticket, ready.error());
    const std::optional<int64_t> kills = oom_kills();
    Result<int64_t> pid = launch(*ready);
    if (pid) {
      memory_kills_.started(spec.ticket, kills);
      watch(spec.ticket, static_cast<pid_t>(*pid));
    }
    started(spec.ticket, std::move(pid));
  }

  Result<Launch> prepare(const SpawnSpec& spec) const {
    if (Result<ElfInfo> elf = read_application(spec.file, spec.build_id); !elf) return elf.error();
    Launch out;
    out.file = spec.file;
    out.directory = spec.directory;
    out.argv = {spec.file};
    out.argv.insert(out.argv.end(), spec.arguments.begin(), spec.arguments.end());
    if (!spec.properties.empty()) {
      Result<OwnedFd> properties = unnamed_file(spec.properties, spec.directory);
      if (!properties) return properties.error();
      out.extra = std::move(*properties);
      out.argv.insert(out.argv.begin() + (spec.arguments.empty() ? 1 : 2),
                      {"--properties-file", std::string(kDescriptorPaths) + "3"});
    }
    for (const auto& [name, text] : spec.files)
      if (Result<bool> written = write_file(spec.directory + "/" + name, text); !written)
        return written.error();
    out.environment = merged_environment(spec.environment);
    out.in = empty_input();
    Result<OwnedFd> output = open_output(spec.directory + "/stdout");
    if (!output) return output.error();
    Result<OwnedFd> errors = open_output(spec.directory + "/stderr");
    if (!errors) return errors.error();
    std::string command = quoted_command(out.argv);
    write_all(errors->get(), spec.title + ": " + (redact_ ? redact_(command) : command) + "\n" +
                                 std::string(40, '=') + "\n\n");
    out.out = std::move(*output);
    out.err = std::move(*errors);
    return out;
  }

  void watch(uint64_t ticket, pid_t pid) {
    OwnedFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    int fd = pidfd.get();
    running_[ticket] = Running{pid, std::move(pidfd)};
    if (fd >= 0)
      loop_.watch(fd, [this, ticket] { check(ticket); });
    else
      poll_later(ticket);
  }

  /// For kernels and sandboxes without pidfd, and when descriptors have run out.
  void poll_later(uint64_t ticket) {
    loop_.after(kPollWithoutPidfd, [weak = weak_from_this(), ticket] {
      auto self = weak.lock();
      if (!self || !self->running_.contains(ticket)) return;
      if (!self->check(ticket)) self->poll_later(ticket);
    });
  }

  bool check(uint64_t ticket) {
    auto r = running_.find(ticket);
    if (r == running_.end()) return true;
    std::optional<ChildEnd> end = reap(r->second.pid, false);
    if (!end) return false;
    const bool by_sigkill = end->signalled && end->status == 128 + SIGKILL && !r->second.killed;
    end->out_of_memory = memory_kills_.ended(ticket, by_sigkill, oom_kills());
    if (r->second.pidfd) loop_.unwatch(r->second.pidfd.get());
    running_.erase(r);
    // Posted, as started() is: on_started stays first.
    loop_.post([weak = weak_from_this(), ticket, end = *end] {
      if (auto self = weak.lock()) self->handler_.on_exited(ticket, end);
    });
    return true;
  }

  void started(uint64_t ticket, Result<int64_t> pid) {
    loop_.post([weak = weak_from_this(), ticket, pid = std::move(pid)]() mutable {
      if (auto self = weak.lock()) self->handler_.on_started(ticket, std::move(pid));
    });
  }

  PollLoop& loop_;
  Handler handler_;
  std::function<std::string(std::string_view)> redact_;
  PeerFile peer_;
  MemoryKills memory_kills_;
  std::set<std::string> own_directories_;
  std::map<uint64_t, Running> running_;
  std::map<uint64_t, std::unique_ptr<Fetching>> fetching_;
};

Processes::Processes(PollLoop& loop, Handler handler,
                     std::function<std::string(std::string_view)> redact, PeerFile peer)
    : impl_(std::make_shared<Impl>(loop, std::move(handler), std::move(redact), std::move(peer))) {}
Processes::~Processes() { impl_->end(); }
void Processes::spawn(SpawnSpec spec) { impl_->spawn(std::move(spec)); }
void Processes::signal(uint64_t ticket, int number) { impl_->signal(ticket, number); }
size_t Processes::count() const { return impl_->count(); }

}  // namespace tinderbox::net
