// Ten thousand executors that are nothing but connections: what they cost one driver. Run by
// bench/peers.sh.
//   driver REPORT STOP-FILE          counts executors into REPORT until the file is there
//   beat HOST:PORT APP FROM COUNT    that many executors, which register and send heartbeats
#include <zmq.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/api/tinderbox.hpp"
#include "core/status/listener_bus.hpp"
#include "net/process/elf.hpp"
#include "net/wire/codec.hpp"
#include "net/wire/frames.hpp"

namespace {

using namespace tinderbox;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kBeat = 10s;     // Spark's spark.executor.heartbeatInterval
constexpr auto kSweep = 100ms;  // how often connections are looked at

struct Counter : core::Listener {
  std::atomic<int> there{0};
  void on_events(std::span<const core::ListenerEvent> events) override {
    for (const core::ListenerEvent& e : events) {
      there += std::holds_alternative<core::ExecutorJoined>(e);
      there -= std::holds_alternative<core::ExecutorRemoved>(e);
    }
  }
};

int count_executors(Context& context, const std::string& report, const std::string& stop) {
  auto counter = std::make_shared<Counter>();
  context.add_listener(counter);
  std::ofstream out(report);
  out << "app " << context.application_id() << std::endl;
  for (int told = 0; !std::filesystem::exists(stop); std::this_thread::sleep_for(200ms))
    if (const int now = counter->there; now != told)
      out << "executors " << (told = now) << std::endl;
  return 0;
}

/// One connection that says what an executor says.
class Peer {
 public:
  Peer(void* context, const std::string& driver, const std::string& app, int number)
      : socket_(zmq_socket(context, ZMQ_DEALER)), id_{std::to_string(number)} {
    if (!socket_ || zmq_connect(socket_, ("tcp://" + driver).c_str()) != 0)
      throw std::runtime_error("connection " + id_.value + ": " + zmq_strerror(zmq_errno()));
    send(ExecutorHello{{"", {app}, 0, ""}, id_, net::own_build_id(), net::own_code_hash()});
  }
  void look(Clock::time_point now) {
    int fd;
    while (net::receive_frames(socket_, frames_, fd)) {
      auto packet = net::parse_packet(frames_, 0);
      if (!packet) throw std::runtime_error("the driver speaks nonsense");
      auto message = net::decode<ToExecutor>(*packet);
      if (message) answer(*message, now);
    }
    if (now < next_beat_) return;
    send(ExecutorHeartbeat{id_, 8 << 20, {}});
    next_beat_ += kBeat;
  }

 private:
  void answer(const ToExecutor& message, Clock::time_point now) {
    if (std::holds_alternative<ApplicationConfig>(message)) {
      const std::string host = "h" + id_.value;
      send(RegisterExecutor{id_, host, host + ":7079", 4, 0, 1, {"/tmp/" + id_.value}, {}, {}});
    } else if (std::holds_alternative<ExecutorRegistered>(message)) {
      send(ExecutorReady{id_});
      next_beat_ = now + kBeat;
    } else if (auto* refused = std::get_if<ExecutorRefused>(&message)) {
      throw std::runtime_error(refused->reason);
    }
  }
  void send(ToDriver message) { net::send_packet(socket_, {}, net::encode(message)); }

  void* socket_;
  ExecutorId id_;
  std::vector<Payload> frames_;
  Clock::time_point next_beat_ = Clock::time_point::max();
};

/// Until it is killed. Connections come a few at a time, as executors do.
int beat(const std::string& driver, const std::string& app, int from, int count) {
  void* context = zmq_ctx_new();
  zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 65535);
  std::vector<Peer> peers;
  peers.reserve(static_cast<size_t>(count));
  for (;; std::this_thread::sleep_for(kSweep)) {
    for (int i = 0; i < 100 && static_cast<int>(peers.size()) < count; ++i)
      peers.emplace_back(context, driver, app, from + static_cast<int>(peers.size()));
    for (Peer& p : peers) p.look(Clock::now());
  }
}

int run(Context& context, std::span<const std::string> args) {
  if (args.size() == 3 && args[0] == "driver") return count_executors(context, args[1], args[2]);
  if (args.size() == 5 && args[0] == "beat")
    return beat(args[1], args[2], std::stoi(args[3]), std::stoi(args[4]));
  throw std::runtime_error("peers: give driver REPORT STOP-FILE, or beat HOST:PORT APP FROM COUNT");
}

TINDERBOX_APPLICATION(peers, "executors that only register and beat: see bench/peers.sh", run);

}  // namespace
