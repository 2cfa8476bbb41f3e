// pipe IN PROGRAM ARGUMENTS…: the lines of a text through a program in any language, one process a
// partition; prints what the program prints.
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() < 2) throw std::invalid_argument("pipe takes IN PROGRAM ARGUMENTS...");
  const std::vector<std::string> command(args.begin() + 1, args.end());
  for (const std::string& line : context.text_file(args[0]).pipe(command).collect())
    std::cout << line << "\n";
  return 0;
}
TINDERBOX_APPLICATION(pipe, "lines through a program: IN PROGRAM ARGUMENTS...", run);
