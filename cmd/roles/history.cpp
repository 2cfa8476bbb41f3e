// The history role: the binary knows its place; event logs are not written yet, so there is nothing
// to show.
#include "cmd/roles/roles.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"

namespace tinderbox::cmd {

int history(Args args) {
  for (std::string_view arg : args) {
    if (arg != "--help" && arg != "-h") continue;
    net::write_error(
        "Usage: tinderbox history\n\nShows finished applications from their event logs.\n");
    return core::kExitOk;
  }
  net::write_error(
      "Error: history was asked for, but this version writes no event logs; "
      "a running application's state is on its master's page\n");
  return core::kExitFailure;
}

}  // namespace tinderbox::cmd
