// wants: must not capture anything
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  int64_t factor = 2;
  context.accumulator(int64_t{1}, [factor](int64_t& a, int64_t b) { a += factor * b; });  // MISTAKE
  (void)context, (void)factor;
}
