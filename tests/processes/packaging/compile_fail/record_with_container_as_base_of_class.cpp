// wants: cannot know that this class is its elements and nothing else: make it a container of the standard library
#include "core/api/tinderbox.hpp"
class Basket : public std::vector<int64_t> {
 public:
  Basket() = default;
  double discount = 0;
};
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Basket b; b.push_back(x); return b; }).collect();  // MISTAKE
  (void)context;
}
