// The version role. `--keys` prints the reference page of all settings, for docs/.
#include <cstdio>

#include "cmd/command_line.hpp"
#include "cmd/process_conf.hpp"
#include "cmd/roles/roles.hpp"
#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "core/status/exit_codes.hpp"

namespace tinderbox::cmd {

int version(Args args) {
  bool keys = false;
  CommandLine line("version", "Prints the version on stdout.");
  ProcessConfOptions ignored;
  declare_process_conf(line, ignored);
  line.option("--keys", &keys, "print the reference page of all settings instead");
  if (const std::optional<int> code = line.parse(args)) return *code;
  if (keys)
    std::fputs(conf::reference_page().c_str(), stdout);
  else
    std::printf("tinderbox version %s\n", TINDERBOX_VERSION);
  return core::kExitOk;
}

}  // namespace tinderbox::cmd
