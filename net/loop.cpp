// The poll loop: one thread waits for sockets, descriptors, timers and an inbox.
#include "net/loop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "net/mutex.hpp"

namespace tinderbox::net {
namespace {

/// Wall time at the first call, advanced by the steady clock: it never goes back.
Time read_clock() {
  using namespace std::chrono;
  static const auto steady_start = steady_clock::now();
  static const auto wall_start = system_clock::now().time_since_epoch();
  return Time(duration_cast<Duration>(wall_start + (steady_clock::now() - steady_start)));
}

class RealPollLoop final : public PollLoop {
 public:
  RealPollLoop() : wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (wake_fd_ < 0) throw std::runtime_error("eventfd: no descriptor left");
    watch(wake_fd_, [this] { drain_wake_fd(); });
  }
  ~RealPollLoop() override { ::close(wake_fd_); }

  Time now() const override { return read_clock(); }

  void after(Duration delay, Task task) override {
    timers_.push_back({read_clock() + delay, sequence_++, std::move(task)});
    std::push_heap(timers_.begin(), timers_.end(), later);
  }

  void post(Task task) override {
    bool was_empty;
    {
      Lock lock(inbox_mutex_);
      was_empty = inbox_.empty();
      inbox_.push_back(std::move(task));
    }
    if (was_empty) wake();
  }

  void run() override {
    while (!stopped_.load(std::memory_order_acquire)) {
      run_inbox();
      run_timers();
      if (!stopped_.load(std::memory_order_acquire)) poll();
    }
    stopped_.store(false, std::memory_order_release);
  }

  void stop() override {
    stopped_.store(true, std::memory_order_release);
    wake();
  }

  void watch(int fd, Task ready) override {
    items_.push_back({nullptr, fd, ZMQ_POLLIN, 0});
    ready_.push_back(std::make_shared<Watch>(Watch{std::move(ready)}));
  }
  void unwatch(int fd) override {
    erase_if([&](const zmq_pollitem_t& i) { return !i.socket && i.fd == fd; });
  }
  void watch_socket(void* socket, Task ready) override {
    items_.push_back({socket, 0, ZMQ_POLLIN, 0});
    ready_.push_back(std::make_shared<Watch>(Watch{std::move(ready)}));
  }
  void unwatch_socket(void* socket) override {
    erase_if([&](const zmq_pollitem_t& i) { return i.socket == socket; });
  }

 private:
  struct Timer {
    Time due;
    uint64_t sequence;
    Task task;
  };
  struct Watch {
    Task ready;
    bool over = false;
  };
  static bool later(const Timer& a, const Timer& b) {
    return std::tie(a.due, a.sequence) > std::tie(b.due, b.sequence);
  }

  void wake() {
    uint64_t one = 1;
    [[maybe_unused]] ssize_t n = ::write(wake_fd_, &one, sizeof one);
  }
  void drain_wake_fd() {
    uint64_t count;
    [[maybe_unused]] ssize_t n = ::read(wake_fd_, &count, sizeof count);
  }

  void run_inbox() {
    {
      Lock lock(inbox_mutex_);
      running_.swap(inbox_);
    }
    for (Task& task : running_) task();
    running_.clear();
  }

  void run_timers() {
    if (timers_.empty()) return;
    Time now = read_clock();
    while (!timers_.empty() && timers_.front().due <= now) {
      std::pop_heap(timers_.begin(), timers_.end(), later);
      Task task = std::move(timers_.back().task);
      timers_.pop_back();
      task();
    }
  }

  /// Unit: milliseconds, as zmq_poll wants; rounded up so that no timer spins.
  long timeout() const {
    if (timers_.empty()) return -1;
    auto left = timers_.front().due - read_clock();
    if (left <= Duration::zero()) return 0;
    return static_cast<long>((left.count() + 999) / 1000);
  }

  /// Handlers may watch and unwatch: what is ready is copied out before any runs.
  void poll() {
    int n = zmq_poll(items_.data(), static_cast<int>(items_.size()), timeout());
    if (n <= 0) return;
    due_.clear();
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].revents) due_.push_back(ready_[i]);
    for (auto& watch : due_)
      if (!watch->over) watch->ready();
  }

  template <class F>
  void erase_if(F match) {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!match(items_[i])) continue;
      ready_[i]->over = true;  // it may be in due_, and even running
      items_.erase(items_.begin() + static_cast<long>(i));
      ready_.erase(ready_.begin() + static_cast<long>(i));
      return;
    }
  }

  int wake_fd_;
  std::atomic<bool> stopped_{false};
  std::vector<zmq_pollitem_t> items_;
  std::vector<std::shared_ptr<Watch>> ready_;  // as many as items_
  std::vector<std::shared_ptr<Watch>> due_;
  std::vector<Timer> timers_;  // a heap, earliest first
  uint64_t sequence_ = 0;
  std::vector<Task> running_;
  Mutex inbox_mutex_;
  std::vector<Task> inbox_ GUARDED_BY(inbox_mutex_);
};

}  // namespace

std::unique_ptr<PollLoop> make_poll_loop() { return std::make_unique<RealPollLoop>(); }

}  // namespace tinderbox::net
