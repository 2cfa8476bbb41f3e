// wants: add() was given what this accumulator does not add
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  auto count = context.long_accumulator();
  count.add(std::string("1"));  // MISTAKE
}
