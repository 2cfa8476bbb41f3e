// wants: for a class of your own write in it: template <class Self> static auto record_fields(Self& self)
#include "core/api/tinderbox.hpp"
class Row { public: Row(int64_t x = 0) : x_(std::to_string(x)) {} std::string x() const { return x_; } private: std::string x_; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return Row(x); }).collect();  // MISTAKE
  (void)context;
}
