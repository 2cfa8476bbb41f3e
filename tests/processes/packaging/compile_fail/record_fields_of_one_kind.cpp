// wants: record_fields() must serve values to be read and to be filled
#include "core/api/tinderbox.hpp"
class Row { public: auto record_fields() { return std::tie(x_); } private: std::string x_; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t) { return Row(); }).collect();  // MISTAKE
  (void)context;
}
