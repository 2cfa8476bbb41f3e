// wants: Rdds cannot travel
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto other = context.range(0, 5);
  context.range(0, 10).map(tinderbox::capture(other, [](const auto& o, int64_t x) { return x + o.count(); })).count();  // MISTAKE
  (void)other;
}
