#include "core/api/steps/by_key/sort_prefix.hpp"

#include <boost/sort/spreadsort/integer_sort.hpp>

namespace tinderbox::core {

void sort_by_prefix(std::vector<SortEntry>& places) {
  boost::sort::spreadsort::integer_sort(
      places.begin(), places.end(),
      [](const SortEntry& e, unsigned shift) { return e.prefix >> shift; },
      [](const SortEntry& a, const SortEntry& b) { return a.prefix < b.prefix; });
}

}  // namespace tinderbox::core
