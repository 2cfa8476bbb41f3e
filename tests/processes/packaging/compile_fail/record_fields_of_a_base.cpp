// wants: record_fields() is that of a base and leaves out what this struct adds: write one in it
#include "core/api/tinderbox.hpp"
struct Account {
  int64_t balance = 0;
  template <class Self> static auto record_fields(Self& self) { return std::tie(self.balance); }
};
struct Premium : Account { int64_t bonus = 0; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Premium p; p.balance = p.bonus = x; return p; }).collect();  // MISTAKE
  (void)context;
}
