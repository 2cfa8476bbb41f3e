// wants: the function does not take what this operator calls it with
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).map_partitions([](int64_t x) { return std::vector<int64_t>{x}; });  // MISTAKE
  (void)context;
}
