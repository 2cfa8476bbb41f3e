// wants: the function must return a container of records
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).map_partitions([](tinderbox::Partition<int64_t>& in) { int64_t n = 0; for (int64_t x : in) n += x; return n; });  // MISTAKE
  (void)context;
}
