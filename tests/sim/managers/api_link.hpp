// A driver's connections to the API server: what ApiService is to a real driver.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "core/deploy/kubernetes/api.hpp"
#include "tests/sim/managers/api_server.hpp"
#include "tests/sim/roles/surroundings.hpp"

namespace tinderbox::sim {

/// Requests overtake each other on eight connections, answers get lost, the watch is a stream of
/// its own. Thread: the simulator's.
class ApiLink {
 public:
  using Event = std::variant<core::kubernetes::ApiAnswered, core::kubernetes::PodChanged,
                             core::kubernetes::WatchBookmark, core::kubernetes::WatchEnded>;
  /// Called in the driver's process, with what an answer is to; null: it is none.
  using Deliver = std::function<void(const Event&, const core::kubernetes::ApiRequest*)>;
  ApiLink(Surroundings in, ApiServer& server, ProcessPtr driver, Deliver deliver)
      : in_(in), server_(server), driver_(std::move(driver)), deliver_(std::move(deliver)) {}

  void call(const core::kubernetes::CallApi& what);
  void watch(const core::kubernetes::WatchApi& what);
  void stop_watch() { watch_.reset(); }
  /// The server has something new.
  void pump();

  // ---- faults ----
  /// Nobody answers, and the watch breaks.
  void part(Duration length);
  /// Some requests fail, some answers do not come, some are put off.
  void disturb(Duration length) { disturbed_until_ = in_.world.now() + length; }
  /// False: there is no watch.
  bool cut_watch();
  /// It stays open and says nothing, until the driver loses patience.
  void silence_watch();
  /// Whatever began has passed.
  bool calm() const;

 private:
  struct Watch {
    uint64_t ticket = 0;
    int64_t sent = 0;  // the version of the last change
    Time last{};       // when that comes
    bool begun = false, silent = false;
  };
  struct Call {
    core::kubernetes::CallApi what;
    int tries = 0;
  };
  Duration way() { return in_.world.random().long_tailed(in_.settings.pods.api_delay); }
  void begin_calls();
  void send(Call call);
  void arrive(Call call);
  void answer(const Call& call, core::kubernetes::ApiAnswered answer);
  void throttled(Call call);
  void begin_watch(uint64_t ticket, int64_t from);
  void bookmark_later(uint64_t ticket);
  void end_watch(uint64_t ticket, int status, const std::string& error, Duration delay);
  void deliver_in_order(Event event);
  bool away() const { return away_until_ > in_.world.now(); }
  bool disturbed(Fault::Kind kind, int64_t per_mille);

  Surroundings in_;
  ApiServer& server_;
  const ProcessPtr driver_;
  const Deliver deliver_;
  std::deque<Call> waiting_;
  int busy_ = 0;
  std::optional<Watch> watch_;
  Time away_until_{}, disturbed_until_{};
};

}  // namespace tinderbox::sim
