#include "core/deploy/client/submission_client.hpp"

#include <algorithm>

#include "core/status/exit_codes.hpp"

namespace tinderbox::core {
namespace {

bool is_terminal(DriverState s) {
  return s == DriverState::Finished || s == DriverState::Failed || s == DriverState::Killed ||
         s == DriverState::Error;
}

}  // namespace

const char* driver_state_name(DriverState state) {
  constexpr const char* names[] = {"SUBMITTED", "RUNNING", "FINISHED", "RELAUNCHING",
                                   "UNKNOWN",   "KILLED",  "FAILED",   "ERROR"};
  size_t i = static_cast<size_t>(state);
  return i < std::size(names) ? names[i] : "UNKNOWN";
}

void SubmissionClient::on(const Event& event, Time, Effects& out) {
  if (!ended_) std::visit([&](const auto& e) { this->on(e, out); }, event);
}

void SubmissionClient::on(const StartSubmission&, Effects& out) {
  peers_.assign(options_.masters.size(), 0);
  waiting_ = peers_.size();
  for (size_t i = 0; i < peers_.size(); ++i) out.push_back(Connect{i, options_.masters[i]});
  out.push_back(
      After<SubmissionTimer>{options_.answer_timeout, {SubmissionTimer::Kind::Answer, asked_}});
}

void SubmissionClient::on(const Connected& e, Effects& out) {
  if (e.peer == 0) return master_gone(options_.masters[e.ticket], out);
  peers_[e.ticket] = e.peer;
  ToMaster request = std::visit([](const auto& r) { return ToMaster(r); }, options_.request);
  out.push_back(Send<ToMaster>{e.peer, std::move(request)});
}

void SubmissionClient::on(const PeerLost& e, Effects& out) {
  auto peer = std::find(peers_.begin(), peers_.end(), e.peer);
  if (peer == peers_.end()) return;
  std::string address = options_.masters[static_cast<size_t>(peer - peers_.begin())];
  *peer = 0;
  if (leader_ == e.peer)
    return end(kExitFailure,
               "Lost the master at " + address + "; ask it for " + driver_.value +
                   " with --status when it is back",
               out);
  if (leader_ == 0) master_gone(address, out);
}

void SubmissionClient::master_gone(const std::string& address, Effects& out) {
  std::string failure = "Unable to connect to server spark://" + address + ".";
  if (--waiting_ == 0)
    return end(kExitFailure,
               failure + " No master answers; check --master and that a master runs there", out);
  out.push_back(Print{"Warning: " + failure});
}

/// A master that is not the leader says so; only when all say so it is an error.
bool SubmissionClient::not_alive(const std::string& message, Effects& out) {
  if (!message.starts_with("Current state is not alive")) return false;
  if (--waiting_ == 0) end(kExitFailure, message, out);
  return true;
}

void SubmissionClient::on(const Received<ToClient>& e, Effects& out) {
  std::visit([&](const auto& m) { answer(e.from, m, out); }, e.message);
}

void SubmissionClient::answer(PeerId from, const SubmitDriverAnswer& m, Effects& out) {
  if (leader_ != 0) return;
  if (!m.success) {
    if (!not_alive(m.message, out)) end(kExitFailure, m.message, out);
    return;
  }
  leader_ = from;
  driver_ = m.id;
  out.push_back(Print{"Driver successfully submitted as " + m.id.value});
  ask_again(out);
}

void SubmissionClient::answer(PeerId, const KillDriverAnswer& m, Effects& out) {
  if (!m.success && not_alive(m.message, out)) return;
  if (!m.success) return end(kExitFailure, m.message, out);
  out.push_back(Print{m.message});
  end(kExitOk, "", out);
}

void SubmissionClient::answer(PeerId from, const DriverStatusAnswer& m, Effects& out) {
  if (leader_ == from) return follow(m, out);
  if (!m.found) {
    if (--waiting_ > 0) return;
    auto* status = std::get_if<RequestDriverStatus>(&options_.request);
    return end(
        kExitFailure,
        "the cluster's master did not recognize " + (status ? status->id.value : driver_.value),
        out);
  }
  driver_ = std::get<RequestDriverStatus>(options_.request).id;
  follow(m, out);
  if (!ended_) end(kExitOk, "", out);
}

void SubmissionClient::follow(const DriverStatusAnswer& m, Effects& out) {
  ++asked_;
  DriverState state = m.state.value_or(DriverState::Unknown);
  std::string line =
      "State of driver " + driver_.value + " is now " + driver_state_name(state) + ".";
  if (line != told_) {
    out.push_back(Print{line});
    if (state == DriverState::Running)
      out.push_back(Print{"Driver is running on worker " + m.worker.value + " at " +
                          m.worker_host_port + "."});
    told_ = line;
  }
  // Of an application that failed it is how its driver ended: the cluster did its part.
  if (state == DriverState::Failed && !m.exception.empty()) out.push_back(Print{m.exception});
  if (state != DriverState::Failed && !m.exception.empty())
    return end(kExitClusterError, "Exception from the cluster: " + m.exception, out);
  if (is_terminal(state)) return end(kExitOk, "", out);
  bool placed = state == DriverState::Running && !options_.wait_for_completion;
  if (leader_ != 0 && (placed || (!options_.wait_for_completion && ++polled_ >= options_.polls)))
    return end(kExitOk, "", out);
  if (leader_ != 0)
    out.push_back(
        After<SubmissionTimer>{options_.poll_interval, {SubmissionTimer::Kind::Poll, asked_}});
}

void SubmissionClient::ask_again(Effects& out) {
  ++asked_;
  out.push_back(Send<ToMaster>{leader_, RequestDriverStatus{driver_}});
  out.push_back(
      After<SubmissionTimer>{options_.answer_timeout, {SubmissionTimer::Kind::Answer, asked_}});
}

void SubmissionClient::on(const SubmissionTimer& e, Effects& out) {
  if (e.id != asked_) return;
  if (e.kind == SubmissionTimer::Kind::Poll) return ask_again(out);
  end(kExitFailure,
      "No response from server: no master answered at " + asked_url() + " within " +
          std::to_string(options_.answer_timeout / std::chrono::seconds(1)) +
          " s; check that host and port are the master's own, not those of its pages",
      out);
}

/// The master that took the request; before that, all that were asked.
std::string SubmissionClient::asked_url() const {
  std::string list;
  for (size_t i = 0; i < peers_.size(); ++i)
    if (leader_ == 0 || peers_[i] == leader_)
      list += (list.empty() ? "" : ",") + options_.masters[i];
  return "spark://" + list;
}

void SubmissionClient::end(int code, std::string reason, Effects& out) {
  ended_ = true;
  out.push_back(Exit{code, std::move(reason)});
}

}  // namespace tinderbox::core
