// wants: sums and statistics need an Rdd of numbers: map() its records to numbers first
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.text_file("x").stats();  // MISTAKE
  (void)context;
}
