// The roles of the binary. Each function gets its arguments without the role's name and returns the
// process's exit code. Thread: main, before any other thread exists.
#pragma once

#include <span>
#include <string_view>

namespace tinderbox::cmd {

using Args = std::span<char* const>;

struct Role {
  std::string_view name;
  std::string_view help;
  int (*run)(Args);
};

int submit(Args args);
int driver(Args args);
int executor(Args args);
int master(Args args);
int worker(Args args);
int init(Args args);
int history(Args args);
int run_example(Args args);
int decommission(Args args);
int bench(Args args);
int version(Args args);

}  // namespace tinderbox::cmd
