#include "core/api/input/skipping.hpp"

#include "conf/keys.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/shuffle/task_setting.hpp"
#include "net/log.hpp"

namespace tinderbox::core {

SkippedFiles::SkippedFiles(TaskContext& context)
    : context_(context),
      missing_(task_setting(*context.services, conf::kFilesIgnoreMissing)),
      corrupt_(task_setting(*context.services, conf::kFilesIgnoreCorrupt)) {}

bool SkippedFiles::skips(const std::string& path, const std::exception& why) const {
  const auto stat = context_.services->files().stat(path);
  const bool is_missing = stat && !*stat;
  if (!(is_missing ? missing_ : corrupt_)) return false;
  net::log(
      net::Level::Warn, "Input",
      (is_missing ? "Skipped missing file: " : "Skipped the rest content in the corrupted file: ") +
          shown_path(path) + ": " + why.what());
  return true;
}

void fail_shorter(const std::string& path) {
  throw std::runtime_error("'" + shown_path(path) + "' became shorter while it was read");
}

}  // namespace tinderbox::core
