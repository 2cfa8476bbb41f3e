#include "cmd/bench/session.hpp"

#include <algorithm>
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
  }
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
