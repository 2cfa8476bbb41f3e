// wants: join() needs another Rdd of std::pair with keys of the same type
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto numbers = context.range(0, 10);
  auto by_number = numbers.key_by([](int64_t x) { return x; });
  by_number.join(numbers);  // MISTAKE
}
