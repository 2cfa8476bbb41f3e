// The process's one ZeroMQ context.
#pragma once

#include <memory>

namespace tinderbox::net {

/// Shared by all endpoints; ends when the last of them does, after lingering messages went out.
/// Unset until the first call, so that children may be started before without inheriting its
/// threads.
std::shared_ptr<void> socket_context();

}  // namespace tinderbox::net
