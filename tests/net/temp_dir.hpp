// A directory of a test's own, its files, and reading one back.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tinderbox::test {

/// Goes with the object, with all that is in it.
class TempDir {
 public:
  TempDir() {
    std::string pattern = "/tmp/tinderbox-test-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  /// Writes `bytes` as `name`; returns its path.
  std::string file(const std::string& name, std::string_view bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary)
        .write(bytes.data(), std::streamsize(bytes.size()));
    return path + "/" + name;
  }

  std::string path;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace tinderbox::test
