// net/http_server, net/http_client and net/names over real sockets on free ports.
#include "net/http/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "net/http/ca_certificates.hpp"
#include "net/http/http_client.hpp"
#include "net/http/httplib.hpp"
#include "net/http/url.hpp"
#include "net/loop.hpp"
#include "net/names.hpp"
#include "tests/net/http/certificate.hpp"

using namespace tinderbox;
using namespace std::chrono_literals;

namespace {

net::HttpAnswer text(std::string body, int status = 200) {
  return {status, "text/plain", std::move(body), {}};
}
net::HttpAnswer redirect(const std::string& to) {
  return {302, "text/plain", "", {{"Location", to}}};
}

/// A server on a free port of loopback.
struct Site {
  net::HttpServer server;
  int port = 0;
  std::string root;
  void start() {
    Result<int> p = server.start({"127.0.0.1", 0, 0});
    REQUIRE(p);
    port = *p;
    root = "http://127.0.0.1:" + std::to_string(port);
  }
};

int connect_to(int port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(uint16_t(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
  return fd;
}

/// Sends bytes as they are and returns all of the answer.
std::string raw(int port, const std::string& bytes) {
  int fd = connect_to(port);
  size_t at = 0;
  while (at < bytes.size()) {
    ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n <= 0) break;
    at += size_t(n);
  }
  ::shutdown(fd, SHUT_WR);
  std::string all;
  char part[4096];
  for (ssize_t n; (n = ::recv(fd, part, sizeof part, 0)) > 0;) all.append(part, size_t(n));
  ::close(fd);
  return all;
}

/// What comes until the peer closes; "" with `patience` passed.
std::string until_closed(int fd, std::chrono::seconds patience) {
  const timeval limit{patience.count(), 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string all;
  char part[4096];
  ssize_t n;
  while ((n = ::recv(fd, part, sizeof part, 0)) > 0) all.append(part, size_t(n));
  return n == 0 ? all : "";
}

std::string http_error(const Result<Bytes>& r) { return r ? "" : r.error().message; }

struct Variable {
  std::string name;
  Variable(const std::string& n, const std::string& value) : name(n) {
    setenv(n.c_str(), value.c_str(), 1);
  }
  ~Variable() { unsetenv(name.c_str()); }
};

}  // namespace

TEST_CASE("pages get path and query; the longest prefix wins; everything else is 404") {
  Site site;
  site.server.handle("/", [](const net::HttpRequest&) { return text("root"); });
  site.server.handle("/json", [](const net::HttpRequest& r) {
    return text("json " + r.path + " " + r.parameter("a") + "," + r.parameter("b"));
  });
  site.server.handle("/json/deep", [](const net::HttpRequest&) { return text("deep"); });
  site.start();
  CHECK(*net::http_get(site.root) == "root");
  CHECK(*net::http_get(site.root + "/") == "root");
  CHECK(*net::http_get(site.root + "/json/?a=1%202&b=x") == "json /json/ 1 2,x");
  CHECK(*net::http_get(site.root + "/json") == "json /json ,");
  CHECK(*net::http_get(site.root + "/json/deep/er") == "deep");
  CHECK(http_error(net::http_get(site.root + "/jsonx")).find("the server answered status 404") !=
        std::string::npos);
  CHECK(http_error(net::http_get(site.root + "/%2e%2e/etc/passwd")).find("status 404") !=
        std::string::npos);
}

TEST_CASE("each answer carries the security headers and ends its connection") {
  Site site;
  site.server.handle("/", [](const net::HttpRequest&) { return text("body"); });
  site.start();
  for (std::string path : {"/", "/none"}) {
    std::string answer = raw(site.port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    for (std::string header : {"X-Content-Type-Options: nosniff", "X-Frame-Options: SAMEORIGIN",
                               "Content-Security-Policy: default-src 'none'",
                               "Cache-Control: no-cache, no-store", "Connection: close"})
      CHECK(answer.find(header) != std::string::npos);
  }
  std::string head = raw(site.port, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(head.find("200 OK") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(raw(site.port, "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n").find(" 405 ") != std::string::npos);
}

TEST_CASE("a POST brings its body and form") {
  Site site;
  site.server.handle(
      "/kill",
      [](const net::HttpRequest& r) {
        return text(r.method + " " + r.parameter("id") + " " + r.body);
      },
      net::HttpMethods::kGetAndPost);
  site.start();
  std::string answer = raw(
      site.port,
      "POST /kill/?x=1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Content-Length: 5\r\n\r\nid=42");
  CHECK(answer.ends_with("\r\n\r\nPOST 42 id=42"));
  CHECK(raw(site.port, "POST /kill HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\nx")
            .find(" 413 ") != std::string::npos);
  CHECK(raw(site.port,
            "POST /kill HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
            .ends_with("\r\n\r\nPOST  hi"));
}

TEST_CASE("what has no body, or none that is wanted, is answered at once") {
  Site site;
  auto echo = [](const net::HttpRequest& r) { return text(r.method + r.parameter("id") + r.body); };
  site.server.handle("/json", echo);
  site.server.handle("/kill", echo, net::HttpMethods::kGetAndPost);
  site.start();
  struct Case {
    std::string head, want;
  };
  for (auto& c : std::vector<Case>{{"POST /kill?id=7 HTTP/1.1\r\nHost: x", "\r\n\r\nPOST7"},
                                   {"POST /kill HTTP/1.1\r\nTransfer-Encoding: gzip", " 400 "},
                                   {"POST /json/ HTTP/1.1\r\nHost: x", " 405 "},
                                   {"POST /json/ HTTP/1.1\r\nContent-Length: 1000", " 405 "},
                                   {"PUT /kill HTTP/1.1\r\nContent-Length: 1000", " 405 "},
                                   {"POST /none HTTP/1.1\r\nContent-Length: 1000", " 404 "},
                                   {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked", " 404 "}}) {
    const int fd = connect_to(site.port);
    const std::string request = c.head + "\r\n\r\n";
    REQUIRE(::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == ssize_t(request.size()));
    const std::string answer = until_closed(fd, 2s);
    CAPTURE(c.head, answer);
    CHECK(answer.find(c.want) != std::string::npos);
    CHECK((c.want != " 405 " || answer.find("Allow: GET, HEAD") != std::string::npos));
    ::close(fd);
  }
}

TEST_CASE("clients that are slow to ask don't keep others waiting") {
  Site site;
  auto page = [](const net::HttpRequest&) { return text("alive"); };
  site.server.handle("/", page);
  site.server.handle("/kill", page, net::HttpMethods::kGetAndPost);
  site.start();
  std::vector<int> slow;
  for (std::string begun :
       {"", "GET /js", "GET / HTTP/1.1\r\nHo", "POST /kill HTTP/1.1\r\nContent-Length: 9\r\n\r\n"})
    for (int i = 0; i < 3; ++i) {
      slow.push_back(connect_to(site.port));
      (void)::send(slow.back(), begun.data(), begun.size(), MSG_NOSIGNAL);
    }
  const auto start = std::chrono::steady_clock::now();
  CHECK(raw(site.port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("alive"));
  CHECK(std::chrono::steady_clock::now() - start < 1s);
  for (int fd : slow) ::close(fd);
}

TEST_CASE(
    "a throwing page is a 500 without its reason, and a page on a loop waits with a deadline") {
  Site site;
  auto loop = net::make_poll_loop();
  int state = 41;
  site.server.handle("/throws", [](const net::HttpRequest&) -> net::HttpAnswer {
    throw std::runtime_error("secret");
  });
  site.server.handle("/state", net::on_loop(*loop, [&](const net::HttpRequest&) {
                       return text(std::to_string(++state));
                     }));
  auto idle = net::make_poll_loop();  // never run
  site.server.handle("/stuck", net::on_loop(
                                   *idle, [](const net::HttpRequest&) { return text("never"); },
                                   std::chrono::milliseconds(20)));
  site.start();
  std::thread runner([&] { loop->run(); });
  CHECK(*net::http_get(site.root + "/state") == "42");
  std::string failed = raw(site.port, "GET /throws HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(failed.find(" 500 ") != std::string::npos);
  CHECK(failed.find("secret") == std::string::npos);
  CHECK(raw(site.port, "GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n").find(" 503 ") !=
        std::string::npos);
  loop->stop();
  runner.join();
}

TEST_CASE("hostile requests are answered or dropped, and the server lives") {
  Site site;
  site.server.handle("/", [](const net::HttpRequest&) { return text("alive"); });
  site.start();
  std::string get = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::string many_ranges = "Range: bytes=0-0";
  while (many_ranges.size() < 4000) many_ranges += ",1-1";
  CHECK(raw(site.port, get + many_ranges + "\r\n\r\n").starts_with("HTTP/1.1 "));
  CHECK(raw(site.port, "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n").find(" 200 ") ==
        std::string::npos);
  CHECK(raw(site.port, "POST /" + std::string(3000, 'a') + " HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
            .find(" 414 ") != std::string::npos);
  CHECK(raw(site.port, get + std::string(3 << 20, 'h')).find(" 200 ") == std::string::npos);
  std::string endless = get;
  while (endless.size() < 4 << 20) endless += "X: y\r\n";
  CHECK(raw(site.port, endless).find(" 200 ") == std::string::npos);
  uint32_t seed = 99;
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = i % 2 ? get + "\r\n" : std::string(1 + seed % 300, 0);
    for (int n = 0; n < 6; ++n) {
      seed = seed * 1664525 + 1013904223;
      bytes[(seed >> 8) % bytes.size()] = char(seed >> 24);
    }
    raw(site.port, bytes);
  }
  CHECK(*net::http_get(site.root) == "alive");
}

TEST_CASE("stop ends connections that say nothing") {
  Site site;
  site.server.handle("/", [](const net::HttpRequest&) { return text("x"); });
  site.start();
  std::vector<int> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(connect_to(site.port));
  site.server.stop();
  for (int fd : silent) {
    char c;
    CHECK(::recv(fd, &c, 1, 0) <= 0);
    ::close(fd);
  }
}

TEST_CASE("a port in use: the next one, up to the retries; a host that isn't here: one line") {
  net::HttpServer a, b, c, d;
  Result<int> first = a.start({"127.0.0.1", 0, 0});
  REQUIRE(first);
  Result<int> second = b.start({"127.0.0.1", *first, 16});
  REQUIRE(second);
  CHECK(*second != *first);
  Result<int> none = c.start({"127.0.0.1", *first, 0});
  REQUIRE_FALSE(none);
  CHECK(none.error().message ==
        "cannot listen on 127.0.0.1:" + std::to_string(*first) + ": in use or not allowed");
  Result<int> elsewhere = d.start({"192.0.2.1", 0, 16});
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().message.find("cannot listen on 192.0.2.1:0") == 0);
}

TEST_CASE("where redirects lead") {
  const net::Url from = *net::parse_url("http://h:81/a/b?q=1");
  CHECK(net::redirected(from, "https://other/x") == "https://other/x");
  CHECK(net::redirected(from, "//other/x") == "http://other/x");
  CHECK(net::redirected(from, "/x") == "http://h:81/x");
  CHECK(net::redirected(from, "x") == "http://h:81/a/x");
  const net::Url ours = *net::parse_url("http://ann:x@h:81/a/b");
  CHECK(net::redirected(ours, "x") == "http://ann:x@h:81/a/x");
  CHECK(net::redirected(ours, "//other/x") == "http://other/x");
  CHECK(net::redirected(from, "/login?next=https://h/a") == "http://h:81/login?next=https://h/a");
  CHECK(net::redirected(from, "login?next=https://h/a") == "http://h:81/a/login?next=https://h/a");
}

TEST_CASE("redirects are followed, up to a limit") {
  Site site;
  site.server.handle("/a", [](const net::HttpRequest&) { return redirect("/b/c?x=1"); });
  site.server.handle("/b/c", [](const net::HttpRequest&) { return redirect("d"); });
  site.server.handle("/b/d", [&](const net::HttpRequest&) { return redirect(site.root + "/end"); });
  site.server.handle("/end", [](const net::HttpRequest&) { return text("end"); });
  site.server.handle("/round", [](const net::HttpRequest&) { return redirect("/round"); });
  site.server.handle("/file",
                     [](const net::HttpRequest&) { return redirect("file:///etc/passwd"); });
  site.start();
  CHECK(*net::http_get(site.root + "/a") == "end");
  CHECK(http_error(net::http_get(site.root + "/round")).find("more than 10 redirects") !=
        std::string::npos);
  CHECK(http_error(net::http_get(site.root + "/file")).find("is not an http:// or https:// URL") !=
        std::string::npos);
}

TEST_CASE("what can't be had is one line without passwords") {
  Site site;
  site.server.handle("/big", [](const net::HttpRequest&) { return text(std::string(5000, 'x')); });
  site.start();
  net::HttpLimits small;
  small.max_bytes = 4999;
  CHECK(http_error(net::http_get(site.root + "/big", small)).find("it is larger than 4999 bytes") !=
        std::string::npos);
  std::atomic<bool> cancelled{true};
  net::HttpLimits stopped;
  stopped.cancelled = &cancelled;
  CHECK(http_error(net::http_get(site.root + "/big", stopped)).find("was stopped") !=
        std::string::npos);
  std::string error = http_error(
      net::http_get("http://user:pass@127.0.0.1:" + std::to_string(site.port) + "/x?sig=key"));
  CHECK(error == "cannot fetch 'http://127.0.0.1:" + std::to_string(site.port) +
                     "/x': the server answered status 404");
  CHECK(http_error(net::http_get("ftp://x/y")).find("is not an http:// or https:// URL") !=
        std::string::npos);
  CHECK(http_error(net::http_get("http://:80/")).find("is not an") != std::string::npos);
  CHECK(http_error(net::http_get("http://x:99999/")).find("is not an") != std::string::npos);
  CHECK(net::shown_url("https://u:p@h:1/a@b?q#f") == "https://h:1/a@b");
}

TEST_CASE("an answer that is cut short is an error") {
  int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  REQUIRE(::bind(server, reinterpret_cast<sockaddr*>(&a), size) == 0);
  REQUIRE(::listen(server, 1) == 0);
  ::getsockname(server, reinterpret_cast<sockaddr*>(&a), &size);
  std::thread peer([&] {
    int fd = ::accept(server, nullptr, nullptr);
    char part[4096];
    (void)!::read(fd, part, sizeof part);
    std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
    (void)!::write(fd, answer.data(), answer.size());
    ::close(fd);
  });
  std::string error =
      http_error(net::http_get("http://127.0.0.1:" + std::to_string(ntohs(a.sin_port)) + "/"));
  CHECK(error.find("the answer was cut short or too slow") != std::string::npos);
  peer.join();
  ::close(server);
}

TEST_CASE("proxies are used unless no_proxy says otherwise") {
  Site proxy;
  proxy.server.handle("/", [](const net::HttpRequest&) { return text("from the origin form"); });
  proxy.start();
  Variable use("http_proxy", proxy.root);
  // A proxy is asked by absolute URL; ours has no such page, so its 404 shows that it was asked.
  CHECK(http_error(net::http_get("http://host.invalid/x")).find("status 404") != std::string::npos);
  Variable direct("no_proxy", "other,.invalid");
  CHECK(http_error(net::http_get("http://host.invalid/x"))
            .find("host name 'host.invalid' cannot be resolved") != std::string::npos);
}

TEST_CASE("a proxy that wants TLS or is none of HTTP is not spoken to") {
  Site site;
  site.start();
  for (const std::string scheme : {"https", "socks5", "socks5h"}) {
    Variable use("http_proxy", scheme + "://me:secret@" + site.root.substr(7));
    const std::string error = http_error(net::http_get("http://nowhere.invalid/x"));
    CHECK(error.find("the proxy " + scheme + "://127.0.0.1:") != std::string::npos);
    CHECK(error.find("cannot be used: only http:// proxies are") != std::string::npos);
    CHECK(error.find("secret") == std::string::npos);
  }
}

TEST_CASE("no_proxy may name networks") {
  struct Case {
    std::string list, host;
    bool direct;
  };
  const Case cases[] = {
      {"10.99.0.0/16", "10.99.1.2", true},  {"10.99.0.0/16", "10.100.1.2", false},
      {"10.99.0.0/20", "10.99.15.1", true}, {"10.99.0.0/20", "10.99.16.1", false},
      {"0.0.0.0/0", "1.2.3.4", true},       {"10.99.0.0/32", "10.99.0.1", false},
      {"10.99.0.0/33", "10.99.0.0", false}, {"10.99.0.0/x", "10.99.0.0", false},
      {"x,fd99::/64", "fd99::1", true},     {"fd99::/64", "fd98::1", false},
      {"fd99::1/128", "fd99::1", true},     {"10.0.0.0/8", "ten.example.com", false},
  };
  Variable use("http_proxy", "http://proxy:1");
  for (const Case& c : cases) {
    INFO(c.list << " " << c.host);
    Variable direct("no_proxy", c.list);
    net::Url url;
    url.scheme = "http";
    url.host = c.host;
    CHECK(!net::proxy_for(url) == c.direct);
  }
}

TEST_CASE("TLS: certificates are checked, against SSL_CERT_FILE when it is set") {
  test::Certificate certificate;
  httplib::SSLServer server(certificate.x509, certificate.key);
  server.Get("/x", [](const httplib::Request&, httplib::Response& r) {
    r.set_content("safe", "text/plain");
  });
  server.Get("/down", [](const httplib::Request&, httplib::Response& r) {
    r.set_redirect("http://127.0.0.1:1/");
  });
  int port = server.bind_to_any_port("127.0.0.1");
  REQUIRE(port > 0);
  std::thread thread([&] { server.listen_after_bind(); });
  std::string root = "https://127.0.0.1:" + std::to_string(port);
  std::string untrusted = http_error(net::http_get(root + "/x"));
  CHECK(untrusted.find("its certificate is not trusted by ") != std::string::npos);
  CHECK(untrusted.find("set SSL_CERT_FILE") != std::string::npos);
  {
    Variable trust("SSL_CERT_FILE", certificate.file);
    Result<Bytes> body = net::http_get(root + "/x");
    CHECK(http_error(body) == "");
    if (body) CHECK(*body == "safe");
    CHECK(http_error(net::http_get(root + "/down")).find("it redirects from https to") !=
          std::string::npos);
  }
  {
    Variable trust("SSL_CERT_FILE", "/none.pem");
    CHECK(http_error(net::http_get(root + "/x"))
              .find("'/none.pem' (SSL_CERT_FILE), which cannot be read") != std::string::npos);
  }
  server.stop();
  thread.join();
}

TEST_CASE("the built-in certificates are there") {
  std::string_view pem = net::built_in_ca_certificates();
  REQUIRE(pem.size() > 100000);
  CHECK(pem.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos);
}

TEST_CASE("names: numbers, localhost and brackets need no server") {
  using List = std::vector<std::string>;
  CHECK(*net::resolve("10.1.2.3") == List{"10.1.2.3"});
  CHECK(*net::resolve("[::1]") == List{"::1"});
  CHECK(net::resolve("localhost")->front() == "127.0.0.1");
  CHECK(net::resolve("LOCALHOST.")->front() == "127.0.0.1");
  CHECK(*net::resolve("a.localhost") == List{"127.0.0.1", "::1"});
  CHECK(*net::resolve_address("localhost:7077") == "127.0.0.1:7077");
  CHECK(*net::resolve_address("[::1]:7077") == "[::1]:7077");
  for (std::string bad : {"localhost", "localhost:", "::1:7077", "h:port", "h:70000", ":1", ""}) {
    CAPTURE(bad);
    CHECK_FALSE(net::resolve_address(bad));
    CHECK_FALSE(net::is_host_port(bad));
  }
  CHECK(net::bracketed("::1") == "[::1]");
  CHECK(net::bracketed("h") == "h");
  CHECK(net::without_brackets("[::1]") == "::1");
  CHECK_FALSE(net::host_name().empty());
  std::string here = net::local_host_address();
  CHECK(*net::resolve(here) == List{here});
}
