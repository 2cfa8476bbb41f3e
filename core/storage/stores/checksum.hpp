// The checksum of blocks on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/types.hpp"

struct XXH3_state_s;

namespace tinderbox::core {

/// XXH3 of `part` of `bytes`. Of a file that is mapped no more than a few megabytes are in this
/// process's memory meanwhile, and afterwards.
uint64_t checksum(const Payload& bytes, std::string_view part);
inline uint64_t checksum(const Payload& bytes) { return checksum(bytes, bytes.view()); }

/// The same of bytes that come in parts.
class RunningChecksum {
 public:
  RunningChecksum();
  void add(std::string_view bytes);
  uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace tinderbox::core
