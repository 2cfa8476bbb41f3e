// All executors of a run, dead ones too: whoever starts one gets it from here.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/roles/executor.hpp"

namespace tinderbox::sim {

class Fleet {
 public:
  explicit Fleet(Surroundings in) : in_(in) {}
  /// Runs from the next moment on.
  SimExecutor& start(const AppId& app, const std::string& id, const std::string& host,
                     ExecutorHas has, SimExecutor::OnExit on_exit) {
    const bool fails = std::exchange(build_fails_, false);
    const auto first_peer = static_cast<PeerId>(1000 * (executors_.size() + 1));
    executors_.push_back(std::make_unique<SimExecutor>(in_, app, id, host, first_peer, fails,
                                                       std::move(has), std::move(on_exit)));
    SimExecutor& started = *executors_.back();
    in_.world.trace("fleet", "executor " + id + " of " + app.value + " starts on " + host);
    in_.world.after(started.process(), Duration{1}, [&started] { started.start(); });
    return started;
  }
  /// The next one cannot build its services.
  void fail_next() { build_fails_ = true; }
  /// Null: none is alive.
  SimExecutor* pick(int32_t number) const {
    std::vector<SimExecutor*> alive;
    for (const auto& e : executors_)
      if (e->alive()) alive.push_back(e.get());
    return alive.empty() ? nullptr : alive[static_cast<size_t>(number) % alive.size()];
  }
  const std::vector<std::unique_ptr<SimExecutor>>& all() const { return executors_; }

 private:
  Surroundings in_;
  std::vector<std::unique_ptr<SimExecutor>> executors_;
  bool build_fails_ = false;
};

}  // namespace tinderbox::sim
