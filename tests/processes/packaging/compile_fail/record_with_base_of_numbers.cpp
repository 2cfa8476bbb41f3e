// wants: cannot find the fields of a struct that has a base: write in it
#include "core/api/tinderbox.hpp"
struct Named { int64_t id; };
struct Row : Named { int64_t x = 0; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return Row{{1}, x}; }).collect();  // MISTAKE
  (void)context;
}
