// wants: the function must return a container of records
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).flat_map([](int64_t x) { return x; });  // MISTAKE
  (void)context;
}
