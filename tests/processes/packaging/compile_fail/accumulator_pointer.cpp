// wants: tinderbox cannot turn this type into bytes. Pointers (smart ones too), functions, threads, std::any
#include "core/api/tinderbox.hpp"
#include <memory>
void job(tinderbox::Context& context) {
  auto merge = [](auto&, const auto&) {};
  context.accumulator(std::make_shared<int64_t>(1), merge);  // MISTAKE
  (void)context, (void)merge;
}
