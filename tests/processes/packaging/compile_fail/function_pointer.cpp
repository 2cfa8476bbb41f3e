// wants: a function is passed as a lambda that calls it
#include "core/api/tinderbox.hpp"
int64_t twice(int64_t x) { return 2 * x; }
void job(tinderbox::Context& context) {
  context.range(0, 10).map(&twice).count();  // MISTAKE
  (void)context;
}
