#include "cmd/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "conf/error.hpp"
#include "net/files/files.hpp"

namespace tinderbox::cmd {

const std::string& TemporaryFolder::make() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent && *parent ? parent : "/tmp") + "/tinderbox-submit-XXXXXX";
  if (!mkdtemp(path.data()))
    throw conf::Error("Cannot make a folder for the application file below " + path + ": " +
                      std::strerror(errno) + "; set TMPDIR to one that can be written");
  return path_ = path;
}

void TemporaryFolder::remove() const {
  if (!path_.empty()) (void)net::make_real_files()->remove_tree(path_);
}

}  // namespace tinderbox::cmd
