// wants: name them with capture(values...
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  int offset = 1;
  context.range(0, 10).map([&offset](int64_t x) { return x + offset; }).count();  // MISTAKE
  (void)offset;
}
