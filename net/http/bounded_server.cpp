// cpp-httplib parses and answers; a stream of our own counts bytes and knows its deadlines, and a
// queue has an end.
#include "net/http/bounded_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

namespace tinderbox::net {
namespace {

using Clock = std::chrono::steady_clock;

// A client that is slow to ask holds one for kReadTime; one that waits costs some KiB.
constexpr size_t kThreads = 16;
constexpr size_t kMaxWaiting = 256;
constexpr size_t kMaxRequest = kMaxBody + (16 << 10);
constexpr auto kReadTime = std::chrono::seconds(10);
constexpr auto kTotalTime = std::chrono::seconds(30);

/// A socket that gives at most one bounded request and ends at its deadlines, however slow the peer
/// drips.
class BoundedStream final : public httplib::Stream {
 public:
  explicit BoundedStream(socket_t socket) : socket_(socket), start_(Clock::now()) {}

  bool is_readable() const override { return wait(POLLIN, kReadTime); }
  bool is_writable() const override { return wait(POLLOUT, kTotalTime); }

  ssize_t read(char* to, size_t n) override {
    // httplib reads a head byte by byte: from a buffer that costs no system call.
    if (begin_ == end_) {
      if (left_ == 0 || !is_readable()) return -1;
      ssize_t got = ::recv(socket_, buffer_, std::min(left_, sizeof buffer_), 0);
      if (got <= 0) return got;
      left_ -= static_cast<size_t>(got);
      begin_ = 0;
      end_ = static_cast<size_t>(got);
    }
    n = std::min(n, end_ - begin_);
    std::memcpy(to, buffer_ + begin_, n);
    begin_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* data, size_t n) override {
    if (!is_writable()) return -1;
    return ::send(socket_, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    get_remote_ip_and_port(ip, port);
  }
  socket_t socket() const override { return socket_; }

 private:
  bool wait(short events, std::chrono::seconds limit) const {
    for (;;) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(start_ + limit - Clock::now());
      if (left.count() <= 0) return false;
      pollfd p{socket_, events, 0};
      int n = ::poll(&p, 1, static_cast<int>(left.count()));
      if (n < 0 && errno == EINTR) continue;
      return n > 0;
    }
  }

  socket_t socket_;
  Clock::time_point start_;
  size_t left_ = kMaxRequest;
  char buffer_[4096];
  size_t begin_ = 0, end_ = 0;
};

/// Threads and a queue; the accepting thread waits while the queue is full, so that what is too
/// much stays in the kernel's backlog.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  BoundedQueue() {
    for (size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this] { work(); });
  }
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || tasks_.size() < kMaxWaiting; });
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void shutdown() override {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (auto& t : threads_) t.join();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      changed_.notify_all();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

BoundedServer::BoundedServer() {
  new_task_queue = [] { return new BoundedQueue; };  // httplib deletes it
  set_payload_max_length(kMaxBody);
  set_tcp_nodelay(true);
  // Not SO_REUSEPORT, httplib's default: two servers would share a port unseen.
  set_socket_options([](socket_t s) {
    int yes = 1;
    ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

void BoundedServer::end_connections() {
  std::lock_guard lock(mutex_);
  ending_ = true;
  for (socket_t s : open_) ::shutdown(s, SHUT_RDWR);
}

bool BoundedServer::process_and_close_socket(socket_t sock) {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return ::close(sock), false;
    open_.insert(sock);
  }
  ::fcntl(sock, F_SETFD, FD_CLOEXEC);
  bool closed = false;
  BoundedStream stream(sock);
  bool ok = process_request(stream, true, closed, nullptr);
  std::lock_guard lock(mutex_);
  open_.erase(sock);
  ::shutdown(sock, SHUT_RDWR);
  ::close(sock);
  return ok;
}

}  // namespace tinderbox::net
