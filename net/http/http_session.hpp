// A conversation with one server over HTTP(S): one connection that is kept open, certificates of
// both sides, answers of any status, streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::net {

struct HttpServerAddress {
  std::string url;          // http(s)://host[:port][/path]; the path comes before every request's
  std::string ca_pem;       // whom to believe; empty: usual_trust()
  std::string ca_name;      // of ca_pem, for messages
  std::string server_name;  // in the certificate; empty: the URL's host
  std::string certificate_pem, key_pem;  // of this client; empty: none
  std::string proxy;                     // URL; empty: what the environment says
  Duration connect_timeout = std::chrono::seconds(10);
  Duration answer_timeout = std::chrono::seconds(10);  // between two parts
};

struct HttpCall {
  std::string method;  // GET, POST, PUT, PATCH, DELETE
  std::string target;  // encoded path and query
  std::map<std::string, std::string> headers;
  Bytes body;
  std::string file = {};  // whose bytes are the body, if it is given
};
struct HttpReply {
  int status = 0;
  Bytes body;
  std::map<std::string, std::string> headers;  // names in small letters
};

/// Thread: one call at a time, from any; cancel() from any other.
class HttpSession {
 public:
  /// Errors of the address come with the first call.
  explicit HttpSession(HttpServerAddress address);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  /// Any status is an answer. At most 256 MiB. Errors, one line: unreachable, untrusted, cut short.
  Result<HttpReply> call(const HttpCall& call);
  using Sink = std::function<bool(std::string_view)>;
  using Head = std::function<bool(const HttpReply&)>;
  /// The body of an answer 200 or 206 goes to `sink` part by part (false: stop); that of another
  /// status is in the reply. `head` sees status and headers of such an answer before (false: no
  /// body is wanted). Returns when the server ended it, or after cancel().
  Result<HttpReply> stream(const HttpCall& call, const Sink& sink, const Head& head = {});
  /// Why the last call had no answer.
  enum class Fault : uint8_t {
    None,
    Unreachable,  // the server did not get it
    CutShort,     // it may have got it
    Hopeless,     // another try would end the same: a certificate, an address that is none
  };
  Fault fault() const;
  /// Ends a call that is under way, and all that come.
  void cancel();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// `text` as a part of a path or query: all but letters, digits and -._~ as %XX.
std::string url_encoded(std::string_view text);

}  // namespace tinderbox::net
