// The file of a recovery log: read and compacted at start, then appended to.
#pragma once

#include <memory>
#include <string>

#include "core/deploy/master/recovery.hpp"
#include "net/files/files.hpp"

namespace tinderbox::core {

/// Thread: one at a time.
class RecoveryLog {
 public:
  /// Opens `directory`/master.log, or makes it. A torn or damaged end is left behind and told in
  /// `warning`. Errors: conf::Error, one line.
  RecoveryLog(net::Files& files, const std::string& directory);
  RecoveredState take_state() { return std::move(state_); }
  const std::string& warning() const { return warning_; }
  /// The record is on the disk when this returns.
  Result<bool> append(std::string_view record);

 private:
  RecoveredState state_;
  std::string warning_;
  std::unique_ptr<net::WriteFile> file_;
};

}  // namespace tinderbox::core
