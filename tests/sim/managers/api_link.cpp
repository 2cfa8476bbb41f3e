#include "tests/sim/managers/api_link.hpp"

#include <algorithm>

namespace tinderbox::sim {

using namespace core::kubernetes;

namespace {

// As in ApiService and in the backend that uses it.
constexpr int kConnections = 8;
constexpr int kPatience = 5;  // answers 429 in a row
constexpr Duration kWatchSilence = 150s;

ApiAnswered no_answer(const std::string& error, bool arrived) {
  ApiAnswered answer;
  answer.error = error;
  answer.arrived = arrived;
  return answer;
}

}  // namespace

// ---- calls -------------------------------------------------------------------------------------

void ApiLink::call(const CallApi& what) {
  waiting_.push_back({what});
  begin_calls();
}

void ApiLink::begin_calls() {
  while (busy_ < kConnections && !waiting_.empty()) {
    ++busy_;
    send(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void ApiLink::send(Call call) {
  in_.world.after(nullptr, way(), [this, call = std::move(call)] { arrive(call); });
}

/// At the server. What happens there stays so, whether its answer comes or not.
void ApiLink::arrive(Call call) {
  if (away()) {
    in_.checks.reached(Fault::Kind::ApiAway);
    return answer(call, no_answer("no connection", false));
  }
  if (disturbed(Fault::Kind::ApiDisturbed, 150)) return throttled(std::move(call));
  if (disturbed(Fault::Kind::ApiDisturbed, 150))
    return answer(call, {0, 500, R"({"message": "etcdserver: request timed out"})", ""});
  ApiAnswered reply = server_.answer(call.what.request);
  if (disturbed(Fault::Kind::ApiDisturbed, 300)) {
    if (reply.status == 201) in_.checks.reached(Path::CreationUnheard);
    return answer(call, no_answer("the connection broke", true));
  }
  answer(call, std::move(reply));
}

bool ApiLink::disturbed(Fault::Kind kind, int64_t per_mille) {
  if (disturbed_until_ <= in_.world.now() || !in_.world.random().chance(per_mille)) return false;
  in_.checks.reached(kind);
  return true;
}

void ApiLink::throttled(Call call) {
  if (++call.tries == kPatience)
    return answer(call, {0, kTooManyRequests, R"({"message": "too many requests"})", ""});
  in_.world.after(nullptr, 1s, [this, call = std::move(call)] { send(call); });
}

void ApiLink::answer(const Call& call, ApiAnswered reply) {
  reply.ticket = call.what.ticket;
  in_.world.after(driver_, way(), [this, request = call.what.request, reply = std::move(reply)] {
    --busy_;
    deliver_(reply, &request);
    begin_calls();
  });
}

// ---- the watch ---------------------------------------------------------------------------------

void ApiLink::watch(const WatchApi& what) {
  const std::string key = "resourceVersion=";
  const int64_t from = std::atoll(what.path.c_str() + what.path.rfind(key) + key.size());
  watch_ = Watch{what.ticket, from, in_.world.now()};
  in_.world.after(nullptr, way(),
                  [this, ticket = what.ticket, from] { begin_watch(ticket, from); });
}

void ApiLink::begin_watch(uint64_t ticket, int64_t from) {
  if (!watch_ || watch_->ticket != ticket) return;
  if (away()) return end_watch(ticket, 0, "no connection", way());
  if (!server_.remembers(from)) {
    in_.checks.reached(Fault::Kind::HistoryForgotten);
    return end_watch(ticket, kExpired, "too old version", way());
  }
  watch_->begun = true;
  // A server ends each after a while of its own.
  in_.world.after(nullptr, in_.world.random().between(Duration{20s}, Duration{300s}),
                  [this, ticket] { end_watch(ticket, 0, "", Duration{1ms}); });
  bookmark_later(ticket);
  pump();
}

void ApiLink::pump() {
  if (!watch_ || away()) return;
  if (watch_->silent && watch_->begun) in_.checks.reached(Fault::Kind::WatchSilent);
  if (watch_->silent || !watch_->begun) return;
  while (const PodChange* const change = server_.after(watch_->sent)) {
    watch_->sent = change->version;
    deliver_in_order(PodChanged{watch_->ticket, change->deleted, change->pod});
  }
}

void ApiLink::deliver_in_order(Event event) {
  watch_->last = std::max(watch_->last + Duration{1}, in_.world.now() + way());
  in_.world.after(driver_, watch_->last - in_.world.now(),
                  [this, event = std::move(event)] { deliver_(event, nullptr); });
}

void ApiLink::bookmark_later(uint64_t ticket) {
  in_.world.after(nullptr, in_.world.random().between(Duration{5s}, Duration{60s}), [this, ticket] {
    if (!watch_ || watch_->ticket != ticket || watch_->silent || away()) return;
    watch_->sent = server_.version();
    deliver_in_order(WatchBookmark{ticket, std::to_string(watch_->sent)});
    bookmark_later(ticket);
  });
}

/// Nothing of it comes after its end.
void ApiLink::end_watch(uint64_t ticket, int status, const std::string& error, Duration delay) {
  if (!watch_ || watch_->ticket != ticket) return;
  const Duration after = std::max(watch_->last - in_.world.now(), Duration{0}) + delay;
  watch_.reset();
  in_.world.after(driver_, after,
                  [this, e = WatchEnded{ticket, status, error}] { deliver_(e, nullptr); });
}

// ---- faults ------------------------------------------------------------------------------------

void ApiLink::part(Duration length) {
  away_until_ = std::max(away_until_, in_.world.now() + length);
  cut_watch();
}

bool ApiLink::cut_watch() {
  if (!watch_) return false;
  end_watch(watch_->ticket, 0, "the connection broke", Duration{1ms});
  return true;
}

void ApiLink::silence_watch() {
  if (!watch_ || !watch_->begun) return;
  watch_->silent = true;
  const uint64_t ticket = watch_->ticket;
  in_.world.after(nullptr, kWatchSilence, [this, ticket] {
    if (!watch_ || watch_->ticket != ticket) return;
    end_watch(ticket, 0, "the watch is silent", Duration{1ms});
  });
}

bool ApiLink::calm() const {
  return !away() && disturbed_until_ <= in_.world.now() && !(watch_ && watch_->silent);
}

}  // namespace tinderbox::sim
