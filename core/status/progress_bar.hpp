// Spark's progress bar: [Stage 0:=====>      (12 + 2) / 20]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "conf/conf.hpp"
#include "core/status/listener_bus.hpp"
#include "net/loop.hpp"
#include "net/mutex.hpp"

namespace tinderbox::core {

/// Counts tasks of the running stages and shows at most three of them side by side, each once it
/// has run for 500 ms and not within 500 ms after a job's end. A job's end clears the line. Thread:
/// events and ticks may come on different threads. Source: Spark 4.3 ConsoleProgressBar.
class ProgressBar final : public Listener {
 public:
  /// Replaces the line on the terminal; empty: clears it.
  using Show = std::function<void(std::string_view)>;
  ProgressBar(std::function<int()> width, Show show);

  void on_events(std::span<const ListenerEvent> events) override;
  /// Draws what has changed.
  void tick(Time now);

  /// Ticks every `interval` on `loop` while the bar lives.
  static void run(const std::shared_ptr<ProgressBar>& bar, net::Loop& loop, Duration interval);

 private:
  struct Progress {
    Time submitted{};
    int64_t total = 0, done = 0, active = 0;
  };
  /// What is known and shown.
  struct State {
    std::map<std::pair<StageId, int32_t>, Progress> stages;  // by stage and attempt
    std::string shown;
    Time shown_at{}, job_ended{};
    /// True: the line is to be cleared.
    bool apply(const ListenerEvent& event);
    /// What the line should say; empty: no stage has run for long enough.
    std::string draw(Time now, const std::function<int()>& width) const;

   private:
    Progress* of(const TaskInfo& task);
    bool clear();
  };

  const std::function<int()> width_;
  const Show show_;
  net::Mutex mutex_;
  State state_ GUARDED_BY(mutex_);
};

/// One stage in `width` columns. Source: Spark 4.3 ConsoleProgressBar.show.
std::string progress_of(StageId stage, int64_t done, int64_t active, int64_t total, int width);

/// The bar on stderr, drawn by a thread of its own; null when it is not wanted:
/// spark.ui.showConsoleProgress decides, and while that is not set whether stderr is a terminal.
std::shared_ptr<Listener> make_progress_bar(const conf::Conf& conf);

}  // namespace tinderbox::core
