#include "cmd/bench/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "conf/keys.hpp"

namespace tinderbox::cmd {

void report(const char* name, double value, const char* unit) {
  std::printf("BENCH %s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

double seconds_between(Time a, Time b) { return std::chrono::duration<double>(b - a).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void CountingListener::on_events(std::span<const core::ListenerEvent> events) {
  for (const core::ListenerEvent& e : events) {
    started_ += std::holds_alternative<core::TaskStarted>(e);
    ended_ += std::holds_alternative<core::TaskEnded>(e);
    const auto* beat = std::get_if<core::ExecutorMetricsUpdated>(&e);
    if (!beat) continue;
    net::Lock lock(mutex_);
    beats_[beat->executor.value].push_back(beat->resident_bytes);
    changed_.notify_all();
  }
}

int64_t CountingListener::idle_memory() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  const auto twice = [](const auto& beats) { return beats.second.size() > 1; };
  net::Lock lock(mutex_);
  beats_.clear();
  while (std::none_of(beats_.begin(), beats_.end(), twice)) {
    const auto left = std::chrono::duration_cast<Duration>(end - Clock::now());
    if (left <= Duration{0}) return 0;
    changed_.wait_for(lock, left);
  }
  int64_t largest = 0;
  for (const auto& [executor, beats] : beats_) largest = std::max(largest, beats.back());
  return largest;
}

BenchSession::BenchSession(const BenchOptions& options, const char* master) {
  conf::Conf conf = process_conf(options.conf)
                        .with(conf::kMaster, options.master.empty() ? master : options.master)
                        .with(conf::kAppName, "bench")
                        .with(conf::kListenerQueueCapacity, "0");
  runtime = core::DriverRuntime::start(conf, {counter});
  context = std::make_unique<Context>(*runtime);
}

BenchSession::~BenchSession() {
  context.reset();
  runtime->stop();
}

}  // namespace tinderbox::cmd
