// wants: cannot find the fields of a struct that has a base: write in it
#include "core/api/tinderbox.hpp"
struct Named { std::string name; };
struct Row : Named { int64_t x = 0; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return Row{{"a"}, x}; }).collect();  // MISTAKE
  (void)context;
}
