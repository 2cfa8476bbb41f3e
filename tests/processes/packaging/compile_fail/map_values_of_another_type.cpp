// wants: the function does not take what this operator calls it with
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto pairs = context.range(0, 10).key_by([](int64_t x) { return x; });
  pairs.map_values([](const std::string& a) { return a; });  // MISTAKE
}
