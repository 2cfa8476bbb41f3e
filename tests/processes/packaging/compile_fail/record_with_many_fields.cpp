// wants: finds the fields of a struct with at most 20: write in it
#include "core/api/tinderbox.hpp"
struct Row { int64_t a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u; std::string v; };
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { Row r{}; r.a = x; return r; }).collect();  // MISTAKE
  (void)context;
}
