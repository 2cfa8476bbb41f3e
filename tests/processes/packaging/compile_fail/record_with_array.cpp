// wants: make it a std::array
#include "core/api/tinderbox.hpp"
struct Row { std::string name; int64_t x[4]; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return Row{}; }).collect();  // MISTAKE
  (void)context;
}
