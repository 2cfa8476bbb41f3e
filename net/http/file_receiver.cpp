#include "net/http/file_receiver.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "net/files/files.hpp"
#include "net/files/sha256.hpp"
#include "net/http/httplib.hpp"
#include "net/mutex.hpp"
#include "net/process/launch.hpp"

namespace tinderbox::net {
namespace {

using Clock = std::chrono::steady_clock;

class Receiver {
 public:
  explicit Receiver(const ReceiveOptions& options) : options_(options) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(2); };
    server_.Put("/(.*)", [this](const httplib::Request& request, httplib::Response& response,
                                const httplib::ContentReader& read) {
      take(request.matches[1], response, read);
    });
    server_.set_tcp_nodelay(true);
    server_.set_keep_alive_max_count(1);
  }

  Result<bool> run() {
    if (!server_.bind_to_port(options_.host.c_str(), options_.port) &&
        !server_.bind_to_port("0.0.0.0", options_.port))
      return Error{"cannot listen at port " + std::to_string(options_.port) + ": " +
                   std::strerror(errno)};
    std::thread thread([this] { server_.listen_after_bind(); });
    Result<bool> done = wait();
    server_.stop();
    thread.join();
    return done;
  }

 private:
  Result<bool> wait() {
    constexpr auto kLook = std::chrono::milliseconds(100);
    Lock lock(mutex_);
    while (here_.size() < options_.files.size()) {
      if (!failure_.empty()) return Error{failure_};
      if (options_.cancelled && *options_.cancelled) return Error{"receiving was stopped"};
      if (Clock::now() - last_ > options_.patience)
        return Error{"nobody sent " + missing() + ": whoever submitted the application is gone"};
      changed_.wait_for(lock, kLook);
    }
    return true;
  }

  std::string missing() const REQUIRES(mutex_) {
    std::string names;
    for (const ExpectedFile& f : options_.files)
      if (!here_.contains(f.name)) names += (names.empty() ? "" : ", ") + f.name;
    return names;
  }

  const ExpectedFile* expected(const std::string& name) const {
    for (const ExpectedFile& f : options_.files)
      if (f.name == name) return &f;
    return nullptr;
  }

  void take(const std::string& name, httplib::Response& response,
            const httplib::ContentReader& read) {
    const ExpectedFile* wanted = expected(name);
    if (!wanted) {
      response.status = 404;
      return response.set_content("'" + name + "' is not expected\n", "text/plain");
    }
    std::string path = options_.directory + "/.receive-XXXXXX";
    OwnedFd file(::mkostemp(path.data(), O_CLOEXEC));
    Sha256 sum;
    bool written = static_cast<bool>(file);
    const bool whole = read([&](const char* data, size_t n) {
      sum.add({data, n});
      note_progress();
      return written = written && write_all(file.get(), {data, n});
    });
    const std::string refusal = !written ? "cannot write it: " + std::string(std::strerror(errno))
                                : !whole ? "it was cut short"
                                : sum.hex() != wanted->sha256
                                    ? "its checksum is not " + wanted->sha256
                                    : keep(file, path, name);
    if (!refusal.empty()) {
      ::unlink(path.c_str());
      if (!written) fail("'" + name + "': " + refusal);
      response.status = written ? 400 : 507;
      return response.set_content("'" + name + "': " + refusal + "\n", "text/plain");
    }
    response.set_content("received\n", "text/plain");
    arrived(name);
  }

  static bool write_all(int fd, std::string_view part) {
    while (!part.empty()) {
      const ssize_t n = ::write(fd, part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      part.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  /// Empty: it is there under its name.
  std::string keep(OwnedFd& file, const std::string& path, const std::string& name) const {
    const bool closed = ::fchmod(file.get(), 0755) == 0;
    file = OwnedFd();  // a file that is open for writing cannot be run
    if (!closed || ::rename(path.c_str(), (options_.directory + "/" + name).c_str()) != 0)
      return std::string("cannot keep it: ") + std::strerror(errno);
    return {};
  }

  void note_progress() {
    Lock lock(mutex_);
    last_ = Clock::now();
  }
  void arrived(const std::string& name) {
    Lock lock(mutex_);
    here_.insert(name);
    last_ = Clock::now();
    changed_.notify_all();
  }
  void fail(const std::string& why) {
    Lock lock(mutex_);
    failure_ = why;
    changed_.notify_all();
  }

  const ReceiveOptions& options_;
  httplib::Server server_;
  Mutex mutex_;
  Condition changed_;
  std::set<std::string> here_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);
  Clock::time_point last_ GUARDED_BY(mutex_) = Clock::now();
};

}  // namespace

Result<bool> receive_files(const ReceiveOptions& options) {
  if (Result<bool> made = make_real_files()->make_directories(options.directory); !made)
    return made.error();
  return Receiver(options).run();
}

}  // namespace tinderbox::net
