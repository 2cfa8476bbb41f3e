// A failed Result as what tasks and users of the API expect: an exception.
#pragma once

#include <stdexcept>

#include "net/types.hpp"

namespace tinderbox::core {

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

}  // namespace tinderbox::core
