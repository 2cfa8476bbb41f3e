// Conversations over HTTPS with a real server on a free port: whom to believe, certificates of
// clients, streams.
#include "net/http/http_session.hpp"

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <semaphore>
#include <thread>

#include "net/http/httplib.hpp"
#include "tests/net/http/certificate.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using net::HttpSession;
using test::Certificate;

namespace {

/// An HTTPS server; with `clients` it wants their certificate.
struct SecureSite {
  Certificate own;
  std::unique_ptr<httplib::SSLServer> server;
  std::string root;
  std::thread thread;
  std::counting_semaphore<> asked{0}, may_answer{0};  // at /silent

  explicit SecureSite(const Certificate* clients = nullptr) {
    X509_STORE* store = nullptr;
    if (clients) {
      store = X509_STORE_new();
      X509_STORE_add_cert(store, clients->x509);
    }
    server = std::make_unique<httplib::SSLServer>(own.x509, own.key, store);
    server->Get("/x", [](const httplib::Request& r, httplib::Response& a) {
      a.set_content("seen " + r.get_param_value("q"), "text/plain");
    });
    server->Put("/echo", [](const httplib::Request& r, httplib::Response& a) {
      a.status = 409;
      a.set_content(r.get_header_value("Content-Type") + " " + r.body, "text/plain");
    });
    server->Get("/lines", [](const httplib::Request&, httplib::Response& a) {
      a.set_chunked_content_provider("text/plain", [](size_t offset, httplib::DataSink& sink) {
        const std::string line = "line " + std::to_string(offset) + "\n";
        return sink.write(line.data(), line.size());
      });
    });
    server->Get("/silent", [this](const httplib::Request&, httplib::Response&) {
      asked.release();
      may_answer.acquire();
    });
    const int port = server->bind_to_any_port("127.0.0.1");
    REQUIRE(port > 0);
    root = "https://127.0.0.1:" + std::to_string(port);
    thread = std::thread([this] { server->listen_after_bind(); });
    while (!server->is_running()) std::this_thread::yield();
  }
  ~SecureSite() {
    server->stop();
    thread.join();
  }
  net::HttpServerAddress address() const {
    net::HttpServerAddress a;
    a.url = root;
    a.ca_pem = own.pem();
    a.ca_name = "own.pem";
    return a;
  }
};

std::string error_of(const Result<net::HttpReply>& reply) {
  return reply ? "" : reply.error().message;
}

}  // namespace

TEST_CASE("a session: any status is an answer, query, headers and body arrive") {
  SecureSite site;
  HttpSession session(site.address());
  const auto get = session.call({"GET", "/x?q=a%20b", {}, {}});
  REQUIRE(error_of(get) == "");
  CHECK(get->status == 200);
  CHECK(get->body == "seen a b");
  const auto put = session.call({"PUT", "/echo", {{"Content-Type", "text/x"}}, "body"});
  REQUIRE(error_of(put) == "");
  CHECK(put->status == 409);
  CHECK(put->body == "text/x body");
  CHECK(session.fault() == HttpSession::Fault::None);
}

TEST_CASE("a body may come from a file") {
  SecureSite site;
  HttpSession session(site.address());
  const std::string path = site.own.file + ".body";
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += std::to_string(i);
  std::ofstream(path, std::ios::binary) << bytes;
  const auto put = session.call({"PUT", "/echo", {{"Content-Type", "x"}}, "", path});
  REQUIRE(error_of(put) == "");
  CHECK(put->body == "x " + bytes);
  ::unlink(path.c_str());
  CHECK(error_of(session.call({"PUT", "/echo", {}, "", path})) == "cannot read '" + path + "'");
  CHECK(session.fault() == HttpSession::Fault::Hopeless);
}

TEST_CASE("a session believes the authorities that it was given, and no others") {
  SecureSite site;
  const Certificate other;
  net::HttpServerAddress address = site.address();
  address.ca_pem = other.pem();
  address.ca_name = "other.pem";
  // OpenSSL's own place for authorities must not count either.
  ::setenv("SSL_CERT_FILE", site.own.file.c_str(), 1);
  HttpSession session(address);
  const auto reply = session.call({"GET", "/x", {}, {}});
  ::unsetenv("SSL_CERT_FILE");
  CHECK_THAT(error_of(reply), Contains("its certificate is not trusted by other.pem"));
  CHECK(session.fault() == HttpSession::Fault::Hopeless);
}

TEST_CASE("bundles take turns: each session believes its own") {
  SecureSite site;
  const Certificate other;
  net::HttpServerAddress stranger = site.address();
  stranger.ca_pem = other.pem();
  for (int turn = 0; turn < 3; ++turn) {
    INFO(turn);
    HttpSession good(site.address()), again(site.address()), bad(stranger);
    CHECK(error_of(good.call({"GET", "/x", {}, {}})) == "");
    CHECK(error_of(again.call({"GET", "/x", {}, {}})) == "");
    CHECK_THAT(error_of(bad.call({"GET", "/x", {}, {}})), Contains("is not trusted"));
    CHECK(error_of(good.call({"GET", "/x", {}, {}})) == "");
  }
}

