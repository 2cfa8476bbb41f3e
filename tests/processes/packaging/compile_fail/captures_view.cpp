// wants: capture() was given a std::string_view: what travels must own its bytes
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context, std::string_view prefix) {
  context.range(0, 10).map(tinderbox::capture(prefix, [](const auto& p, int64_t x) { return p.size() + static_cast<size_t>(x); })).count();  // MISTAKE
  (void)context, (void)prefix;
}
