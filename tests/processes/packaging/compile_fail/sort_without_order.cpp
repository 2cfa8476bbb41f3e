// wants: what is sorted needs an order: write in it
#include "core/api/tinderbox.hpp"
struct Key { int64_t x = 0; };
void job(tinderbox::Context& context) {
  context.range(0, 10).key_by([](int64_t x) { return Key{x}; }).sort_by_key();  // MISTAKE
  (void)context;
}
