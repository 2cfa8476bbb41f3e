// wants: Rdds cannot travel
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.broadcast(context.range(0, 10));  // MISTAKE
  (void)context;
}
