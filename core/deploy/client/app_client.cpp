#include "core/deploy/client/app_client.hpp"

#include <algorithm>
#include <utility>

#include "core/deploy/states.hpp"

namespace tinderbox::core {
namespace {

std::string address_of(const std::string& url) {
  size_t at = url.find("://");
  return at == std::string::npos ? url : url.substr(at + 3);
}

std::string unresponsive(const AppClientOptions& o) {
  std::string masters;
  for (const std::string& url : o.masters) masters += (masters.empty() ? "" : ", ") + url;
  return "All masters are unresponsive! Giving up. " + masters + " did not answer in " +
         std::to_string(o.registration_attempts) + " tries of " +
         std::to_string(o.registration_timeout / std::chrono::seconds(1)) +
         " s; check --master and that a master runs there";
}

}  // namespace

std::vector<std::string> executor_arguments(const std::string& driver_address) {
  return {"executor",
          "--driver-url",
          "spark://CoarseGrainedScheduler@" + driver_address,
          "--executor-id",
          "{{EXECUTOR_ID}}",
          "--hostname",
          "{{HOSTNAME}}",
          "--cores",
          "{{CORES}}",
          "--app-id",
          "{{APP_ID}}",
          "--worker-url",
          "{{WORKER_URL}}",
          "--resourceProfileId",
          "{{RESOURCE_PROFILE_ID}}"};
}

AppClient::AppClient(AppClientOptions options) : options_(std::move(options)) {}

void AppClient::on(const Event& event, Time, Effects& out) {
  if (ended_) return;
  std::visit([&](const auto& e) { handle(e, out); }, event);
}

void AppClient::handle(const Received<ToApp>& e, Effects& out) {
  std::visit([&](const auto& m) { handle(e.from, m, out); }, e.message);
}

// ---- registration ------------------------------------------------------------------------------

void AppClient::handle(const StartApp&, Effects& out) { register_with_masters(out); }

void AppClient::register_with_masters(Effects& out) {
  ++attempt_;
  try_masters(out);
  out.push_back(
      After<AppTimer>{options_.registration_timeout, {AppTimer::Kind::Register, ++epoch_}});
}

void AppClient::reconnect(Effects& out) {
  try_masters(out);
  out.push_back(After<AppTimer>{pause_, {AppTimer::Kind::Reconnect, ++epoch_}});
  pause_ = std::min(pause_ * 2, options_.longest_reconnect);
}

void AppClient::handle(const AppTimer& e, Effects& out) {
  if (e.epoch != epoch_ || master_) return;
  if (e.kind == AppTimer::Kind::Reconnect) return reconnect(out);
  if (attempt_ >= options_.registration_attempts) return die(unresponsive(options_), out);
  register_with_masters(out);
}

void AppClient::try_masters(Effects& out) {
  drop_attempts(0, out);
  std::vector<std::string> urls = options_.masters;
  if (!master_url_.empty() && std::find(urls.begin(), urls.end(), master_url_) == urls.end())
    urls.push_back(master_url_);
  for (const std::string& url : urls) {
    out.push_back(Log{Level::Info, "Connecting to master " + url + "..."});
    uint64_t ticket = next_ticket_++;
    tickets_[ticket] = {url, false};
    out.push_back(Connect{ticket, address_of(url)});
  }
}

void AppClient::drop_attempts(PeerId but, Effects& out) {
  tickets_.clear();
  for (const auto& [peer, url] : tried_)
    if (peer != but) out.push_back(Disconnect{peer});
  tried_.clear();
}

void AppClient::handle(const Connected& e, Effects& out) {
  auto it = tickets_.find(e.ticket);
  if (it == tickets_.end()) {
    if (e.peer) out.push_back(Disconnect{e.peer});
    return;
  }
  Ticket ticket = std::move(it->second);
  tickets_.erase(it);
  if (!e.peer) return;
  if (ticket.adopt) return adopt(e.peer, out);
  tried_[e.peer] = ticket.url;
  out.push_back(Send<ToMaster>{e.peer, RegisterApplication{{options_.user, app_, 0, options_.token},
                                                           options_.description,
                                                           options_.driver_address,
                                                           next_executor_}});
}

void AppClient::handle(PeerId from, const RegisteredApplication& m, Effects& out) {
  if (!tried_.contains(from)) return;
  master_url_ = m.master_address;
  bool first = app_.value.empty();
  app_ = m.app;
  connected_to(from, out);
  if (first)
    out.push_back(AppRegistered{m.app, m.master_address, m.master_web_ui_url});
  else
    out.push_back(Log{Level::Info, "Registered again with master " + m.master_address});
  if (wanted_) send_wanted(out);
  send_ends(out);
}

void AppClient::connected_to(PeerId master, Effects& out) {
  if (master_ && master_ != master) out.push_back(Disconnect{master_});
  if (master_ != master) ask_again();
  drop_attempts(master, out);
  master_ = master;
  ++epoch_;
}

void AppClient::handle(const PeerLost& e, Effects& out) {
  if (auto tried = tried_.extract(e.peer))
    out.push_back(Log{Level::Warn, "Failed to connect to master " + tried.mapped()});
  if (e.peer != master_) return;
  master_ = 0;
  ask_again();
  out.push_back(Log{
      Level::Warn, "Connection to " + master_url_ + " failed; waiting for master to reconnect..."});
  pause_ = options_.first_reconnect;
  reconnect(out);
}

void AppClient::handle(PeerId, const MasterChanged& m, Effects& out) {
  if (app_.value.empty()) return;
  out.push_back(Log{Level::Info, "Master has changed, new master is at " + m.master_address});
  bool same = master_ && master_url_ == m.master_address;
  master_url_ = m.master_address;
  if (same) return adopt(master_, out);
  for (const auto& [peer, url] : tried_)
    if (url == m.master_address) return adopt(peer, out);
  uint64_t ticket = next_ticket_++;
  tickets_[ticket] = {m.master_address, true};
  out.push_back(Connect{ticket, address_of(m.master_address)});
}

void AppClient::adopt(PeerId master, Effects& out) {
  connected_to(master, out);
  out.push_back(Send<ToMaster>{master, MasterChangeAcknowledged{app_, next_executor_}});
  if (wanted_) send_wanted(out);
  send_ends(out);
}

void AppClient::die(const std::string& reason, Effects& out) {
  drop_attempts(0, out);
  if (master_) out.push_back(Disconnect{master_});
  master_ = 0;
  ended_ = true;
  out.push_back(AppDead{reason});
}

// ---- executors ---------------------------------------------------------------------------------

void AppClient::handle(PeerId from, const ExecutorAdded& m, Effects& out) {
  if (from != master_) return;
  next_executor_ = std::max(next_executor_, m.executor + 1);
  out.push_back(Log{Level::Info, "Executor added: " + app_.value + "/" +
                                     std::to_string(m.executor) + " on " + m.worker.value + " (" +
                                     m.host_port + ") with " + std::to_string(m.cores) +
                                     " core(s)"});
  out.push_back(
      ExecutorGranted{{std::to_string(m.executor)}, m.worker, m.host_port, m.cores, m.memory_mib});
}

void AppClient::handle(PeerId from, const ExecutorUpdated& m, Effects& out) {
  if (from != master_) return;
  out.push_back(Log{Level::Info, "Executor updated: " + app_.value + "/" +
                                     std::to_string(m.executor) + " is now " +
                                     std::string(name_of(m.state)) +
                                     (m.message.empty() ? "" : " (" + m.message + ")")});
  if (is_finished(m.state))
    out.push_back(
        ExecutorGone{{std::to_string(m.executor)}, m.exit_status, m.message, m.worker_host});
  else if (m.state == ExecutorState::Decommissioned)
    out.push_back(ExecutorCondemned{{std::to_string(m.executor)}, m.message, m.worker_host});
}

void AppClient::handle(PeerId from, const ApplicationRemoved& m, Effects& out) {
  if (from == master_) die("Master removed our application: " + m.message, out);
}

void AppClient::handle(PeerId from, const WorkerRemoved& m, Effects& out) {
  if (from == master_) out.push_back(WorkerGone{m.id, m.host, m.message});
}

void AppClient::handle(PeerId from, const SchedulingStatus& m, Effects& out) {
  if (from == master_) out.push_back(SchedulingReason{m.reason});
}

void AppClient::handle(PeerId, const ExecutorRequestAnswer& m, Effects& out) {
  asked_to_end_.erase(m.request);
  if (!m.accepted)
    out.push_back(Log{Level::Warn,
                      "The master refused a request: it does not know application " + app_.value});
}

void AppClient::handle(const WantExecutors& e, Effects& out) {
  wanted_ = e;
  if (!app_.value.empty()) send_wanted(out);
}

/// What was wanted while there is no master is said when there is one again.
void AppClient::send_wanted(Effects& out) {
  if (master_)
    out.push_back(Send<ToMaster>{
        master_, RequestExecutors{next_request_++, app_, wanted_->total, wanted_->profiles}});
}

void AppClient::handle(const EndExecutors& e, Effects& out) {
  for (const ExecutorId& id : e.executors) to_end_.push_back(id.value);
  send_ends(out);
}

/// The driver gives them no work any more: they must not stay because a master was away.
void AppClient::send_ends(Effects& out) {
  if (!master_ || to_end_.empty()) return;
  const uint64_t request = next_request_++;
  asked_to_end_[request] = std::exchange(to_end_, {});
  out.push_back(Send<ToMaster>{master_, KillExecutors{request, app_, asked_to_end_[request]}});
}

/// A master that went before it answered may not have read the question.
void AppClient::ask_again() {
  std::vector<std::string> all;
  for (const auto& [request, executors] : asked_to_end_)
    all.insert(all.end(), executors.begin(), executors.end());
  asked_to_end_.clear();
  to_end_.insert(to_end_.begin(), all.begin(), all.end());
}

void AppClient::handle(const StopApp&, Effects& out) {
  ended_ = true;
  if (master_) out.push_back(Send<ToMaster>{master_, UnregisterApplication{app_}});
  drop_attempts(master_, out);
}

}  // namespace tinderbox::core
