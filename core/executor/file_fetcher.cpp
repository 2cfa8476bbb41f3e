#include "core/executor/file_fetcher.hpp"

#include <utility>

namespace tinderbox::core {

FileFetcher::FileFetcher(FetchFiles fetch, OnFetched on_fetched)
    : fetch_(std::move(fetch)), on_fetched_(std::move(on_fetched)) {}

FileFetcher::~FileFetcher() {
  cancel();
  join();
}

void FileFetcher::add(AddFiles files) {
  net::Lock lock(mutex_);
  if (cancelled_) return;
  queue_.push_back(std::move(files));
  changed_.notify_all();
  if (thread_.joinable()) return;
  working_ = true;
  thread_ = std::thread([this] { work(); });
}

void FileFetcher::work() {
  net::Lock lock(mutex_);
  while (true) {
    while (queue_.empty() && !cancelled_) changed_.wait(lock);
    if (cancelled_) break;
    const AddFiles files = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    on_fetched_(fetch_(files, cancelled_));
    lock.lock();
  }
  working_ = false;
  changed_.notify_all();
}

void FileFetcher::cancel() {
  net::Lock lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void FileFetcher::join() {
  if (thread_.joinable()) thread_.join();
}

bool FileFetcher::stop_within(std::chrono::milliseconds patience) {
  cancel();
  {
    net::Lock lock(mutex_);
    while (working_ && patience.count() > 0) patience = changed_.wait_some(lock, patience);
    if (working_) return false;
  }
  join();
  return true;
}

}  // namespace tinderbox::core
