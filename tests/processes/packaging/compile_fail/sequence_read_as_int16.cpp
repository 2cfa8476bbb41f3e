// wants: save other records with save_as_object_file()
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  context.sequence_file<std::string, int16_t>("x").count();  // MISTAKE
  (void)context;
}
