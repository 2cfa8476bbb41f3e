// SHA-256 of what comes part by part.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::net {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view part);
  /// 64 small hex digits of all that was added. The last call.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// Of a whole file. Errors: it cannot be read.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace tinderbox::net
