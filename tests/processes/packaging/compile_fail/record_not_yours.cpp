// wants: For one that is not yours and whose bytes are its value: template <> inline constexpr bool tinderbox::kTrivialRecord<T> = true
#include "core/api/tinderbox.hpp"
#include <complex>
void job(tinderbox::Context& context) {
  context.range(0, 10).map([](int64_t x) { return std::complex<double>(static_cast<double>(x), 1); }).collect();  // MISTAKE
  (void)context;
}
