#include "core/deploy/kubernetes/submission/store_service.hpp"

#include <thread>

#include "net/http/http_session.hpp"
#include "net/http/url.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core::kubernetes {
namespace {

/// A store may take its time over a large file, once it has all of it.
constexpr Duration kAnswerTimeout = std::chrono::minutes(5);

}  // namespace

class StoreService::Impl {
 public:
  explicit Impl(std::function<void(ApiAnswered)> deliver) : deliver_(std::move(deliver)) {}
  ~Impl() {
    {
      net::Lock lock(mutex_);
      ending_ = true;
      if (session_) session_->cancel();
    }
    if (thread_.joinable()) thread_.join();
  }

  void ask(AskStore what) {
    if (thread_.joinable()) thread_.join();
    net::HttpServerAddress address;
    address.url = net::server_of(what.url);
    address.answer_timeout = kAnswerTimeout;
    net::Lock lock(mutex_);
    session_ = std::make_unique<net::HttpSession>(std::move(address));
    thread_ = std::thread([this, session = session_.get(), what = std::move(what)] {
      ApiAnswered answered = answer(*session, what);
      net::Lock inner(mutex_);
      if (!ending_) deliver_(std::move(answered));
    });
  }

 private:
  static ApiAnswered answer(net::HttpSession& session, const AskStore& what) {
    ApiAnswered answered;
    answered.ticket = what.ticket;
    net::HttpCall call{what.method, net::target_of(what.url), {}, {}, what.file};
    if (what.method == "GET") call.headers["Range"] = "bytes=0-0";
    const Result<net::HttpReply> reply = session.call(call);
    if (reply) {
      answered.status = reply->status;
      answered.body = reply->body;
      return answered;
    }
    answered.error = reply.error().message;
    answered.arrived = session.fault() == net::HttpSession::Fault::CutShort;
    answered.hopeless = session.fault() == net::HttpSession::Fault::Hopeless;
    return answered;
  }

  const std::function<void(ApiAnswered)> deliver_;
  std::thread thread_;
  net::Mutex mutex_;
  std::unique_ptr<net::HttpSession> session_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
};

StoreService::StoreService(std::function<void(ApiAnswered)> deliver)
    : impl_(std::make_unique<Impl>(std::move(deliver))) {}
StoreService::~StoreService() = default;
void StoreService::ask(AskStore what) { impl_->ask(std::move(what)); }

}  // namespace tinderbox::core::kubernetes
