// wants: the function must return what is combined
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).reduce([](int64_t a, int64_t b) { return std::to_string(a + b); });  // MISTAKE
  (void)context;
}
