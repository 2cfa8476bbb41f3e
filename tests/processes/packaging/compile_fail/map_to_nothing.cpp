// wants: map() needs a function that returns a record
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) {});  // MISTAKE
  (void)context;
}
