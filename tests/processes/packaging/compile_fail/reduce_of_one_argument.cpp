// wants: the function does not take what this operator calls it with
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).reduce([](int64_t a) { return a; });  // MISTAKE
  (void)context;
}
