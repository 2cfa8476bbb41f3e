// wants: filter() needs a function that returns a bool
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).filter([](int64_t x) { return std::to_string(x); });  // MISTAKE
  (void)context;
}
