// wants: it must not hold a std::string_view
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto lines = context.text_file("x");
  auto last = [](std::pair<std::string_view, int> sum, std::string_view line) { return std::pair(line, sum.second + 1); };
  auto merge = [](std::pair<std::string_view, int> a, std::pair<std::string_view, int>) { return a; };
  lines.aggregate(std::pair(std::string_view(), 0), last, merge);  // MISTAKE
}
