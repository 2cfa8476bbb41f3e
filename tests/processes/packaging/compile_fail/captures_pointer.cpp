// wants: capture() was given a pointer
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).map(tinderbox::capture("text", [](const auto&, int64_t x) { return x; })).count();  // MISTAKE
  (void)context;
}
