// The standalone backend for other backends that bring a master of their own. Private to
// core/backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/backend/factories.hpp"

namespace tinderbox::core {

/// `masters`: spark://host:port each; `known_cores` of the cluster, 0 when they are not known.
std::unique_ptr<Backend> make_standalone_backend(std::vector<std::string> masters,
                                                 BackendPlace place, int32_t known_cores);

}  // namespace tinderbox::core
