// wants: it holds a std::string_view inside a struct
#include "core/api/tinderbox.hpp"
struct Row { std::string_view name; int n = 0; };
void job(tinderbox::Context& context) {
  auto rows = context.text_file("x").map([](std::string_view line) { return Row{line, 1}; });
  rows.collect();  // MISTAKE
}
