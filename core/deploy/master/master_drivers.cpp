// The master's side of drivers in cluster mode.
#include <algorithm>

#include "core/deploy/master/master.hpp"

namespace tinderbox::core {

/// Clients that ask several masters know by its start that another one may be the one that leads.
std::string Master::not_alive(std::string_view what) const {
  return "Current state is not alive: " + std::string(name_of(state_)) + ". Can only " +
         std::string(what) + " in ALIVE state.";
}

namespace {
/// Empty: it asks for nothing that no worker could have.
std::string why_impossible(const DriverDescription& d) {
  if (d.cores < 0 || d.memory_mib < 0)
    return "a driver cannot have " + std::to_string(d.cores) + " cores and " +
           std::to_string(d.memory_mib) + " MiB";
  for (const auto& [name, amount] : d.resources)
    if (amount <= 0) return "a driver cannot have " + std::to_string(amount) + " of " + name;
  return {};
}
}  // namespace

void Master::handle(const Turn& t, PeerId from, const RequestSubmitDriver& m) {
  SubmitDriverAnswer answer;
  if (state_ != RecoveryState::Alive) {
    answer.message = not_alive("accept driver submissions");
  } else if (std::string why = why_impossible(m.description); !why.empty()) {
    answer.message = std::move(why);
  } else {
    log(t, Level::Info, "Driver submitted " + m.description.command.main_class);
    answer = {true, create_driver(t, m.description), ""};
    answer.message = "Driver successfully submitted as " + answer.id.value;
    schedule(t);
  }
  t.out.push_back(Send<ToClient>{from, answer});
}

DriverId Master::create_driver(const Turn& t, const DriverDescription& d) {
  DriverId id;
  do {
    std::variant<std::string, int64_t> values[] = {compact_date(t.now, options_.zone),
                                                   next_driver_};
    std::string before = std::exchange(id.value, fill_pattern(options_.driver_id_pattern, values));
    if (id.value == before) id.value += "-" + std::to_string(next_driver_);
    ++next_driver_;
  } while (drivers_.contains(id));
  drivers_[id] = {id, d, t.now, DriverState::Submitted, {}, {}};
  persist(t, PersistedDriver{id, d, t.now.time_since_epoch().count()});
  waiting_drivers_.push_back(id);
  return id;
}

void Master::handle(const Turn& t, PeerId from, const RequestKillDriver& m) {
  auto answer = [&](bool success, std::string text) {
    log(t, success ? Level::Info : Level::Warn, text);
    t.out.push_back(Send<ToClient>{from, KillDriverAnswer{m.id, success, std::move(text)}});
  };
  if (state_ != RecoveryState::Alive) return answer(false, not_alive("kill drivers"));
  auto it = drivers_.find(m.id);
  if (it == drivers_.end())
    return answer(false, "Driver " + m.id.value + " has already finished or does not exist");
  auto waiting = std::find(waiting_drivers_.begin(), waiting_drivers_.end(), m.id);
  if (waiting != waiting_drivers_.end()) {
    waiting_drivers_.erase(waiting);
    remove_driver(t, m.id, DriverState::Killed, "");
  } else if (MasterWorker* w = live_worker(it->second.worker)) {
    send(t, *w, KillDriver{m.id});
  }
  answer(true, "Kill request for " + m.id.value + " submitted");
}

void Master::handle(const Turn& t, PeerId from, const RequestDriverStatus& m) {
  DriverStatusAnswer answer;
  auto completed = std::find_if(completed_drivers_.begin(), completed_drivers_.end(),
                                [&](const MasterDriver& d) { return d.id == m.id; });
  auto active = drivers_.find(m.id);
  const MasterDriver* d = active != drivers_.end()                ? &active->second
                          : completed != completed_drivers_.end() ? &*completed
                                                                  : nullptr;
  if (state_ != RecoveryState::Alive) {
    answer.exception = not_alive("request driver status");
  } else if (d) {
    answer.found = true;
    answer.state = d->state;
    answer.worker = d->worker;
    answer.exception = d->exception;
    if (auto w = workers_.find(d->worker); w != workers_.end())
      answer.worker_host_port = w->second.host + ":" + std::to_string(w->second.port);
  }
  t.out.push_back(Send<ToClient>{from, answer});
}

void Master::handle(const Turn& t, PeerId from, const DriverStateChanged& m) {
  if (is_finished(m.state))
    remove_driver(t, m.id, m.state, m.exception);
  else
    log(t, Level::Warn,
        "Received unexpected state update for driver " + m.id.value + ": " +
            std::string(name_of(m.state)));
  // Not before it is in the log: a worker doesn't tell the next master what one has accepted.
  t.out.push_back(Send<ToWorker>{from, DriverStateAccepted{m.request}});
}

void Master::remove_driver(const Turn& t, const DriverId& id, DriverState state,
                           const std::string& exception) {
  auto it = drivers_.find(id);
  if (it == drivers_.end()) {
    log(t, Level::Warn, "Asked to remove unknown driver: " + id.value);
    return;
  }
  log(t, Level::Info, "Removing driver: " + id.value + " (" + std::string(name_of(state)) + ")");
  MasterDriver d = std::move(it->second);
  drivers_.erase(it);
  std::erase(waiting_drivers_, id);
  auto kept = static_cast<size_t>(std::max(0, options_.retained_drivers));
  if (completed_drivers_.size() >= kept) {
    size_t drop = std::min(completed_drivers_.size(), std::max<size_t>(kept / 10, 1));
    completed_drivers_.erase(completed_drivers_.begin(),
                             completed_drivers_.begin() + static_cast<std::ptrdiff_t>(drop));
  }
  d.state = state;
  d.exception = exception;
  if (MasterWorker* w = live_worker(d.worker)) w->remove_driver(d.id);
  persist(t, ForgottenDriver{d.id});
  completed_drivers_.push_back(std::move(d));
  schedule(t);
}

/// A supervised one runs again under another id.
void Master::end_driver(const Turn& t, const DriverId& id, bool supervised,
                        const std::string& why) {
  if (supervised)
    relaunch_driver(t, id);
  else
    remove_driver(t, id, DriverState::Error, why);
}

/// A lost worker's driver goes on under a new id, so that the old one's late news is nobody's.
void Master::relaunch_driver(const Turn& t, const DriverId& id) {
  auto it = drivers_.find(id);
  if (it == drivers_.end()) return;
  DriverDescription d = it->second.description;
  remove_driver(t, id, DriverState::Relaunching, "");
  create_driver(t, d);
  schedule(t);
}

}  // namespace tinderbox::core
