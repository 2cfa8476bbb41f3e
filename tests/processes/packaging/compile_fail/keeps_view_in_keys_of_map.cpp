// wants: it holds a std::string_view inside a struct
#include <map>
#include "core/api/tinderbox.hpp"
using Counts = std::map<std::string_view, int>;
void job(tinderbox::Context& context) {
  context.text_file("x").map([](std::string_view line) { return Counts{{line, 1}}; }).collect();  // MISTAKE
}
