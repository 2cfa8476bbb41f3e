// wants: it holds a std::string_view inside a struct
#include "core/api/tinderbox.hpp"
using Cell = std::variant<std::string_view, int64_t>;
void job(tinderbox::Context& context) {
  context.text_file("x").map([](std::string_view line) { return Cell(line); }).collect();  // MISTAKE
}
