// wants: map each record to a std::pair of key and value
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.range(0, 10).save_as_sequence_file("x");  // MISTAKE
  (void)context;
}
