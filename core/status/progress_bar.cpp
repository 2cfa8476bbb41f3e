#include "core/status/progress_bar.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "conf/keys.hpp"
#include "core/machine.hpp"
#include "net/log.hpp"
#include "net/terminal.hpp"

namespace tinderbox::core {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds(500);
// Redrawn unchanged so often, or some terminals' connections are closed as idle.
constexpr Duration kKeepAlive = std::chrono::seconds(60);
constexpr size_t kMaxStages = 3;

/// Ticks on a loop of its own: a terminal that is held up must not hold up the scheduler.
class TerminalBar final : public Listener {
 public:
  explicit TerminalBar(Duration interval) {
    ProgressBar::run(bar_, *loop_, interval);
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~TerminalBar() override {
    loop_->stop();
    thread_.join();
    net::show_status_line({});
  }
  void on_events(std::span<const ListenerEvent> events) override { bar_->on_events(events); }

 private:
  std::shared_ptr<ProgressBar> bar_ =
      std::make_shared<ProgressBar>(net::terminal_width, net::show_status_line);
  std::unique_ptr<net::PollLoop> loop_ = net::make_poll_loop();
  std::thread thread_;
};

}  // namespace

std::string progress_of(StageId stage, int64_t done, int64_t active, int64_t total, int width) {
  std::string head = "[Stage " + std::to_string(stage.value) + ":";
  std::string tail = "(" + std::to_string(done) + " + " + std::to_string(active) + ") / " +
                     std::to_string(total) + "]";
  int64_t room = width - static_cast<int64_t>(head.size() + tail.size());
  if (room <= 0) return head + tail;
  int64_t arrow = total > 0 ? std::min(room * done / total, room) : 0;
  std::string bar(static_cast<size_t>(arrow), '=');
  if (arrow < room) bar += '>';
  bar.resize(static_cast<size_t>(room), ' ');
  return head + bar + tail;
}

ProgressBar::ProgressBar(std::function<int()> width, Show show)
    : width_(std::move(width)), show_(std::move(show)) {}

void ProgressBar::on_events(std::span<const ListenerEvent> events) {
  net::Lock lock(mutex_);
  for (const ListenerEvent& event : events)
    if (state_.apply(event)) show_({});
}

ProgressBar::Progress* ProgressBar::State::of(const TaskInfo& task) {
  auto it = stages.find({task.stage, task.stage_attempt});
  return it == stages.end() ? nullptr : &it->second;
}

bool ProgressBar::State::clear() { return !std::exchange(shown, {}).empty(); }

bool ProgressBar::State::apply(const ListenerEvent& event) {
  auto on_task_end = [&](const TaskEnded& e) {
    Progress* p = of(e.task);
    if (p == nullptr) return false;
    if (p->active > 0) --p->active;
    if (e.kind() == TaskEndKind::Success) ++p->done;
    return false;
  };
  return std::visit(overloaded{[&](const StageSubmitted& e) {
                                 const StageInfo& s = e.stage;
                                 stages[{s.stage, s.attempt}] = {s.submitted, s.num_tasks, 0, 0};
                                 return false;
                               },
                               [&](const StageCompleted& e) {
                                 stages.erase({e.stage.stage, e.stage.attempt});
                                 return false;
                               },
                               [&](const TaskStarted& e) {
                                 if (Progress* p = of(e.task)) ++p->active;
                                 return false;
                               },
                               on_task_end,
                               [&](const JobEnded& e) {
                                 job_ended = e.time;
                                 return clear();
                               },
                               [&](const ApplicationEnded&) { return clear(); },
                               [](const auto&) { return false; }},
                    event);
}

void ProgressBar::tick(Time now) {
  net::Lock lock(mutex_);
  if (now - state_.job_ended < kFirstDelay) return;
  std::string bar = state_.draw(now, width_);
  bool stale = now - state_.shown_at > kKeepAlive;
  if (bar.empty() || (bar == state_.shown && !stale)) return;
  state_.shown = bar;
  state_.shown_at = now;
  show_(bar);
}

std::string ProgressBar::State::draw(Time now, const std::function<int()>& width) const {
  std::vector<std::pair<StageId, Progress>> long_running;
  for (auto& [key, progress] : stages) {
    if (now - progress.submitted <= kFirstDelay || long_running.size() == kMaxStages) continue;
    long_running.emplace_back(key.first, progress);
  }
  std::string bar;
  if (long_running.empty()) return bar;
  int columns = width() / static_cast<int>(long_running.size());
  for (auto& [stage, p] : long_running)
    bar += progress_of(stage, std::min(p.done, p.total), p.active, p.total, columns);
  return bar;
}

void ProgressBar::run(const std::shared_ptr<ProgressBar>& bar, net::Loop& loop, Duration interval) {
  loop.after(interval, [weak = std::weak_ptr<ProgressBar>(bar), &loop, interval] {
    std::shared_ptr<ProgressBar> alive = weak.lock();
    if (!alive) return;
    alive->tick(loop.now());
    run(alive, loop, interval);
  });
}

std::shared_ptr<Listener> make_progress_bar(const conf::Conf& conf) {
  bool wanted = conf.get(conf::kUiShowConsoleProgress).value_or(net::stderr_is_terminal());
  if (!wanted) return nullptr;
  return std::make_shared<TerminalBar>(conf.get(conf::kUiProgressInterval));
}

}  // namespace tinderbox::core
