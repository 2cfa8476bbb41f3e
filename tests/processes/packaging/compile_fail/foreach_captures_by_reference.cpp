// wants: name them with capture(values...
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  int64_t sum = 0;
  context.range(0, 10).foreach([&sum](int64_t x) { sum += x; });  // MISTAKE
  (void)context, (void)sum;
}
