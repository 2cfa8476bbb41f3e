// wants: the function does not take what this operator calls it with
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](const std::string& s) { return s.size(); });  // MISTAKE
  (void)context;
}
