// wants: for a class of your own write in it: template <class Self> static auto record_fields(Self& self)
#include "core/api/tinderbox.hpp"
struct Row { int64_t x = 0; virtual int64_t twice() const { return 2 * x; } virtual ~Row() = default; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Row r; r.x = x; return r; }).collect();  // MISTAKE
  (void)context;
}
