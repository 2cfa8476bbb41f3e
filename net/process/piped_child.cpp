#include "net/process/piped_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "net/files/files.hpp"
#include "net/process/environment.hpp"
#include "net/process/launch.hpp"

namespace tinderbox::net {
namespace {

namespace fs = std::filesystem;

struct Pipe {
  OwnedFd reading, writing;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{std::string("no pipe: ") + std::strerror(errno)};
  return Pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

std::string found_in_path(const std::string& file) {
  const char* path = std::getenv("PATH");
  if (file.find('/') != std::string::npos || !path) return file;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string whole = folder + "/" + file; ::access(whole.c_str(), X_OK) == 0)
      return whole;
  return file;
}

/// A new directory with links to all that this one has, but for other such directories.
Result<std::string> linked_directory() {
  std::error_code error;
  const fs::path here = fs::current_path(error), made = here / "tasks" / unique_name();
  if (!error) fs::create_directories(made, error);
  if (error) return Error{"cannot make '" + made.string() + "': " + error.message()};
  for (const auto& entry : fs::directory_iterator(here, error))
    if (entry.path().filename() != "tasks")
      fs::create_symlink(entry.path(), made / entry.path().filename(), error);
  return made.string();
}

class RunningChild final : public PipedChild {
 public:
  RunningChild(pid_t pid, OwnedFd in, OwnedFd out, std::string directory)
      : pid_(pid), in_(std::move(in)), out_(std::move(out)), directory_(std::move(directory)) {}
  ~RunningChild() override {
    if (!status_) {
      kill();
      wait();
    }
    if (!directory_.empty()) (void)make_real_files()->remove_tree(directory_);
  }

  bool write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(in_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void close_input() override { in_ = OwnedFd(); }

  std::optional<size_t> read(char* into, size_t size, Duration patience) override {
    pollfd watched{out_.get(), POLLIN, 0};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
    if (::poll(&watched, 1, static_cast<int>(ms)) <= 0) return {};
    const ssize_t n = ::read(out_.get(), into, size);
    if (n < 0) return errno == EINTR ? std::nullopt : std::optional<size_t>(0);
    return static_cast<size_t>(n);
  }

  int wait() override {
    int status = 0;
    while (!status_) {
      if (::waitpid(pid_, &status, 0) == pid_)
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      else if (errno != EINTR)
        status_ = 127;
    }
    return *status_;
  }
  void kill() override {
    if (!status_) ::kill(-pid_, SIGKILL);
  }

 private:
  const pid_t pid_;
  OwnedFd in_, out_;
  const std::string directory_;
  std::optional<int> status_;
};

}  // namespace

Result<std::unique_ptr<PipedChild>> PipedChild::start(const Options& options) {
  Result<Pipe> in = make_pipe(), out = make_pipe();
  if (!in) return in.error();
  if (!out) return out.error();
  Launch child;
  child.file = found_in_path(options.file);
  child.argv = options.argv;
  std::map<std::string, std::string> all = options.environment;
  all.merge(environment());
  for (const auto& [name, value] : all) child.environment.push_back(name + "=" + value);
  std::string directory;
  if (options.own_directory) {
    Result<std::string> made = linked_directory();
    if (!made) return made.error();
    directory = *made;
    if (child.file.find('/') != std::string::npos) child.file = fs::absolute(child.file);
  }
  child.directory = directory.empty() ? "." : directory;
  child.in = std::move(in->reading);
  child.out = std::move(out->writing);
  child.err = OwnedFd(::fcntl(2, F_DUPFD_CLOEXEC, 3));
  const Result<int64_t> pid = launch(child);
  if (!pid) {
    if (!directory.empty()) (void)make_real_files()->remove_tree(directory);
    return pid.error();
  }
  return std::unique_ptr<PipedChild>(std::make_unique<RunningChild>(
      static_cast<pid_t>(*pid), std::move(in->writing), std::move(out->reading), directory));
}

Result<std::string> run_and_read(const std::string& file, const std::vector<std::string>& argv,
                                 const std::map<std::string, std::string>& variables,
                                 const std::atomic<bool>* cancelled) {
  const auto child = PipedChild::start({file, argv, variables});
  if (!child) return child.error();
  (*child)->close_input();
  const Duration patience =
      cancelled ? Duration(std::chrono::milliseconds(50)) : Duration(std::chrono::hours(1));
  std::string text;
  for (char part[4096];;) {
    const auto n = (*child)->read(part, sizeof part, patience);
    if (n == 0) break;
    if (cancelled && *cancelled) return Error{file + " was stopped"};
    text.append(part, n.value_or(0));
  }
  if ((*child)->wait() != 0) return Error{file + " failed"};
  return text;
}

void block_broken_pipe_signal() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace tinderbox::net
