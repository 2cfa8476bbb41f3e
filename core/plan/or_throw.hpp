// A failed Result as what a task, or a user of the API, expects: an exception.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::core {

/// Errors: throws std::runtime_error, `what` and a colon before the message if it is given.
template <class T>
T or_throw(Result<T> result, std::string_view what = {}) {
  if (!result)
    throw std::runtime_error(std::string(what) + (what.empty() ? "" : ": ") +
                             result.error().message);
  return std::move(*result);
}

}  // namespace tinderbox::core
