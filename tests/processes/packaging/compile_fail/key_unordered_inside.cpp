// wants: an unordered container cannot be a key, nor a part of one
#include "core/api/tinderbox.hpp"
#include <unordered_set>
void job(tinderbox::Context& context) {
  context.range(0, 10).key_by([](int64_t x) { return std::pair(x, std::unordered_set<int64_t>{x}); }).group_by_key();  // MISTAKE
  (void)context;
}
