// wants: tinderbox cannot turn this type into bytes. Pointers (smart ones too), functions, threads, std::any
#include "core/api/tinderbox.hpp"
#include <memory>
void job(tinderbox::Context& context) {
  context.broadcast(std::make_shared<int64_t>(1));  // MISTAKE
  (void)context;
}
