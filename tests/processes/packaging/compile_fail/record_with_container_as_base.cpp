// wants: cannot find the fields of a struct that has a base: write in it
#include "core/api/tinderbox.hpp"
struct Named : std::vector<int64_t> { std::string name; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Named n; n.push_back(x); return n; }).collect();  // MISTAKE
  (void)context;
}
