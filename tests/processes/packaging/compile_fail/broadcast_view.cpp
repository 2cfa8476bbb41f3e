// wants: text is passed as a std::string
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.broadcast(std::string_view("a"));  // MISTAKE
  (void)context;
}
