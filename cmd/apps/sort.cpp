// sort IN OUT: the lines of a text in order.
#include <span>
#include <stdexcept>

#include "core/api/tinderbox.hpp"

namespace tinderbox::cmd {
namespace {

int run_sort(Context& context, std::span<const std::string> args) {
  if (args.size() != 2) {
    throw std::invalid_argument("sort takes IN OUT, but got " + std::to_string(args.size()) +
                                " arguments");
  }
  context.text_file(args[0])
      .map([](std::string_view line) { return std::pair(line, core::Unit{}); })
      .sort_by_key()
      .keys()
      .save_as_text_file(args[1]);
  return 0;
}

TINDERBOX_APPLICATION(sort, "sort lines: IN OUT", run_sort);

}  // namespace
}  // namespace tinderbox::cmd
