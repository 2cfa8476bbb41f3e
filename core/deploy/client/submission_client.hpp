// The submitter's side of cluster deploy mode: asks the masters to start, kill or tell about a
// driver.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct SubmissionOptions {
  std::vector<std::string> masters;  // host:port
  std::variant<RequestSubmitDriver, RequestKillDriver, RequestDriverStatus> request;
  bool wait_for_completion = false;  // spark.standalone.submit.waitAppCompletion
  Duration poll_interval = std::chrono::seconds(1);
  int polls = 10;  // without wait_for_completion, until the driver has a worker
  Duration answer_timeout = std::chrono::seconds(10);
};

struct StartSubmission {};
struct SubmissionTimer {
  enum class Kind : uint8_t { Answer, Poll } kind{};
  int64_t id = 0;
};
/// One line for the person at the terminal.
struct Print {
  std::string line;
};

/// Source: Spark deploy.Client (requests, exit codes), RestSubmissionClient (pace and words of the
/// polls). Thread: one loop's.
class SubmissionClient {
 public:
  using Event =
      std::variant<StartSubmission, Received<ToClient>, PeerLost, Connected, SubmissionTimer>;
  using Effect = std::variant<Send<ToMaster>, Connect, After<SubmissionTimer>, Print, Log, Exit>;
  using Effects = std::vector<Effect>;

  explicit SubmissionClient(SubmissionOptions options) : options_(std::move(options)) {}
  void on(const Event& event, Time now, Effects& out);

 private:
  void on(const StartSubmission&, Effects& out);
  void on(const Received<ToClient>& e, Effects& out);
  void on(const PeerLost& e, Effects& out);
  void on(const Connected& e, Effects& out);
  void on(const SubmissionTimer& e, Effects& out);
  void answer(PeerId from, const SubmitDriverAnswer& m, Effects& out);
  void answer(PeerId from, const KillDriverAnswer& m, Effects& out);
  void answer(PeerId from, const DriverStatusAnswer& m, Effects& out);
  void master_gone(const std::string& address, Effects& out);
  bool not_alive(const std::string& message, Effects& out);
  void follow(const DriverStatusAnswer& m, Effects& out);
  void ask_again(Effects& out);
  void end(int code, std::string reason, Effects& out);
  std::string asked_url() const;

  SubmissionOptions options_;
  std::vector<PeerId> peers_;  // as many as masters; 0: not connected
  size_t waiting_ = 0;         // masters that may still answer
  PeerId leader_ = 0;          // the one that took the request
  DriverId driver_;
  int polled_ = 0;
  int64_t asked_ = 0;  // which question the answer timer watches
  std::string told_;
  bool ended_ = false;
};

/// As Spark prints it: RUNNING.
const char* driver_state_name(DriverState state);

}  // namespace tinderbox::core
