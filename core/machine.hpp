// What every role's machine is made of: events that reach it, effects that it asks for.
//
// A machine is a class with `void on(const Event&, Time now, Effects& out)`, where Event and Effect
// are std::variants of plain structs and Effects is a std::vector<Effect> that the shell reuses.
// These are the parts that machines share; each adds its own. core/shell.hpp carries the effects
// out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::core {

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

// ---- events ------------------------------------------------------------------------------------

/// A message of variant M came from a peer.
template <class M>
struct Received {
  PeerId from = 0;
  M message;
};
/// The peer's connection is gone.
struct PeerLost {
  PeerId peer = 0;
  bool operator==(const PeerLost&) const = default;
};
/// Answer to Connect: `peer` 0 says that the address could not even be tried.
struct Connected {
  uint64_t ticket = 0;
  PeerId peer = 0;
  bool operator==(const Connected&) const = default;
};
/// Answer to Spawn. `pid` 0: it could not be started, `error` says why.
struct ProcessStarted {
  uint64_t ticket = 0;
  int64_t pid = 0;
  std::string error;
  bool operator==(const ProcessStarted&) const = default;
};
/// A spawned process ended. `status`: exit code, or 128 + signal.
struct ProcessExited {
  uint64_t ticket = 0;
  int32_t status = 0;
  bool signalled = false;      // by a signal, not by its own exit
  bool out_of_memory = false;  // the kernel killed it for memory
  bool operator==(const ProcessExited&) const = default;
};

// ---- effects -----------------------------------------------------------------------------------

template <class M>
struct Send {
  PeerId to = 0;
  M message;
  bool operator==(const Send&) const = default;
};
/// Open a connection; answered at once by Connected.
struct Connect {
  uint64_t ticket = 0;
  std::string address;  // host:port
  bool operator==(const Connect&) const = default;
};
/// End a connection; PeerLost does not follow.
struct Disconnect {
  PeerId peer = 0;
  bool operator==(const Disconnect&) const = default;
};
/// Feed `event` back after `delay`. Never cancelled: the event carries what it was set for.
template <class E>
struct After {
  Duration delay{};
  E event;
  bool operator==(const After&) const = default;
};
/// Start a child process; answered by ProcessStarted, later by ProcessExited.
struct Spawn {
  uint64_t ticket = 0;
  std::string file;      // ELF: a path, or a URL that is fetched into `directory` first
  std::string build_id;  // refuse another file; empty: do not check
  std::vector<std::string> arguments;              // argv[1…]
  std::map<std::string, std::string> environment;  // beside the parent's
  std::map<std::string, std::string> properties;   // handed over as a properties file, not on argv
  std::string directory;  // made new; working directory; gets stdout and stderr files
  std::map<std::string, std::string> files;  // text by name, written into it before the start
  bool operator==(const Spawn&) const = default;
};
/// Send a signal to a spawned process.
struct Signal {
  uint64_t ticket = 0;
  int number = 15;
  bool operator==(const Signal&) const = default;
};
enum class Level : uint8_t { Debug, Info, Warn, Error };
/// One line for the log.
struct Log {
  Level level = Level::Info;
  std::string line;
  bool operator==(const Log&) const = default;
};
/// End the process with this exit code, after the effects before it were carried out.
struct Exit {
  int code = 0;
  std::string reason;
  bool operator==(const Exit&) const = default;
};

}  // namespace tinderbox::core
