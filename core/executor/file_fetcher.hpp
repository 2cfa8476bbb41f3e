// Fetches files that the driver ships to a running executor, beside the executor's loop.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include "net/mutex.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// fetch_app_files outside tests.
using FetchFiles = std::function<Result<bool>(const AddFiles&, const std::atomic<bool>& cancelled)>;

/// Fetches one AddFiles after the other on a thread of its own, which the first one begins: a loop
/// would hear nothing meanwhile. Thread: its owner's.
class FileFetcher {
 public:
  using OnFetched = std::function<void(Result<bool>)>;
  /// `on_fetched` is called on the fetching thread, once for each add(), in order.
  FileFetcher(FetchFiles fetch, OnFetched on_fetched);
  /// Cancels, and waits for the thread however long it takes.
  ~FileFetcher();
  void add(AddFiles files);
  /// Cancels; nothing that waits is fetched. False: a fetch has not looked at its mark within
  /// `patience`, and goes on.
  bool stop_within(std::chrono::milliseconds patience);

 private:
  void cancel();
  void join();
  void work();

  const FetchFiles fetch_;
  const OnFetched on_fetched_;
  std::atomic<bool> cancelled_{false};
  net::Mutex mutex_;
  net::Condition changed_;
  std::deque<AddFiles> queue_ GUARDED_BY(mutex_);
  bool working_ GUARDED_BY(mutex_) = false;  // the thread has not come to its end
  std::thread thread_;
};

}  // namespace tinderbox::core
