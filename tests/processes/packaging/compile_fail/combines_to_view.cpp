// wants: it must not hold a std::string_view
#include "core/api/tinderbox.hpp"
struct Row { std::string_view name; int n = 0; };
void job(tinderbox::Context& context) {
  auto lines = context.text_file("x").key_by([](std::string_view line) { return line.size(); });
  auto create = [](std::string_view line) { return Row{line, 1}; };
  auto add = [](Row row, std::string_view) { return row; };
  auto merge = [](Row a, Row) { return a; };
  lines.combine_by_key(create, add, merge);  // MISTAKE
}
