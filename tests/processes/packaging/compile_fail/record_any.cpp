// wants: tinderbox cannot turn this type into bytes. Pointers (smart ones too), functions, threads, std::any
#include "core/api/tinderbox.hpp"
#include <any>
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return std::any(x); }).collect();  // MISTAKE
  (void)context;
}
