// The decommission role: a container's preStop hook. Tells process 1, an executor, to decommission,
// and waits for its end, as the container is ended once this returns.
#include <csignal>
#include <thread>

#include "cmd/command_line.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/error.hpp"
#include "conf/keys.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {

/// Source: Spark 4.3 decom.sh.
int decommission(Args args) {
  int pid = 1;
  std::string signal(*conf::kDecommissionSignal.spec.default_text);
  CommandLine line("decommission",
                   "Tells an executor to decommission and waits for its end: a preStop hook");
  line.option("--pid", &pid, "the executor's process (default: 1, the container's first)");
  line.option("--signal", &signal,
              "the signal it decommissions by: PWR, USR1, USR2, HUP or WINCH (default: PWR)");
  if (const std::optional<int> code = line.parse(args)) return *code;
  constexpr auto kLook = std::chrono::milliseconds(50);
  const Result<int> number = net::signal_number(signal);
  if (!number) throw conf::Error("--signal: " + number.error().message);
  if (::kill(pid, *number) != 0) {
    net::write_error("Error: process " + std::to_string(pid) + " cannot be signalled\n");
    return core::kExitFailure;
  }
  while (::kill(pid, 0) == 0) std::this_thread::sleep_for(kLook);
  return core::kExitOk;
}

}  // namespace tinderbox::cmd
