// The pages of a role: which handler a request reaches, and what is refused before its body is
// read.
#include "net/http/http_server.hpp"

#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "net/http/bounded_server.hpp"
#include "net/log.hpp"
#include "net/names.hpp"

namespace tinderbox::net {
namespace {

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
    server_.set_default_headers(kHeaders);
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
