// wants: operations by key need an Rdd of std::pair<Key, Value>: make one by key_by(function)
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).keys();  // MISTAKE
  (void)context;
}
