// wants: join() needs another Rdd of std::pair with keys of the same type
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto by_number = context.range(0, 10).key_by([](int64_t x) { return x; });
  auto by_text = context.range(0, 10).key_by([](int64_t x) { return std::to_string(x); });
  by_number.join(by_text);  // MISTAKE
}
