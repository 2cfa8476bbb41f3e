// The application's own program, handed out by the driver to executors that lack it.
#pragma once

#include <string>

#include "core/backend/backend.hpp"

namespace tinderbox::core {

/// The name by which executors get it.
inline constexpr const char* kApplicationFile = "application";

/// Its URL for executors. Errors: conf::Error when a file of that name is shipped too.
std::string hand_out_application(const ProcessBlocks& blocks);

}  // namespace tinderbox::core
