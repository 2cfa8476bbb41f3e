// wants: is called as merge(T& into, const T& more)
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.accumulator(int64_t{1}, [](const std::string&, int) {});  // MISTAKE
  (void)context;
}
