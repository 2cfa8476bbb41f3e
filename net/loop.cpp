// The poll loop: one thread waits for sockets, descriptors, timers and an inbox.
//
// A ZeroMQ socket is waited for by its descriptor (ZMQ_FD), which is readable while the socket has
// work that it did not look at yet. zmq_poll would ask each socket for its events before and after
// each wait, two system calls a socket; here only those that were signalled are read. A send looks
// at that work as well and so may take the signal of a message that came: such a socket is read
// once more before the loop waits.
#include "net/loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "net/mutex.hpp"

namespace tinderbox::net {
namespace {

/// Of a loop that catches up, at a time. Unit: milliseconds.
constexpr int kLook = 10;

/// Wall time at the first call, advanced by the steady clock: it never goes back.
Time read_clock() {
  using namespace std::chrono;
  static const auto steady_start = steady_clock::now();
  static const auto wall_start = system_clock::now().time_since_epoch();
  return Time(duration_cast<Duration>(wall_start + (steady_clock::now() - steady_start)));
}

class RealPollLoop final : public PollLoop {
 public:
  explicit RealPollLoop(PollLoopOptions options)
      : options_(options), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
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
      Time now = read_clock();
      if (std::max(late(now), overslept_) >= options_.stopped) now = catch_up();
      run_timers(now);
      look_again();
      if (!stopped_.load(std::memory_order_acquire)) sleep();
    }
    stopped_.store(false, std::memory_order_release);
  }

  void stop() override {
    stopped_.store(true, std::memory_order_release);
    wake();
  }

  void watch(int fd, Task ready) override {
    fds_.push_back({fd, POLLIN, 0});
    watches_.push_back(std::make_shared<Watch>(Watch{std::move(ready)}));
  }
  void unwatch(int fd) override {
    for (size_t i = 0; i < fds_.size(); ++i)
      if (fds_[i].fd == fd) return erase(i);
  }
  void watch_socket(void* socket, Task ready) override {
    int fd = -1;
    size_t size = sizeof fd;
    zmq_getsockopt(socket, ZMQ_FD, &fd, &size);
    watch(fd, std::move(ready));
    sockets_[socket] = watches_.back();
    used(socket);
  }
  void unwatch_socket(void* socket) override {
    const auto it = sockets_.find(socket);
    if (it == sockets_.end()) return;
    const std::shared_ptr<Watch> watch = it->second;
    sockets_.erase(it);
    erase(
        static_cast<size_t>(std::find(watches_.begin(), watches_.end(), watch) - watches_.begin()));
  }
  void used(void* socket) override {
    const auto it = sockets_.find(socket);
    if (it == sockets_.end()) return;
    it->second->used = true;
    if (!std::exchange(it->second->listed, true)) used_.push_back(it->second);
  }
  void drained(void* socket) override {
    if (const auto it = sockets_.find(socket); it != sockets_.end()) it->second->used = false;
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
    bool used = false;    // a socket that is to be read before the loop waits
    bool listed = false;  // in used_
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

  /// How long the first timer is overdue; negative: it is not due yet, or there is none.
  Duration late(Time now) const {
    return timers_.empty() ? Duration::min() : now - timers_.front().due;
  }

  void sleep() {
    const Time start = read_clock();
    const int ms = timeout(start);
    wait(ms);
    overslept_ = ms < 0 ? Duration::zero() : read_clock() - start - std::chrono::milliseconds(ms);
  }

  /// The time at its end.
  Time catch_up() {
    Time now = read_clock();
    const Time until = now + options_.catch_up;
    while (now < until && !stopped_.load(std::memory_order_acquire)) {
      wait(kLook);
      look_again();
      run_inbox();
      now = read_clock();
    }
    return now;
  }

  void run_timers(Time now) {
    while (!timers_.empty() && timers_.front().due <= now) {
      std::pop_heap(timers_.begin(), timers_.end(), later);
      Task task = std::move(timers_.back().task);
      timers_.pop_back();
      task();
    }
  }

  /// Unit: milliseconds, as poll wants; rounded up so that no timer spins. No longer than what
  /// tells a stop, so that one is noticed even if the first timer was due near its end.
  int timeout(Time now) const {
    if (timers_.empty()) return -1;
    const Duration left = timers_.front().due - now;
    if (left <= Duration::zero()) return 0;
    const int64_t longest = std::max<int64_t>(options_.stopped.count(), 1000);
    return static_cast<int>((std::min(left.count(), longest) + 999) / 1000);
  }

  /// What is used meanwhile has its turn after the timers.
  void look_again() {
    due_.clear();
    due_.swap(used_);
    for (const auto& watch : due_) watch->listed = false;
    run_due([](Watch& watch) { return std::exchange(watch.used, false); });
  }

  /// Handlers may watch and unwatch: what is ready is copied out before any runs.
  void wait(int timeout) {
    const bool busy =
        std::any_of(used_.begin(), used_.end(), [](const auto& watch) { return watch->used; });
    const int n = ::poll(fds_.data(), fds_.size(), busy ? 0 : timeout);
    if (n <= 0) return;
    due_.clear();
    for (size_t i = 0; i < fds_.size(); ++i)
      if (fds_[i].revents) due_.push_back(watches_[i]);
    run_due([](Watch&) { return true; });
  }

  template <class P>
  void run_due(P wanted) {
    for (auto& watch : due_)
      if (!watch->over && wanted(*watch)) watch->ready();
  }

  void erase(size_t i) {
    watches_[i]->over = true;  // it may be in due_, and even running
    fds_.erase(fds_.begin() + static_cast<long>(i));
    watches_.erase(watches_.begin() + static_cast<long>(i));
  }

  const PollLoopOptions options_;
  int wake_fd_;
  std::atomic<bool> stopped_{false};
  std::vector<pollfd> fds_;
  std::vector<std::shared_ptr<Watch>> watches_;  // as many as fds_
  std::unordered_map<void*, std::shared_ptr<Watch>> sockets_;
  std::vector<std::shared_ptr<Watch>> used_, due_;
  std::vector<Timer> timers_;  // a heap, earliest first
  Duration overslept_{};       // at the last wait
  uint64_t sequence_ = 0;
  std::vector<Task> running_;
  Mutex inbox_mutex_;
  std::vector<Task> inbox_ GUARDED_BY(inbox_mutex_);
};

}  // namespace

std::unique_ptr<PollLoop> make_poll_loop(PollLoopOptions options) {
  return std::make_unique<RealPollLoop>(options);
}

}  // namespace tinderbox::net
