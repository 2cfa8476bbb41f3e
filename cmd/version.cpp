// The version role. `--keys` prints the reference page of all settings, for docs/.
#include <cstdio>
#include <string_view>

#include "cmd/roles/roles.hpp"
#include "conf/conf.hpp"

namespace tinderbox::cmd {

int version(Args args) {
  if (args.size() == 1 && std::string_view(args[0]) == "--keys") {
    std::fputs(conf::reference_page().c_str(), stdout);
    return 0;
  }
  std::printf("tinderbox version %s\n", TINDERBOX_VERSION);
  return 0;
}

}  // namespace tinderbox::cmd
