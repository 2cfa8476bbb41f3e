// wants: the function does not take what this operator calls it with
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto pairs = context.range(0, 10).key_by([](int64_t x) { return x; });
  pairs.reduce_by_key([](const std::string& a, const std::string& b) { return a + b; });  // MISTAKE
}
