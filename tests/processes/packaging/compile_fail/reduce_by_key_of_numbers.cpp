// wants: operations by key need an Rdd of std::pair<Key, Value>: make one by key_by(function)
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).reduce_by_key([](int64_t a, int64_t b) { return a + b; });  // MISTAKE
  (void)context;
}