TEST_CASE("a server's certificate must be for the name that was meant") {
  SecureSite site;
  net::HttpServerAddress address = site.address();
  address.server_name = "elsewhere.example.com";
  CHECK_THAT(error_of(HttpSession(address).call({"GET", "/x", {}, {}})), Contains("certificate"));
  address.server_name = "localhost";
  CHECK(error_of(HttpSession(address).call({"GET", "/x", {}, {}})) == "");
}

TEST_CASE("a client's certificate is shown; what cannot be one is told before anything is sent") {
  const Certificate me, other;
  SecureSite site(&me);
  net::HttpServerAddress address = site.address();
  CHECK(error_of(HttpSession(address).call({"GET", "/x", {}, {}})) != "");
  address.certificate_pem = me.pem();
  address.key_pem = me.key_pem();
  CHECK(error_of(HttpSession(address).call({"GET", "/x", {}, {}})) == "");
  address.key_pem = other.key_pem();
  CHECK_THAT(error_of(HttpSession(address).call({"GET", "/x", {}, {}})),
             Contains("and its key do not belong together"));
  address.key_pem = "nothing";
  CHECK_THAT(error_of(HttpSession(address).call({"GET", "/x", {}, {}})),
             Contains("the key of the client certificate"));
  address.certificate_pem = "nothing";
  CHECK_THAT(error_of(HttpSession(address).call({"GET", "/x", {}, {}})),
             Contains("the client certificate for"));
}

TEST_CASE("a stream comes part by part, until one side has enough") {
  SecureSite site;
  HttpSession session(site.address());
  std::string seen;
  const auto reply = session.stream({"GET", "/lines", {}, {}}, [&](std::string_view part) {
    seen += part;
    return seen.size() < 100;
  });
  CHECK(error_of(reply) == "");
  CHECK(seen.starts_with("line 0\n"));
  const auto none =
      session.stream({"GET", "/not-there", {}, {}}, [](std::string_view) { return false; });
  REQUIRE(error_of(none) == "");
  CHECK(none->status == 404);
}

TEST_CASE("a stream ends when it is cancelled from another thread, and nothing begins after that") {
  SecureSite site;
  HttpSession session(site.address());
  std::mutex mutex;
  std::condition_variable came;
  bool begun = false;
  std::thread reader([&] {
    (void)session.stream({"GET", "/lines", {}, {}}, [&](std::string_view) {
      std::lock_guard lock(mutex);
      begun = true;
      came.notify_all();
      return true;
    });
  });
  {
    std::unique_lock lock(mutex);
    came.wait(lock, [&] { return begun; });
  }
  session.cancel();
  reader.join();
  CHECK(error_of(session.call({"GET", "/x", {}, {}})) == "the request was cancelled");
}

TEST_CASE("a server that takes a request and says nothing: the call's deadline ends it") {
  SecureSite site;
  net::HttpServerAddress address = site.address();
  address.answer_timeout = 50ms;
  HttpSession session(address);
  CHECK_THAT(error_of(session.call({"GET", "/silent", {}, {}})), Contains("cut short"));
  CHECK(session.fault() == HttpSession::Fault::CutShort);
  site.may_answer.release();
}

TEST_CASE("a call that waits for its answer ends when it is cancelled from another thread") {
  SecureSite site;
  net::HttpServerAddress address = site.address();
  address.answer_timeout = 1h;
  HttpSession session(address);
  std::string error;
  std::thread caller([&] { error = error_of(session.call({"GET", "/silent", {}, {}})); });
  site.asked.acquire();
  session.cancel();
  caller.join();
  CHECK(error == "the request was cancelled");
  site.may_answer.release();
}

TEST_CASE("who cannot be reached, and addresses that are none") {
  net::HttpServerAddress address;
  address.url = "http://127.0.0.1:1";
  HttpSession session(address);
  CHECK_THAT(error_of(session.call({"GET", "/", {}, {}})), Contains("no connection"));
  CHECK(session.fault() == HttpSession::Fault::Unreachable);
  address.url = "ftp://h";
  HttpSession other(address);
  CHECK_THAT(error_of(other.call({"GET", "/", {}, {}})),
             Contains("is not an http:// or https:// URL"));
  CHECK(other.fault() == HttpSession::Fault::Hopeless);
  address.url = "https://user:secret@127.0.0.1:1";
  CHECK(error_of(HttpSession(address).call({"GET", "/", {}, {}})).find("secret") ==
        std::string::npos);
}

TEST_CASE("a session's proxy that wants TLS or is none of HTTP is not spoken to") {
  SecureSite site;
  net::HttpServerAddress a = site.address();
  a.proxy = "socks5://me:secret@127.0.0.1:1080";
  HttpSession session(a);
  const auto reply = session.call({"GET", "/x", {}, "", ""});
  REQUIRE_FALSE(reply);
  CHECK_THAT(reply.error().message,
             Contains("the proxy socks5://127.0.0.1:1080 cannot be used") && !Contains("secret"));
  CHECK(session.fault() == HttpSession::Fault::Hopeless);
}
