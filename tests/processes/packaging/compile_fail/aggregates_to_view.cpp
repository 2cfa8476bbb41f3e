// wants: it must not hold a std::string_view
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.text_file("x").aggregate(std::pair(std::string_view(), 0),  // MISTAKE
                                   [](auto, std::string_view line) { return std::pair(line, 1); },
                                   [](auto a, auto) { return a; });
}
