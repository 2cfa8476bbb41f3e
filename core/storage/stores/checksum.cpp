#include "core/storage/stores/checksum.hpp"

#include <xxhash.h>

namespace tinderbox::core {

uint64_t checksum(const Payload& bytes, std::string_view part) {
  if (part.size() <= Payload::kForget) return XXH3_64bits(part.data(), part.size());
  RunningChecksum sum;
  bytes.each_window(part, [&](std::string_view window) { sum.add(window); });
  return sum.value();
}

RunningChecksum::RunningChecksum() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }

void RunningChecksum::add(std::string_view bytes) {
  XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}

uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(state_.get()); }

void RunningChecksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

}  // namespace tinderbox::core
