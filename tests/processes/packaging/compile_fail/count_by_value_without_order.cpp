// wants: what is sorted needs an order: write in it
#include "core/api/tinderbox.hpp"
struct Row { int64_t x = 0; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return Row{x}; }).count_by_value();  // MISTAKE
  (void)context;
}
