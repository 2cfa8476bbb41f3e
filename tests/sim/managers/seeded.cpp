// A cluster manager that replaces what ends, late, and does not always say what it knows.
#include <algorithm>
#include <map>

#include "tests/sim/managers/manager.hpp"

namespace tinderbox::sim {

using namespace core;

namespace {

class SeededManager final : public Manager {
 public:
  SeededManager(Surroundings in, Fleet& fleet, SimDriver& driver, const Scenario& scenario)
      : in_(in), fleet_(fleet), driver_(driver), scenario_(scenario) {}

  void start() override {}

  void driver_started() override {
    mine_.clear();
    wanted_ = {};
    driver_.open(AppId{"app-" + std::to_string(in_.application.number)});
    if (in_.settings.allocation || in_.application.number > 1)
      return;  // it asks; those before are replaced
    for (int32_t i = 0; i < scenario_.executors; ++i)
      start_later(host_name(scenario_, i), kDefaultProfile,
                  in_.world.random().between(Duration{0}, Duration{500ms}));
  }

  void want(const RequestTotalExecutors& wanted) override {
    wanted_ = wanted;
    fill();
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
      if (SimExecutor& e = *fleet_.all()[i]; e.alive() && e.process()->host == host) {
        in_.checks.reached(Path::HostLost);
        e.die(1, true, "its host is gone");
      }
    losing_.clear();
    tell(BackendWorkerRemoved{host, "it is gone"});
  }

  bool decommission_host(const std::string& host, Duration length) override {
    bool any = false;
    for (const auto& e : fleet_.all()) {
      if (!e->alive() || !e->current() || e->process()->host != host) continue;
      tell(BackendExecutorDecommissioned{ExecutorId{e->id()}, "the host goes", host});
      any = true;
    }
    in_.world.after(nullptr, length, [this, host] { lose_host(host); });
    return any;
  }

  std::string left_over() const override { return {}; }
  bool begin(const Fault&) override { return false; }

 private:
  Duration late() { return in_.world.random().between(Duration{0}, in_.settings.manager_delay); }
  Duration start_up() {
    return std::min<Duration>(in_.world.random().long_tailed(in_.settings.start_delay), 20s);
  }
  void tell(DriverEvent event) {
    in_.world.after(driver_.process(), late(),
                    [this, event = std::move(event)] { driver_.post(event); });
  }

  /// Dynamic allocation: as many as are wanted run, or are on their way.
  void fill() {
    for (const auto& [profile, total] : wanted_.totals)
      for (int32_t& mine = mine_[profile]; mine < total; ++mine)
        start_later(host_name(scenario_, next_place_++), profile, start_up());
  }

  ExecutorHas has(int32_t profile) const {
    int32_t gpus = in_.settings.gpus;
    for (const ProfileRequest& r : wanted_.profiles)
      if (r.profile == profile) gpus = r.resources.contains(kGpu) ? r.resources.at(kGpu) : 0;
    ExecutorHas has{profile, {}};
    for (int32_t i = 0; i < gpus; ++i) has.resources[kGpu].push_back(std::to_string(i));
    return has;
  }

  void start_later(const std::string& host, int32_t profile, Duration delay) {
    in_.world.after(nullptr, delay, [this, host, profile, run = in_.application.number] {
      if (in_.settings.allocation && run != in_.application.number) return;
      const std::string id = std::to_string(next_++);
      fleet_.start(in_.application.id, id, host, has(profile),
                   [this, id, host, profile, run](int code, const std::string& reason) {
                     exited(id, host, profile, run, code, reason);
                   });
    });
  }

  void exited(const std::string& id, const std::string& host, int32_t profile, int32_t run,
              int code, const std::string& reason) {
    if (!in_.settings.allocation) {
      start_later(host, kDefaultProfile, start_up());
    } else if (run == in_.application.number) {
      --mine_[profile];
      fill();
    }
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
  int32_t next_ = 0, next_place_ = 0;
  // Executors of the present application, by resource profile.
  RequestTotalExecutors wanted_;
  std::map<int32_t, int32_t> mine_;
  std::string losing_;  // this host's executors die with it
};

}  // namespace

std::unique_ptr<Manager> make_seeded_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                             const Scenario& scenario) {
  return std::make_unique<SeededManager>(in, fleet, driver, scenario);
}

std::unique_ptr<Manager> make_manager(Surroundings in, Fleet& fleet, SimDriver& driver,
                                      const Scenario& scenario) {
  switch (scenario.manager) {
    case ManagerKind::Standalone:
      return make_standalone_manager(in, fleet, driver, scenario);
    case ManagerKind::Kubernetes:
      return make_kubernetes_manager(in, fleet, driver, scenario);
    default:
      return make_seeded_manager(in, fleet, driver, scenario);
  }
}

}  // namespace tinderbox::sim
