// The queue is a vector that the bus's thread swaps out whole: posting costs a lock and a move,
// delivering one virtual call a batch.
#include "core/status/listener_bus.hpp"

#include <exception>
#include <iterator>
#include <thread>

#include "net/mutex.hpp"

namespace tinderbox::core {
namespace {

constexpr Duration kBetweenWarnings = std::chrono::seconds(60);

}  // namespace

class ListenerBus::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}

  void add(std::shared_ptr<Listener> listener) {
    net::Lock lock(mutex_);
    listeners_.push_back(std::move(listener));
  }

  void start() {
    {
      net::Lock lock(mutex_);
      running_ = true;
    }
    thread_ = std::thread([this] { run(); });
  }

  void post(std::vector<ListenerEvent> events) {
    if (events.empty()) return;
    std::string warning;
    bool wake = false;
    {
      net::Lock lock(mutex_);
      counters_.posted += events.size();
      bool fits = options_.capacity == 0 || waiting_ + events.size() <= options_.capacity;
      if (stopping_ || !fits) {
        counters_.dropped += events.size();
        if (!stopping_) warning = due_warning();
      } else {
        wake = queue_.empty();
        waiting_ += events.size();
        enqueue(std::move(events));
      }
    }
    if (wake) changed_.notify_all();  // now that the bus's thread finds the mutex free
    if (!warning.empty()) options_.warn(warning);
  }

  void drain() {
    net::Lock lock(mutex_);
    uint64_t until = counters_.posted - counters_.dropped;
    while (running_ && counters_.delivered < until) changed_.wait(lock);
  }

  void stop() {
    {
      net::Lock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  Counters counters() const {
    net::Lock lock(mutex_);
    return counters_;
  }

 private:
  void enqueue(std::vector<ListenerEvent> events) REQUIRES(mutex_) {
    if (queue_.empty())
      queue_ = std::move(events);
    else
      queue_.insert(queue_.end(), std::make_move_iterator(events.begin()),
                    std::make_move_iterator(events.end()));
  }

  /// Empty: the last one is too recent.
  std::string due_warning() REQUIRES(mutex_) {
    if (!options_.warn || !options_.now) return {};
    Time now = options_.now();
    if (warned_ && now - last_warning_ < kBetweenWarnings) return {};
    uint64_t dropped = counters_.dropped - dropped_when_warned_;
    warned_ = true;
    last_warning_ = now;
    dropped_when_warned_ = counters_.dropped;
    return "Dropped " + std::to_string(dropped) +
           " listener events: listeners are slower than the events come; pages and logs will miss "
           "them. spark.scheduler.listenerbus.eventqueue.capacity is " +
           std::to_string(options_.capacity);
  }

  void run() {
    std::vector<ListenerEvent> batch;
    std::vector<std::shared_ptr<Listener>> listeners;
    for (;;) {
      {
        net::Lock lock(mutex_);
        counters_.delivered += batch.size();
        waiting_ -= batch.size();
        if (!batch.empty()) changed_.notify_all();
        batch.clear();
        while (queue_.empty() && !stopping_) changed_.wait(lock);
        if (queue_.empty()) {
          running_ = false;
          changed_.notify_all();
          return;
        }
        batch.swap(queue_);
        listeners = listeners_;
      }
      if (options_.before_batch) options_.before_batch();
      for (auto& listener : listeners) deliver(*listener, batch);
    }
  }

  void deliver(Listener& listener, std::span<const ListenerEvent> batch) {
    std::string what = "something unknown";
    try {
      return listener.on_events(batch);
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
    }
    if (options_.warn) options_.warn("A listener threw: " + what);
  }

  // Constant after start().
  Options options_;
  std::thread thread_;

  mutable net::Mutex mutex_;
  net::Condition changed_;
  std::vector<std::shared_ptr<Listener>> listeners_ GUARDED_BY(mutex_);
  std::vector<ListenerEvent> queue_ GUARDED_BY(mutex_);
  size_t waiting_ GUARDED_BY(mutex_) = 0;  // queued and being delivered
  bool running_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool warned_ GUARDED_BY(mutex_) = false;
  Time last_warning_ GUARDED_BY(mutex_){};
  uint64_t dropped_when_warned_ GUARDED_BY(mutex_) = 0;
  Counters counters_ GUARDED_BY(mutex_);
};

ListenerBus::ListenerBus(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ListenerBus::~ListenerBus() { stop(); }
void ListenerBus::add(std::shared_ptr<Listener> listener) { impl_->add(std::move(listener)); }
void ListenerBus::start() { impl_->start(); }
void ListenerBus::post(std::vector<ListenerEvent> events) { impl_->post(std::move(events)); }
void ListenerBus::post(ListenerEvent event) {
  std::vector<ListenerEvent> one;
  one.push_back(std::move(event));
  impl_->post(std::move(one));
}
void ListenerBus::drain() { impl_->drain(); }
void ListenerBus::stop() { impl_->stop(); }
ListenerBus::Counters ListenerBus::counters() const { return impl_->counters(); }

}  // namespace tinderbox::core
