// wants: the lambda given to capture() must not capture anything itself
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  int a = 1;
  context.range(0, 10).map(tinderbox::capture(2, [a](int b, int64_t x) { return x + a + b; })).count();  // MISTAKE
  (void)a;
}
