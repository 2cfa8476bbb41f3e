// wants: cannot find the fields of a struct one of which {} does not initialise: write in it
#include "core/api/tinderbox.hpp"
class Money { public: explicit Money(int64_t c) : c_(c) {} private: int64_t c_; };
struct Row { Money price = Money(0); std::string name; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Row r; r.price = Money(x); return r; }).collect();  // MISTAKE
  (void)context;
}
