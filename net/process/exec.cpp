// execve and the clock.
#include "net/process/exec.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tinderbox::net {

Error exec(const std::string& path, const std::vector<std::string>& argv) {
  std::vector<char*> pointers;
  for (const std::string& one : argv) pointers.push_back(const_cast<char*>(one.c_str()));
  pointers.push_back(nullptr);
  execve(path.c_str(), pointers.data(), environ);
  return Error{"Cannot run " + path + ": " + std::strerror(errno)};
}

Time wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time(std::chrono::duration_cast<Duration>(now));
}

}  // namespace tinderbox::net
