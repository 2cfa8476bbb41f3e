// wants: it must not hold a std::string_view
#include "core/api/tinderbox.hpp"
struct Row { std::string_view name; int n = 0; };
void job(tinderbox::Context& context) {
  context.text_file("x").key_by([](std::string_view line) { return line.size(); })
      .combine_by_key([](std::string_view line) { return Row{line, 1}; },  // MISTAKE
                      [](Row row, std::string_view) { return row; }, [](Row row, Row) { return row; });
}
