// The one exception of conf: bad input found at start-up.
#pragma once
#include <stdexcept>
#include <string>

namespace tinderbox::conf {

/// Something a person wrote (option, key, value, file, URL) cannot be used; what() is one line.
/// main prints it as `Error: …` and exits with exit_code().
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, int exit_code = 1)
      : std::runtime_error(message), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

}  // namespace tinderbox::conf
