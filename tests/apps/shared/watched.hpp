// A listener of a test's application that lets a scope look on.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "core/status/listener_bus.hpp"

namespace tinderbox {

class Watched : public core::Listener {
 public:
  using Watch = std::function<void(const core::ListenerEvent&)>;

  /// Ends the watching: what the watch refers to may go after it.
  class Scope {
   public:
    explicit Scope(Watched& watched) : watched_(watched) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { watched_.set_watch({}); }

   private:
    Watched& watched_;
  };

  /// `watch` sees each event from now on, on the listener's thread, with `mutex_` held.
  [[nodiscard]] Scope watch(Watch watch) {
    set_watch(std::move(watch));
    return Scope(*this);
  }

 protected:
  /// With `mutex_` held.
  void show(const core::ListenerEvent& event) {
    if (watch_) watch_(event);
  }
  std::mutex mutex_;

 private:
  void set_watch(Watch watch) {
    std::lock_guard lock(mutex_);
    watch_ = std::move(watch);
  }
  Watch watch_;
};

}  // namespace tinderbox
