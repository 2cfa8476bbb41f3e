// cpp-httplib parses and answers; what a connection may cost is bounded here, by a stream of our
// own that counts bytes and knows its deadlines, and by a queue with an end.
#include "net/http/http_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "net/http/httplib.hpp"
#include "net/log.hpp"
#include "net/names.hpp"

namespace tinderbox::net {
namespace {

using Clock = std::chrono::steady_clock;

// A client that is slow to ask holds one for kReadTime; one that waits costs some KiB.
constexpr size_t kThreads = 16;
constexpr size_t kMaxWaiting = 256;
constexpr size_t kMaxPath = 1024;
constexpr size_t kMaxBody = 1 << 20;
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

class BoundedServer final : public httplib::Server {
 public:
  /// Wakes whoever waits for a peer.
  void end_connections() {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (socket_t s : open_) ::shutdown(s, SHUT_RDWR);
  }

 private:
  bool process_and_close_socket(socket_t sock) override {
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

  std::mutex mutex_;  // guards all below
  std::set<socket_t> open_;
  bool ending_ = false;
};

/// Source: RFC 9112 section 6.3: a request with neither header has no body.
bool has_body(const httplib::Request& in) {
  return in.has_header("Content-Length") || in.has_header("Transfer-Encoding");
}

bool is_below(const std::string& path, const std::string& prefix) {
  if (prefix == "/") return path == "/" || path.empty();
  return path == prefix || path.starts_with(prefix + "/");
}

struct Page {
  HttpHandler handler;
  HttpMethods methods;
};

HttpAnswer plain(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n", {}};
}

void give(const HttpAnswer& answer, httplib::Response& out) {
  out.status = answer.status;
  for (auto& [name, value] : answer.headers) out.set_header(name, value);
  out.set_content(answer.body, answer.content_type.c_str());
}

/// What is known before a body is read; none: the page may be asked.
std::optional<HttpAnswer> refusal(const httplib::Request& in, const Page* page) {
  if (in.path.size() > kMaxPath) return plain(414, "the path is too long");
  const bool get = in.method == "GET" || in.method == "HEAD";
  const bool post = in.method == "POST";
  if (!page && (get || post)) return plain(404, "there is no page '" + in.path + "'");
  const bool posts = page && page->methods == HttpMethods::kGetAndPost;
  if (!get && !(post && posts)) {
    HttpAnswer answer = plain(405, posts ? "use GET or POST" : "use GET");
    answer.headers["Allow"] = posts ? "GET, HEAD, POST" : "GET, HEAD";
    return answer;
  }
  // Its end can't be told.
  if (post && in.has_header("Transfer-Encoding") &&
      !httplib::detail::is_chunked_transfer_encoding(in.headers))
    return plain(400, "the transfer encoding is not 'chunked'");
  return std::nullopt;
}

HttpAnswer answer(const httplib::Request& in, const Page& page) {
  try {
    return page.handler({in.method == "HEAD" ? "GET" : in.method,
                         in.path,
                         {in.params.begin(), in.params.end()},
                         in.body});
  } catch (const std::exception& e) {
    log(Level::Error, "http", "page '" + in.path + "' failed: " + e.what());
    return plain(500, "internal error");
  }
}

const httplib::Headers kHeaders = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "SAMEORIGIN"},
    {"X-XSS-Protection", "1; mode=block"},
    {"Referrer-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; script-src "
     "'self'; "
     "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"},
    {"Cache-Control", "no-cache, no-store, must-revalidate"}};

}  // namespace

std::string HttpRequest::parameter(const std::string& name) const {
  auto it = query.find(name);
  return it == query.end() ? std::string() : it->second;
}

HttpHandler on_loop(Loop& loop, HttpHandler handler, Duration patience) {
  return [&loop, handler = std::move(handler), patience](const HttpRequest& request) {
    auto promise = std::make_shared<std::promise<HttpAnswer>>();
    std::future<HttpAnswer> future = promise->get_future();
    loop.post([promise, handler, request] {
      try {
        promise->set_value(handler(request));
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    });
    if (future.wait_for(patience) != std::future_status::ready)
      return plain(503, "busy: no answer in time, try again");
    return future.get();
  };
}

class HttpServer::Impl {
 public:
  Impl() {
    server_.new_task_queue = [] { return new BoundedQueue; };  // httplib deletes it
    server_.set_payload_max_length(kMaxBody);
    server_.set_default_headers(kHeaders);
    server_.set_tcp_nodelay(true);
    // Not SO_REUSEPORT, httplib's default: two servers would share a port unseen.
    server_.set_socket_options([](socket_t s) {
      int yes = 1;
      ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_pre_routing_handler([this](const httplib::Request& in, httplib::Response& out) {
      const Page* page = find(in.path);
      std::optional<HttpAnswer> refused = refusal(in, page);
      // Only a wanted body goes on to httplib's routes, which read it but match by recursive
      // regexes.
      if (!refused && in.method == "POST" && has_body(in))
        return httplib::Server::HandlerResponse::Unhandled;
      give(refused ? *refused : answer(in, *page), out);
      return httplib::Server::HandlerResponse::Handled;
    });
    server_.Post(".*", [this](const httplib::Request& in, httplib::Response& out) {
      give(answer(in, *find(in.path)), out);
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& out) {
      if (out.body.empty()) give(plain(out.status, "status " + std::to_string(out.status)), out);
    });
  }

  void handle(const std::string& prefix, HttpHandler handler, HttpMethods methods) {
    pages_[prefix] = {std::move(handler), methods};
  }

  Result<int> start(const Options& options) {
    Result<int> port = bind(options);
    if (port) thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() would not be seen by a server that is not accepting yet.
    while (port && !server_.is_running()) std::this_thread::yield();
    return port;
  }

  void stop() {
    if (!thread_.joinable()) return;
    server_.stop();
    server_.end_connections();
    thread_.join();
  }

 private:
  Result<int> bind(const Options& options) {
    Result<std::vector<std::string>> addresses = resolve(options.host);
    if (!addresses) return addresses.error();
    const std::string& host = addresses->front();
    if (options.port == 0) {
      int port = server_.bind_to_any_port(host.c_str());
      if (port > 0) return port;
    }
    // Ports wrap around inside 1024 … 65535, as Spark's do.
    for (int i = 0; options.port != 0 && i <= options.retries; ++i) {
      int port = options.port + i;
      if (port > 65535) port = 1024 + (port - 65536) % (65536 - 1024);
      if (server_.bind_to_port(host.c_str(), port)) return port;
    }
    std::string ports = std::to_string(options.port);
    if (options.port != 0 && options.retries > 0)
      ports += " and the " + std::to_string(options.retries) + " ports after it";
    return Error{"cannot listen on " + bracketed(host) + ":" + ports + ": in use or not allowed"};
  }

  const Page* find(const std::string& path) const {
    const Page* best = nullptr;
    size_t length = 0;
    for (auto& [prefix, page] : pages_) {
      if (!is_below(path, prefix) || (best && prefix.size() < length)) continue;
      best = &page;
      length = prefix.size();
    }
    return best;
  }

  BoundedServer server_;
  std::map<std::string, Page> pages_;  // constant after start()
  std::thread thread_;
};

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}
HttpServer::~HttpServer() { stop(); }
void HttpServer::handle(const std::string& prefix, HttpHandler handler, HttpMethods methods) {
  impl_->handle(prefix, std::move(handler), methods);
}
Result<int> HttpServer::start(const Options& options) { return impl_->start(options); }
void HttpServer::stop() { impl_->stop(); }

}  // namespace tinderbox::net
