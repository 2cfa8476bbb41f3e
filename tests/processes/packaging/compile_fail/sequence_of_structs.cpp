// wants: Hadoop has no Writable class for this type
#include "core/api/tinderbox.hpp"
struct Row { int n; };
void job(tinderbox::Context& context) {
  auto rows = context.range(0, 10).map([](int64_t x) { return std::pair(x, Row{1}); });
  rows.save_as_sequence_file("x");  // MISTAKE
}
