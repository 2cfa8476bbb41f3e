// The history role: the binary knows its place; event logs are not written yet, so there is nothing
// to show.
#include "cmd/command_line.hpp"
#include "cmd/process_conf.hpp"
#include "cmd/roles/roles.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"

namespace tinderbox::cmd {

int history(Args args) {
  ProcessConfOptions options;
  CommandLine line("history", "The place of the history server, which is not here yet.");
  declare_process_conf(line, options);
  if (const std::optional<int> code = line.parse(args)) return *code;
  net::write_error(
      "Error: history was asked for, but this version writes no event logs; "
      "a running application's state is on its master's page\n");
  return core::kExitFailure;
}

}  // namespace tinderbox::cmd
