// The driver's side of the conversation with a standalone master. A pure machine.
//
// It registers with whichever of the masters leads. When the connection is lost the application
// goes on with the executors that it has, and the client keeps trying to come back under the
// application's own id; a master that recovered may also call first (MasterChanged, to the driver's
// socket).
//
// Source: Spark 4.3 StandaloneAppClient.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct AppClientOptions {
  std::vector<std::string> masters;  // spark://host:port each
  ApplicationDescription description;
  std::string driver_address;  // host:port of the driver's control socket
  std::string user, token;     // of Identity
  Duration registration_timeout{};
  int32_t registration_attempts = 1;
  Duration first_reconnect = std::chrono::seconds(1), longest_reconnect = std::chrono::seconds(15);
};

/// Arguments of an executor's process for Command.arguments; the worker fills in the placeholders.
std::vector<std::string> executor_arguments(const std::string& driver_address);

struct AppTimer {
  enum class Kind : uint8_t { Register, Reconnect } kind{};
  uint64_t epoch = 0;
  bool operator==(const AppTimer&) const = default;
};
struct StartApp {};
/// The application has ended.
struct StopApp {};
/// How many executors there should be in all: of the default resource profile, and of others.
struct WantExecutors {
  int32_t total = 0;
  std::vector<ProfileRequest> profiles;
};
struct EndExecutors {
  std::vector<ExecutorId> executors;
};

/// Once.
struct AppRegistered {
  AppId app;
  std::string master_url, master_web_ui_url;
  bool operator==(const AppRegistered&) const = default;
};
/// Once; nothing follows.
struct AppDead {
  std::string reason;
  bool operator==(const AppDead&) const = default;
};
struct ExecutorGranted {
  ExecutorId executor;
  WorkerId worker;
  std::string host_port;
  int32_t cores = 0;
  int64_t memory_mib = 0;
  bool operator==(const ExecutorGranted&) const = default;
};
/// No exit code: its process or worker is lost. `worker_host` is set when the worker is gone.
struct ExecutorGone {
  ExecutorId executor;
  std::optional<int32_t> exit_code;
  std::string message;
  std::string worker_host;
  bool operator==(const ExecutorGone&) const = default;
};
/// It is taken away soon. `worker_host` is set when its worker goes with it.
struct ExecutorCondemned {
  ExecutorId executor;
  std::string message;
  std::string worker_host;
  bool operator==(const ExecutorCondemned&) const = default;
};
struct WorkerGone {
  WorkerId worker;
  std::string host, message;
  bool operator==(const WorkerGone&) const = default;
};
/// Why the master gives no executor; empty: it does.
struct SchedulingReason {
  std::string reason;
  bool operator==(const SchedulingReason&) const = default;
};

class AppClient {
 public:
  using Event = std::variant<Received<ToApp>, PeerLost, Connected, AppTimer, StartApp, StopApp,
                             WantExecutors, EndExecutors>;
  using Effect = std::variant<Send<ToMaster>, Connect, Disconnect, After<AppTimer>, AppRegistered,
                              AppDead, ExecutorGranted, ExecutorGone, ExecutorCondemned, WorkerGone,
                              SchedulingReason, Log>;
  using Effects = std::vector<Effect>;

  explicit AppClient(AppClientOptions options);
  void on(const Event& event, Time now, Effects& out);

 private:
  struct Ticket {
    std::string url;
    bool adopt = false;  // acknowledge MasterChanged there; else register
  };
  void handle(const Received<ToApp>& e, Effects& out);
  void handle(const PeerLost& e, Effects& out);
  void handle(const Connected& e, Effects& out);
  void handle(const AppTimer& e, Effects& out);
  void handle(const StartApp& e, Effects& out);
  void handle(const StopApp& e, Effects& out);
  void handle(const WantExecutors& e, Effects& out);
  void handle(const EndExecutors& e, Effects& out);
  void handle(PeerId from, const RegisteredApplication& m, Effects& out);
  void handle(PeerId from, const ExecutorAdded& m, Effects& out);
  void handle(PeerId from, const ExecutorUpdated& m, Effects& out);
  void handle(PeerId from, const ApplicationRemoved& m, Effects& out);
  void handle(PeerId from, const WorkerRemoved& m, Effects& out);
  void handle(PeerId from, const ExecutorRequestAnswer& m, Effects& out);
  void handle(PeerId from, const SchedulingStatus& m, Effects& out);
  void handle(PeerId from, const MasterChanged& m, Effects& out);
  void register_with_masters(Effects& out);
  void reconnect(Effects& out);
  void try_masters(Effects& out);
  void drop_attempts(PeerId but, Effects& out);
  void connected_to(PeerId master, Effects& out);
  void adopt(PeerId master, Effects& out);
  void send_wanted(Effects& out);
  void send_ends(Effects& out);
  void ask_again();
  void die(const std::string& reason, Effects& out);

  AppClientOptions options_;
  AppId app_;
  std::string master_url_;
  PeerId master_ = 0;  // 0: none
  bool ended_ = false;
  int32_t attempt_ = 0;
  Duration pause_{};
  uint64_t epoch_ = 0;  // of the timer that counts
  uint64_t next_ticket_ = 1, next_request_ = 1;
  int32_t next_executor_ = 0;
  std::optional<WantExecutors> wanted_;
  std::vector<std::string> to_end_;  // executors whose end this master was not asked for yet
  std::map<uint64_t, std::vector<std::string>> asked_to_end_;  // requests that are not answered
  std::map<uint64_t, Ticket> tickets_;                         // Connects that are not answered
  std::map<PeerId, std::string> tried_;  // connections that RegisterApplication went out on
};

}  // namespace tinderbox::core
