// Who speaks.
#pragma once

#include <string>

#include "net/types.hpp"

namespace tinderbox {

/// Who speaks, in every first message of a conversation. The fields stay empty without
/// authentication.
struct Identity {
  std::string user;
  AppId app;
  int64_t epoch = 0;  // of the sender's incarnation
  std::string token;
  bool operator==(const Identity&) const = default;
};

}  // namespace tinderbox
