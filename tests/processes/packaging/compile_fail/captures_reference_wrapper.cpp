// wants: capture() was given a reference
#include "core/api/tinderbox.hpp"
#include <functional>
void job(tinderbox::Context& context) {
  std::string word;
  context.range(0, 10).map(tinderbox::capture(std::ref(word), [](const auto&, int64_t x) { return x; })).count();  // MISTAKE
  (void)context;
}
