// wants: give this class a constructor without arguments
#include "core/api/tinderbox.hpp"
class Row { public: explicit Row(std::string x) : x_(std::move(x)) {} template <class Self> static auto record_fields(Self& self) { return std::tie(self.x_); } private: std::string x_; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return Row("a"); }).collect();  // MISTAKE
  (void)context;
}
