#include "core/deploy/kubernetes/api_service.hpp"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <deque>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "net/mutex.hpp"

namespace tinderbox::core::kubernetes {
namespace {

/// A watch hears a bookmark about once a minute; a silent connection is dead.
constexpr Duration kWatchSilence = std::chrono::seconds(150);
constexpr int kPatience = 5;  // answers 429 in a row

const char* accepted(ApiRequest::Wanted wanted) {
  switch (wanted) {
    case ApiRequest::Wanted::Names:
      return "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    case ApiRequest::Wanted::ListOfNames:
      return "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    case ApiRequest::Wanted::All:
      break;
  }
  return "application/json";
}

net::HttpCall http_call(const ApiRequest& request, const std::string& authorization) {
  net::HttpCall call{request.method, request.path, {}, request.body, request.file};
  call.headers["Accept"] = accepted(request.wanted);
  if (!request.content_type.empty()) call.headers["Content-Type"] = request.content_type;
  if (!authorization.empty()) call.headers["Authorization"] = authorization;
  return call;
}

/// What a server that is too busy asks for.
Duration told_pause(const net::HttpReply& reply) {
  int seconds = 1;
  const auto told = reply.headers.find("retry-after");
  if (told != reply.headers.end()) (void)absl::SimpleAtoi(told->second, &seconds);
  return std::chrono::seconds(std::clamp(seconds, 1, 30));
}

/// A thread's own connection, opened again when the credentials say so.
class Connection {
 public:
  Connection(ApiCredentials& credentials, Duration answer_timeout)
      : credentials_(credentials), answer_timeout_(answer_timeout) {}

  using Exchange = std::function<Result<net::HttpReply>(net::HttpSession&, const net::HttpCall&)>;
  Result<net::HttpReply> exchange(const ApiRequest& request, const Exchange& with) {
    fault_ = net::HttpSession::Fault::Hopeless;
    for (int tries = 0;; ++tries) {
      uint64_t version = 0;
      Result<std::string> authorization = credentials_.authorization(version);
      if (!authorization) return authorization.error();
      Result<bool> ready = open(version);
      if (!ready) return ready.error();
      const std::shared_ptr<net::HttpSession> used = session();
      Result<net::HttpReply> reply = with(*used, http_call(request, *authorization));
      fault_ = used->fault();
      if (!reply) forget();
      if (!reply || reply->status != kUnauthorized || tries > 0) return reply;
      credentials_.refused();
    }
  }
  /// Of the last exchange, when it had no answer.
  net::HttpSession::Fault fault() const { return fault_; }
  void cancel() {
    net::Lock lock(mutex_);
    cancelled_ = true;
    if (session_) session_->cancel();
  }

 private:
  std::shared_ptr<net::HttpSession> session() {
    net::Lock lock(mutex_);
    return session_;
  }
  /// The next exchange looks up the server's address again.
  void forget() {
    net::Lock lock(mutex_);
    session_.reset();
  }
  Result<bool> open(uint64_t version) {
    {
      net::Lock lock(mutex_);
      if (cancelled_) return Error{"the request was cancelled"};
      if (session_ && version == version_) return true;
    }
    Result<ApiCredentials::Session> opened = credentials_.open(answer_timeout_);
    if (!opened) return opened.error();
    net::Lock lock(mutex_);
    if (cancelled_) return Error{"the request was cancelled"};
    session_ = std::move(opened->http);
    version_ = opened->version;
    return true;
  }

  ApiCredentials& credentials_;
  const Duration answer_timeout_;
  net::Mutex mutex_;
  std::shared_ptr<net::HttpSession> session_ GUARDED_BY(mutex_);
  uint64_t version_ GUARDED_BY(mutex_) = 0;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  net::HttpSession::Fault fault_ = net::HttpSession::Fault::None;  // of the exchanging thread
};

/// Cuts a stream into lines and makes events of them.
class WatchLines {
 public:
  WatchLines(uint64_t ticket, const std::function<void(ApiEvent)>& deliver)
      : ticket_(ticket), deliver_(deliver) {}

  bool take(std::string_view part) {
    rest_.append(part);
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (!line(std::string_view(rest_).substr(begin, end - begin))) return false;
    rest_.erase(0, begin);
    return true;
  }
  int status() const { return status_; }
  const std::string& error() const { return error_; }

 private:
  bool line(std::string_view text) {
    const Json event = Json::parse(text, nullptr, false);
    if (!event.is_object() || !event.contains("type") || !event["type"].is_string()) return true;
    const std::string type = event["type"].get<std::string>();
    const Json object = event.value("object", Json::object());
    if (type == "ERROR") {
      status_ = object.value("code", 500);
      error_ = object.value("message", "the watch was ended");
      return false;
    }
    PodView pod = read_pod(object);
    if (type == "BOOKMARK")
      deliver_(WatchBookmark{ticket_, pod.resource_version});
    else
      deliver_(PodChanged{ticket_, type == "DELETED", std::move(pod)});
    return true;
  }

  const uint64_t ticket_;
  const std::function<void(ApiEvent)>& deliver_;
  std::string rest_;
  int status_ = 0;
  std::string error_;
};

}  // namespace

class ApiService::Impl {
 public:
  Impl(Options options, std::function<void(ApiEvent)> deliver)
      : deliver_(std::move(deliver)),
        connections_(options.connections),
        credentials_(std::move(options.access), options.connect_timeout, options.answer_timeout) {}

