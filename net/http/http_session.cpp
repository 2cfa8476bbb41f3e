#include "net/http/http_session.hpp"

#include <absl/strings/ascii.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <atomic>
#include <fstream>
#include <mutex>

#include "net/http/httplib.hpp"
#include "net/http/proxy.hpp"
#include "net/http/trust.hpp"
#include "net/http/url.hpp"
#include "net/names.hpp"

namespace tinderbox::net {
namespace {

constexpr size_t kLargestAnswer = 256u << 20;

template <class T, void (*Free)(T*)>
struct Freeing {
  void operator()(T* p) const { Free(p); }
};
using Certificate = std::unique_ptr<X509, Freeing<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY, EVP_PKEY_free>>;

BIO* reading(const std::string& pem) {
  return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
}

/// A key with a pass phrase cannot be read here: nobody can be asked.
int no_pass_phrase(char*, int, int, void*) { return 0; }

Certificate certificate_of(const std::string& pem) {
  BIO* bio = reading(pem);
  Certificate found(PEM_read_bio_X509(bio, nullptr, no_pass_phrase, nullptr));
  BIO_free(bio);
  return found;
}

PrivateKey key_of(const std::string& pem) {
  BIO* bio = reading(pem);
  PrivateKey found(PEM_read_bio_PrivateKey(bio, nullptr, no_pass_phrase, nullptr));
  BIO_free(bio);
  return found;
}

/// What follows the client's own certificate in the file leads to its issuer.
void add_chain(SSL_CTX* context, const std::string& pem) {
  BIO* bio = reading(pem);
  X509_free(PEM_read_bio_X509(bio, nullptr, no_pass_phrase, nullptr));
  while (X509* next = PEM_read_bio_X509(bio, nullptr, no_pass_phrase, nullptr))
    SSL_CTX_add_extra_chain_cert(context, next);
  BIO_free(bio);
}

/// Without the texts of its errors, which nobody reads here, without the names of its ciphers,
/// which only keys with a pass phrase need, and without tidying up before the process ends: a fifth
/// of what a process with one connection computes.
void start_openssl() {
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_SSL_STRINGS | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                       OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ATEXIT,
                   nullptr);
}

}  // namespace

class HttpSession::Impl {
 public:
  using Fault = HttpSession::Fault;
  using Sink = HttpSession::Sink;
  using Head = HttpSession::Head;

  explicit Impl(HttpServerAddress address) : address_(std::move(address)) {}

  /// `sink` null: the body is the reply's.
  Result<HttpReply> send(const HttpCall& call, const Sink* sink, const Head& head) {
    std::shared_ptr<httplib::ClientImpl> client;
    fault_ = Fault::Hopeless;
    if (Result<bool> ready = open(client); !ready) return ready.error();
    fault_ = Fault::None;
    HttpReply reply;
    bool too_large = false;
    httplib::Request request = request_of(call, reply, sink, too_large);
    request.response_handler = [&](const httplib::Response& r) {
      take_headers(r, reply);
      return !head || !streamed(reply) || head(reply);
    };
    std::ifstream file;
    if (!call.file.empty() && !attach(file, call.file, request)) {
      fault_ = Fault::Hopeless;
      return Error{"cannot read '" + call.file + "'"};
    }
    const httplib::Result result = client->send(request);
    if (cancelled_) return Error{"the request was cancelled"};
    if (too_large) return Error{"the answer of " + shown() + " is too large"};
    const bool stopped = sink && streamed(reply) && result.error() == httplib::Error::Canceled;
    fault_ = result || stopped ? Fault::None : fault_of(result.error());
    if (!result && !stopped)
      return Error{shown() + ": " + failure_text(static_cast<int>(result.error()), trust_name_)};
    if (result) take_headers(*result, reply);  // without a body nobody has seen them yet
    return reply;
  }

  Fault fault() const { return fault_; }

  void cancel() {
    cancelled_ = true;
    std::shared_ptr<httplib::ClientImpl> client;
    {
      std::lock_guard lock(mutex_);
      client = client_;
    }
    if (client) client->stop();
  }

 private:
  static bool streamed(const HttpReply& reply) {
    return reply.status == 200 || reply.status == 206;
  }

  httplib::Request request_of(const HttpCall& call, HttpReply& reply, const Sink* sink,
                              bool& too_large) {
    httplib::Request request;
    request.method = call.method;
    request.path = prefix_ + call.target;
    for (const auto& [name, value] : call.headers) request.headers.emplace(name, value);
    request.headers.emplace("User-Agent", "tinderbox");
    attach(call.body, request);
    request.content_receiver = [this, &reply, &too_large, sink](const char* data, size_t n,
                                                                uint64_t, uint64_t) {
      if (cancelled_) return false;
      if (sink && streamed(reply)) return (*sink)({data, n});
      reply.body.append(data, n);
      too_large = reply.body.size() > kLargestAnswer;
      return !too_large;
    };
    return request;
  }

  /// Where it lies: httplib would copy it twice.
  static void attach(const Bytes& body, httplib::Request& request) {
    if (body.empty()) return;
    request.content_length_ = body.size();
    request.content_provider_ = [&body](size_t at, size_t length, httplib::DataSink& to) {
      return to.write(body.data() + at, length);
    };
  }

