// A cluster manager that replaces what ends, late, and does not always say what it knows.
#include <algorithm>

#include "tests/sim/manager.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

class SeededManager final : public Manager {
 public:
  SeededManager(Surroundings in, Fleet& fleet, SimDriver& driver, const Scenario& scenario)
      : in_(in), fleet_(fleet), driver_(driver), scenario_(scenario) {}

  void start() override {
    driver_.open(AppId{"app-1"});
    for (int32_t i = 0; i < scenario_.executors; ++i)
      start_later(host_name(scenario_, i),
                  in_.world.random().between(Duration{0}, Duration{500ms}));
  }

  void kill(const ExecutorId& id) override {
    for (const auto& e : fleet_.all())
      if (e->id() == id.value)
        in_.world.after(nullptr, late(),
                        [e = e.get()] { e->die(143, false, "killed by the cluster manager"); });
  }

  void lose_host(const std::string& host) override {
    losing_ = host;
    for (size_t i = 0; i < fleet_.all().size(); ++i)
      if (SimExecutor& e = *fleet_.all()[i]; e.process()->host == host)
        e.die(1, true, "its host is gone");
    losing_.clear();
    in_.checks.reached(Path::HostLost);
    tell(BackendWorkerRemoved{host, "it is gone"});
  }

  bool begin(const Fault&) override { return false; }

 private:
  Duration late() { return in_.world.random().between(Duration{0}, in_.settings.manager_delay); }
  void tell(DriverEvent event) {
    in_.world.after(driver_.process(), late(),
                    [this, event = std::move(event)] { driver_.post(event); });
  }

  void start_later(const std::string& host, Duration delay) {
    in_.world.after(nullptr, delay, [this, host] {
      const std::string id = std::to_string(next_++);
      fleet_.start(id, host, [this, id, host](int code, const std::string& reason) {
        exited(id, host, code, reason);
      });
    });
  }

  void exited(const std::string& id, const std::string& host, int code, const std::string& reason) {
    start_later(host,
                std::min<Duration>(in_.world.random().long_tailed(in_.settings.start_delay), 20s));
    if (in_.world.random().chance(in_.settings.untold)) return;
    BackendExecutorExited event{ExecutorId{id}, code, reason, {}};
    if (losing_ == host) {
      event.exit_code.reset();
      event.worker_host = host;
    }
    tell(std::move(event));
  }

  Surroundings in_;
  Fleet& fleet_;
  SimDriver& driver_;
  const Scenario& scenario_;
  int32_t next_ = 0;
  std::string losing_;  // this host's executors die with it
};

}  // namespace

std::unique_ptr<Manager> make_seeded_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                             const Scenario& scenario) {
  return std::make_unique<SeededManager>(in, fleet, driver, scenario);
}

}  // namespace tinderbox::sim
