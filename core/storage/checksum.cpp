#include "core/storage/checksum.hpp"

#include <xxhash.h>

#include <memory>

namespace tinderbox::core {

uint64_t checksum(const Payload& bytes, std::string_view part) {
  if (part.size() <= Payload::kForget) return XXH3_64bits(part.data(), part.size());
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  while (!part.empty()) {
    const std::string_view window = part.substr(0, Payload::kForget);
    XXH3_64bits_update(state.get(), window.data(), window.size());
    bytes.forget(window);
    part.remove_prefix(window.size());
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace tinderbox::core
