#include "net/http/http_pool.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include "net/http/url.hpp"

namespace tinderbox::net {
namespace {

constexpr size_t kIdle = 16;  // connections kept of one server
constexpr int kMostTries = 8, kMostConnects = 4;
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr Duration kLook = std::chrono::milliseconds(100);

bool passes(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/// Between half of `longest` and all of it: those who failed together must not come back together.
Duration some_of(Duration longest) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return longest / 2 +
         Duration(std::uniform_int_distribution<int64_t>(0, longest.count() / 2)(random));
}

HttpPatience completed(HttpPatience patience) {
  if (!patience.cancelled) patience.cancelled = [] { return false; };
  if (!patience.pause)
    patience.pause = [cancelled = patience.cancelled](Duration left) {
      for (; left > Duration::zero() && !cancelled(); left -= kLook)
        std::this_thread::sleep_for(std::min(left, kLook));
    };
  return patience;
}

}  // namespace

void HttpInterrupt::interrupt() {
  Lock lock(mutex_);
  interrupted_ = true;
  if (session_) session_->cancel();
}

bool HttpInterrupt::interrupted() {
  Lock lock(mutex_);
  return interrupted_;
}

bool HttpInterrupt::enter(HttpSession* session) {
  Lock lock(mutex_);
  session_ = interrupted_ ? nullptr : session;
  return !interrupted_;
}

void HttpInterrupt::leave() {
  Lock lock(mutex_);
  session_ = nullptr;
}

bool HttpRetries::again(const Result<HttpReply>& reply, HttpSession::Fault fault) {
  using Fault = HttpSession::Fault;
  if (reply ? !passes(reply->status) : fault == Fault::Hopeless || fault == Fault::None)
    return false;
  ++tries_;
  if (tries_ >= (!reply && fault == Fault::Unreachable ? kMostConnects : kMostTries)) return false;
  if (patience_.cancelled()) return false;
  patience_.pause(some_of(std::min(kFirstPause * (1 << (tries_ - 1)), kLongestPause)));
  return !patience_.cancelled();
}

HttpPool::HttpPool(HttpPatience patience) : patience_(completed(std::move(patience))) {}
HttpPool::~HttpPool() = default;

Result<HttpReply> HttpPool::call(const std::string& url, HttpCall call) {
  call.target = target_of(url);
  const std::string server = server_of(url);
  HttpRetries retries(patience_);
  while (true) {
    std::unique_ptr<HttpSession> session = take(server);
    Result<HttpReply> reply = session->call(call);
    const HttpSession::Fault fault = session->fault();
    if (reply)
      give_back(server, std::move(session));
    else
      forget_idle(server);
    if (!retries.again(reply, fault)) return reply;
  }
}

Result<HttpReply> HttpPool::stream(const std::string& url, HttpCall call,
                                   const HttpSession::Sink& sink, const HttpSession::Head& head,
                                   HttpInterrupt& interrupt, HttpSession::Fault& fault) {
  call.target = target_of(url);
  const std::string server = server_of(url);
  std::unique_ptr<HttpSession> session = take(server);
  fault = HttpSession::Fault::None;
  if (!interrupt.enter(session.get())) return Error{"the request was cancelled"};
  Result<HttpReply> reply = session->stream(call, sink, head);
  interrupt.leave();
  fault = session->fault();
  if (reply && !interrupt.interrupted()) give_back(server, std::move(session));
  if (!reply) forget_idle(server);
  return reply;
}

std::unique_ptr<HttpSession> HttpPool::take(const std::string& server) {
  {
    Lock lock(mutex_);
    if (auto& idle = idle_[server]; !idle.empty()) {
      std::unique_ptr<HttpSession> session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  HttpServerAddress address;
  address.url = server;
  address.answer_timeout = patience_.answer_timeout;
  return std::make_unique<HttpSession>(std::move(address));
}

void HttpPool::give_back(const std::string& server, std::unique_ptr<HttpSession> session) {
  Lock lock(mutex_);
  if (auto& idle = idle_[server]; idle.size() < kIdle) idle.push_back(std::move(session));
}

/// The others have been idle as long, and may be as dead as one that gave no answer: a server that
/// closed them told so inside TLS only.
void HttpPool::forget_idle(const std::string& server) {
  std::vector<std::unique_ptr<HttpSession>> dead;  // they end after the lock
  Lock lock(mutex_);
  dead.swap(idle_[server]);
}

}  // namespace tinderbox::net
