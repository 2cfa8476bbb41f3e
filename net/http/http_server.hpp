// A small bounded HTTP server for status pages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/loop.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

struct HttpRequest {
  std::string method;  // GET (HEAD is answered as GET without body) or POST
  std::string path;    // decoded
  std::multimap<std::string, std::string> query;  // decoded; of a POST form too
  Bytes body;                                     // of a POST

  /// The first value of a query parameter; empty: none.
  std::string parameter(const std::string& name) const;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  Bytes body;
  std::map<std::string, std::string> headers;
};

/// Thread: one of the server's; several at once. A throwing handler gives status 500.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

/// `handler`, but run on `loop`'s thread, so that it may read a machine's state. Status 503 when
/// the loop does not come to it within `patience`; the late answer is then dropped.
HttpHandler on_loop(Loop& loop, HttpHandler handler, Duration patience = std::chrono::seconds(5));

/// What a page is asked by; kGet is GET and HEAD.
enum class HttpMethods { kGet, kGetAndPost };

/// Bounds: 16 connections at a time and 256 waiting, 4 KiB a line of the head, 1 MiB of request,
/// 10 s to read it, 30 s for all of it, one request a connection. Every answer forbids sniffing,
/// framing by other sites, foreign scripts and caching. Nothing is read from files.
class HttpServer {
 public:
  struct Options {
    std::string host = "0.0.0.0";  // a name or address; IPv6 with or without brackets
    int port = 0;                  // 0: a free one
    int retries = 16;  // a port in use: the next one, so often (Spark spark.port.maxRetries)
  };
  HttpServer();
  /// stop().
  ~HttpServer();

  /// Before start(). `prefix` matches itself and all paths below it (`/json` matches /json, /json/
  /// and /json/x); `/` only itself. The longest one wins; no match: status 404, another method:
  /// 405, both before a body is read.
  void handle(const std::string& prefix, HttpHandler handler,
              HttpMethods methods = HttpMethods::kGet);
  /// Listens and returns the port. Once. Errors: the address can't be had, one line.
  Result<int> start(const Options& options);
  /// Ends open connections and joins the threads. Thread: the one that called start().
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::net
