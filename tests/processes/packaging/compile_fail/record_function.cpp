// wants: tinderbox cannot turn this type into bytes. Pointers (smart ones too), functions, threads, std::any
#include "core/api/tinderbox.hpp"
#include <functional>
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return std::function<int()>([] { return 1; }); }).collect();  // MISTAKE
  (void)context;
}
