// An application outside the tree's own build: prints the sum 1 + 2 + … + N.
#include <iostream>
#include <tinderbox.hpp>

static int sum_up_to(tinderbox::Context& context, std::span<const std::string> args) {
  auto numbers = context.range(1, std::stoll(args[0]) + 1);
  std::cout << numbers.reduce([](int64_t a, int64_t b) { return a + b; }) << "\n";
  return 0;
}
TINDERBOX_APPLICATION(outside, "sum 1 + 2 + … + N: N", sum_up_to);
