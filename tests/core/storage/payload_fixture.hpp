// Blocks and what happens to them as words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/bytes.hpp"

namespace tinderbox::core::test {

using Lines = std::vector<std::string>;

inline Payload text(std::string bytes) { return Payload(std::move(bytes)); }

}  // namespace tinderbox::core::test
