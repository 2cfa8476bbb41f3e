// wants: record_fields() must return std::tie(self.a, self.b)
#include "core/api/tinderbox.hpp"
class Row { public: template <class Self> static auto& record_fields(Self& self) { return self.x_; } private: std::string x_; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return Row(); }).collect();  // MISTAKE
  (void)context;
}