  ~Impl() {
    {
      net::Lock lock(mutex_);
      ending_ = true;
      for (Worker& w : workers_) w.connection->cancel();
      for (auto& [ticket, w] : watches_) w.connection->cancel();
      wake_.notify_all();
      wake_for_end_.notify_all();
    }
    for (Worker& w : workers_) w.thread.join();
    for (auto& [ticket, w] : watches_) w.thread.join();
    for (std::thread& t : ended_) t.join();
  }

  void call(CallApi what) {
    net::Lock lock(mutex_);
    waiting_.push_back(std::move(what));
    ++calls_[waiting_.back().request.method];
    if (idle_ < static_cast<int>(waiting_.size()) &&
        static_cast<int>(workers_.size()) < connections_) {
      workers_.push_back({std::make_shared<Connection>(credentials_, Duration{}), {}});
      Worker& w = workers_.back();
      w.thread = std::thread([this, c = w.connection] { work(*c); });
    }
    wake_.notify_all();
  }

  void watch(WatchApi what) {
    std::vector<std::thread> ended;
    net::Lock lock(mutex_);
    ended.swap(ended_);
    for (std::thread& t : ended) t.join();
    ++calls_["WATCH"];
    const uint64_t ticket = what.ticket;
    Worker& w = watches_[ticket];
    w.connection = std::make_shared<Connection>(credentials_, kWatchSilence);
    w.thread = std::thread([this, c = w.connection, what = std::move(what)] { follow(*c, what); });
  }

  void stop(uint64_t ticket) {
    net::Lock lock(mutex_);
    const auto found = watches_.find(ticket);
    if (found != watches_.end()) found->second.connection->cancel();
  }

  std::map<std::string, int64_t> calls() const {
    net::Lock lock(mutex_);
    return calls_;
  }

 private:
  struct Worker {
    std::shared_ptr<Connection> connection;
    std::thread thread;
  };

  void work(Connection& connection) {
    for (;;) {
      CallApi next;
      {
        net::Lock lock(mutex_);
        ++idle_;
        while (waiting_.empty() && !ending_) wake_.wait(lock);
        --idle_;
        if (ending_) return;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      deliver_(answer(connection, next));
    }
  }

  ApiAnswered answer(Connection& connection, const CallApi& what) {
    ApiAnswered answered;
    answered.ticket = what.ticket;
    for (int tries = 0; tries < kPatience; ++tries) {
      Result<net::HttpReply> reply = connection.exchange(
          what.request,
          [](net::HttpSession& session, const net::HttpCall& c) { return session.call(c); });
      if (!reply) {
        const net::HttpSession::Fault fault = connection.fault();
        answered.error = reply.error().message;
        answered.arrived = fault == net::HttpSession::Fault::CutShort;
        answered.hopeless = fault == net::HttpSession::Fault::Hopeless;
        return answered;
      }
      answered.status = reply->status;
      answered.body = std::move(reply->body);
      if (answered.status != kTooMany || !wait_as_told(*reply)) return answered;
    }
    return answered;
  }

  /// False: the service ends.
  bool wait_as_told(const net::HttpReply& reply) {
    net::Lock lock(mutex_);
    if (!ending_) wake_for_end_.wait_for(lock, told_pause(reply));
    return !ending_;
  }

  void follow(Connection& connection, const WatchApi& what) {
    WatchLines lines(what.ticket, deliver_);
    Result<net::HttpReply> reply = connection.exchange(
        get_object(what.path), [&](net::HttpSession& session, const net::HttpCall& c) {
          return session.stream(c, [&](std::string_view part) { return lines.take(part); });
        });
    WatchEnded ended{what.ticket, 0, {}, {}};
    if (!reply) {
      ended.error = reply.error().message;
    } else if (reply->status != 200) {
      ended.status = reply->status;
      ended.error = failure(ApiAnswered{what.ticket, reply->status, reply->body, {}});
      if (reply->status == kTooMany) ended.pause = told_pause(*reply);
    } else {
      ended.status = lines.status();
      ended.error = lines.error();
    }
    {
      net::Lock lock(mutex_);
      if (ending_) return;
      const auto self = watches_.find(what.ticket);
      ended_.push_back(std::move(self->second.thread));
      watches_.erase(self);
    }
    deliver_(std::move(ended));
  }

  const std::function<void(ApiEvent)> deliver_;
  const int connections_;
  ApiCredentials credentials_;
  mutable net::Mutex mutex_;
  net::Condition wake_, wake_for_end_;
  std::deque<CallApi> waiting_ GUARDED_BY(mutex_);
  std::list<Worker> workers_ GUARDED_BY(mutex_);
  std::map<uint64_t, Worker> watches_ GUARDED_BY(mutex_);
  std::vector<std::thread> ended_ GUARDED_BY(mutex_);
  std::map<std::string, int64_t> calls_ GUARDED_BY(mutex_);
  int idle_ GUARDED_BY(mutex_) = 0;
  bool ending_ GUARDED_BY(mutex_) = false;
};

ApiService::ApiService(Options options, std::function<void(ApiEvent)> deliver)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(deliver))) {}
ApiService::~ApiService() = default;

void ApiService::call(CallApi what) { impl_->call(std::move(what)); }
void ApiService::watch(WatchApi what) { impl_->watch(std::move(what)); }
void ApiService::stop(const StopWatch& what) { impl_->stop(what.ticket); }
std::map<std::string, int64_t> ApiService::calls() const { return impl_->calls(); }

}  // namespace tinderbox::core::kubernetes
