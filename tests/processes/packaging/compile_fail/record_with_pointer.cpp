// wants: tinderbox cannot turn this type into bytes
#include "core/api/tinderbox.hpp"
struct Row { const char* name; int n; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return Row{"a", 1}; }).collect();  // MISTAKE
  (void)context;
}
