// Conversations with any server by whole URLs: connections are kept open between calls, and what a
// second try may cure is tried again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http/http_session.hpp"
#include "net/mutex.hpp"

namespace tinderbox::net {

/// How long servers are waited for.
struct HttpPatience {
  Duration answer_timeout = std::chrono::seconds(60);  // between two parts
  /// Sleeps; the default one wakes up now and then to ask `cancelled`.
  std::function<void(Duration)> pause = {};
  /// Whether the caller's work is not wanted any more. Thread: the one that calls.
  std::function<bool()> cancelled = {};
};

/// Ends a call that another thread waits in, and all that come. Thread: any.
class HttpInterrupt {
 public:
  void interrupt();
  bool interrupted();

 private:
  friend class HttpPool;
  /// False: there must be no call.
  bool enter(HttpSession* session);
  void leave();
  Mutex mutex_;
  HttpSession* session_ GUARDED_BY(mutex_) = nullptr;
  bool interrupted_ GUARDED_BY(mutex_) = false;
};

/// One request's tries: pauses that double from 100 ms to 5 s, 4 tries for a server that can't be
/// reached, 8 for one that breaks off or says that it can't just now (429, 500, 502, 503, 504).
class HttpRetries {
 public:
  explicit HttpRetries(const HttpPatience& patience) : patience_(patience) {}
  /// Whether the request that ended so is to be sent again; waits before it says yes.
  bool again(const Result<HttpReply>& reply, HttpSession::Fault fault);
  /// The last try brought something: those that come count from the beginning.
  void progressed() { tries_ = 0; }

 private:
  const HttpPatience& patience_;
  int tries_ = 0;
};

/// Thread: any.
class HttpPool {
 public:
  explicit HttpPool(HttpPatience patience = {});
  ~HttpPool();
  const HttpPatience& patience() const { return patience_; }

  /// `call.target` is the URL's. Any status is an answer, once it stays after some tries. Errors:
  /// as HttpSession's.
  Result<HttpReply> call(const std::string& url, HttpCall call);
  /// One try of HttpSession::stream(); `fault` says why there was no answer.
  Result<HttpReply> stream(const std::string& url, HttpCall call, const HttpSession::Sink& sink,
                           const HttpSession::Head& head, HttpInterrupt& interrupt,
                           HttpSession::Fault& fault);

 private:
  std::unique_ptr<HttpSession> take(const std::string& server);
  void give_back(const std::string& server, std::unique_ptr<HttpSession> session);
  void forget_idle(const std::string& server);

  const HttpPatience patience_;
  Mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<HttpSession>>> idle_ GUARDED_BY(mutex_);
};

}  // namespace tinderbox::net
