// wants: a record and its parts must not be const: elements of maps are std::pair<const K, V>
#include "core/api/tinderbox.hpp"
void job(tinderbox::Context& context) {
  const std::map<std::string, int64_t> ages{{"ada", 36}};
  context.parallelize(std::vector(ages.begin(), ages.end())).count();  // MISTAKE
  (void)context;
}
