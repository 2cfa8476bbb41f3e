// A folder for what a role fetches.
#pragma once

#include <string>

namespace tinderbox::cmd {

/// Ends with its owner, unless it is empty: nobody needed it. An exec leaves it to what this
/// process becomes.
class TemporaryFolder {
 public:
  /// Owns what another process made.
  explicit TemporaryFolder(std::string path = {}) : path_(std::move(path)) {}
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// A new one below TMPDIR or /tmp; its path. Errors: conf::Error.
  const std::string& make();
  void remove() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tinderbox::cmd