  /// The body comes from the file part by part.
  static bool attach(std::ifstream& file, const std::string& path, httplib::Request& request) {
    file.open(path, std::ios::binary | std::ios::ate);
    if (!file) return false;
    request.content_length_ = static_cast<size_t>(file.tellg());
    request.content_provider_ = [&file](size_t at, size_t length, httplib::DataSink& to) {
      char part[64 << 10];
      file.seekg(static_cast<std::streamoff>(at));
      file.read(part, static_cast<std::streamsize>(std::min(sizeof part, length)));
      return file.gcount() > 0 && to.write(part, static_cast<size_t>(file.gcount()));
    };
    return true;
  }

  static void take_headers(const httplib::Response& from, HttpReply& to) {
    to.status = from.status;
    for (const auto& [name, value] : from.headers)
      to.headers.emplace(absl::AsciiStrToLower(name), value);
  }

  static Fault fault_of(httplib::Error error) {
    using E = httplib::Error;
    if (error == E::Read || error == E::Write || error == E::Canceled) return Fault::CutShort;
    if (error == E::SSLServerVerification || error == E::SSLLoadingCerts) return Fault::Hopeless;
    return Fault::Unreachable;
  }

  std::string shown() const { return "'" + shown_url(address_.url) + "'"; }

  /// The one client, made at the first call.
  Result<bool> open(std::shared_ptr<httplib::ClientImpl>& client) {
    std::lock_guard lock(mutex_);
    if (!client_) {
      const std::optional<Url> url = parse_url(address_.url);
      if (!url || (url->scheme != "http" && url->scheme != "https"))
        return Error{shown() + " is not an http:// or https:// URL"};
      prefix_ = url->target == "/" ? "" : url->target;
      while (prefix_.ends_with('/')) prefix_.pop_back();
      if (Result<bool> made = make(*url); !made) return made.error();
    }
    client = client_;
    return true;
  }

  Result<bool> make(const Url& url) {
    const std::string name = address_.server_name.empty() ? url.host : address_.server_name;
    std::shared_ptr<httplib::ClientImpl> client;
    if (url.scheme == "http") {
      client = std::make_shared<httplib::ClientImpl>(name, url.port);
    } else {
      Result<std::shared_ptr<httplib::ClientImpl>> made = make_secure(name, url.port);
      if (!made) return made.error();
      client = *made;
    }
    client->set_connection_timeout(address_.connect_timeout);
    client->set_read_timeout(address_.answer_timeout);
    client->set_write_timeout(address_.answer_timeout);
    client->set_keep_alive(true);
    client->set_follow_location(false);
    client->set_decompress(false);
    client->set_url_encode(false);
    client->set_tcp_nodelay(true);
    if (!url.user.empty()) client->set_basic_auth(url.user, url.password);
    if (Result<bool> way = find_way(*client, url, name); !way) return way.error();
    client_ = std::move(client);
    return true;
  }

  Result<std::shared_ptr<httplib::ClientImpl>> make_secure(const std::string& name, int port) {
    start_openssl();
    Certificate certificate;
    PrivateKey key;
    if (!address_.certificate_pem.empty()) {
      certificate = certificate_of(address_.certificate_pem);
      key = key_of(address_.key_pem);
      if (!certificate) return Error{"the client certificate for " + shown() + " cannot be read"};
      if (!key)
        return Error{"the key of the client certificate for " + shown() + " cannot be read"};
      if (X509_check_private_key(certificate.get(), key.get()) != 1)
        return Error{"the client certificate for " + shown() +
                     " and its key do not belong together"};
    }
    auto client = std::make_shared<httplib::SSLClient>(name, port, certificate.get(), key.get());
    if (!client->is_valid()) return Error{shown() + ": no TLS on this machine"};
    if (certificate) add_chain(client->ssl_context(), address_.certificate_pem);
    Trust trust{address_.ca_pem, address_.ca_name};
    if (trust.pem.empty()) trust = usual_trust();
    trust_name_ = trust.name;
    trust_only(*client, trust.pem);
    return std::shared_ptr<httplib::ClientImpl>(std::move(client));
  }

  Result<bool> find_way(httplib::ClientImpl& client, const Url& url, const std::string& name) {
    std::optional<Url> proxy = address_.proxy.empty() ? proxy_for(url) : parse_url(address_.proxy);
    if (!address_.proxy.empty() && !proxy)
      return Error{"the proxy '" + address_.proxy + "' of " + shown() + " is not a URL"};
    if (proxy) {
      const Result<bool> through = go_through(client, *proxy);
      return through ? through : Error{shown() + ": " + through.error().message};
    }
    Result<std::vector<std::string>> addresses = resolve(url.host);
    if (!addresses) return Error{shown() + ": " + addresses.error().message};
    // Otherwise the client tries each address by itself.
    if (addresses->size() == 1 || name != url.host)
      client.set_hostname_addr_map({{name, addresses->front()}});
    return true;
  }

  const HttpServerAddress address_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::shared_ptr<httplib::ClientImpl> client_;
  std::string prefix_, trust_name_;
  Fault fault_ = Fault::None;
};

HttpSession::HttpSession(HttpServerAddress address)
    : impl_(std::make_unique<Impl>(std::move(address))) {}
HttpSession::~HttpSession() = default;

Result<HttpReply> HttpSession::call(const HttpCall& call) { return impl_->send(call, nullptr, {}); }

Result<HttpReply> HttpSession::stream(const HttpCall& call, const Sink& sink, const Head& head) {
  return impl_->send(call, &sink, head);
}

HttpSession::Fault HttpSession::fault() const { return impl_->fault(); }

void HttpSession::cancel() { impl_->cancel(); }

std::string url_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

}  // namespace tinderbox::net
