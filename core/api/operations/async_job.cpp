#include "core/api/operations/async_job.hpp"

#include <thread>

#include "core/status/status_tracker.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {
namespace {

/// How often a cancelled job is cancelled again: it may begin its next one meanwhile.
constexpr std::chrono::milliseconds kAgain{10};

}  // namespace

class AsyncJob::Impl {
 public:
  Impl(Context& context, std::function<void()> body)
      : context_(context),
        tag_("tinderbox-async-" + std::to_string(context.new_async_number())),
        thread_([this, body = std::move(body), properties = context.local_properties()] {
          context_.set_local_properties(properties);
          context_.add_job_tag(tag_);
          run(body);
        }) {}
  ~Impl() { thread_.join(); }

  void cancel() {
    net::Lock lock(mutex_);
    cancelled_ = true;
    while (!done_) {
      lock.unlock();
      context_.cancel_jobs_with_tag(tag_);
      lock.lock();
      if (!done_) ended_.wait_for(lock, kAgain);
    }
  }
  void wait() const {
    net::Lock lock(mutex_);
    while (!done_) ended_.wait(lock);
  }
  bool wait_for(std::chrono::milliseconds time) const {
    net::Lock lock(mutex_);
    while (!done_ && time.count() > 0) time = ended_.wait_some(lock, time);
    return done_;
  }
  bool done() const {
    net::Lock lock(mutex_);
    return done_;
  }
  std::vector<JobId> job_ids() const { return context_.status_tracker().job_ids_for_tag(tag_); }
  void rethrow() const {
    net::Lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::function<void()>& body) {
    std::exception_ptr failure;
    try {
      if (cancelled()) throw JobFailed("Job cancelled before it began");
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    net::Lock lock(mutex_);
    failure_ = failure;
    done_ = true;
    ended_.notify_all();
  }
  bool cancelled() const {
    net::Lock lock(mutex_);
    return cancelled_;
  }

  Context& context_;
  const std::string tag_;
  mutable net::Mutex mutex_;
  mutable net::Condition ended_;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  bool done_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  std::thread thread_;
};

AsyncJob::AsyncJob(Context& context, std::function<void()> body)
    : impl_(std::make_unique<Impl>(context, std::move(body))) {}
AsyncJob::~AsyncJob() = default;
void AsyncJob::cancel() { impl_->cancel(); }
void AsyncJob::wait() const { impl_->wait(); }
bool AsyncJob::wait_for(std::chrono::milliseconds time) const { return impl_->wait_for(time); }
bool AsyncJob::done() const { return impl_->done(); }
std::vector<JobId> AsyncJob::job_ids() const { return impl_->job_ids(); }
void AsyncJob::rethrow() const { impl_->rethrow(); }

}  // namespace tinderbox::core
