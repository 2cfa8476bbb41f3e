// Input files that vanish or are damaged: skipped, where the application's settings say so.
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/api/steps/cursor.hpp"

namespace tinderbox::core {

/// What spark.files.ignoreMissingFiles and spark.files.ignoreCorruptFiles say of a task.
/// Source: Spark HadoopRDD.compute.
class SkippedFiles {
 public:
  explicit SkippedFiles(TaskContext& context);
  bool any() const { return missing_ || corrupt_; }
  /// Of a file that could not be read, or not to its end, because of `why`. True: the task goes on
  /// without what is left of it; a warning is logged.
  bool skips(const std::string& path, const std::exception& why) const;

 private:
  TaskContext& context_;
  bool missing_, corrupt_;
};

/// Of a file that ends before what it held when it was listed. Errors: throws std::runtime_error.
[[noreturn]] void fail_shorter(const std::string& path);

/// The records of a file, as far as it can be read. What its reader throws is a std::runtime_error;
/// what is thrown by whoever takes the records passes.
template <class T>
class SkippingCursor final : public Cursor<T> {
 public:
  template <class Open>
  SkippingCursor(const SkippedFiles& skipped, std::string path, const Open& open)
      : skipped_(skipped), path_(std::move(path)) {
    try {
      file_ = open();
    } catch (const std::runtime_error& why) {
      if (!skipped_.skips(path_, why)) throw;
    }
  }
  bool next(Sink<T> out) override {
    bool taken = true;
    auto take = [&](T&& record) {
      taken = false;
      const bool going = out(std::move(record));
      taken = true;
      return going;
    };
    try {
      return file_ && file_->next(sink_to<T>(take));
    } catch (const std::runtime_error& why) {
      if (!taken || !skipped_.skips(path_, why)) throw;
      return false;
    }
  }

 private:
  SkippedFiles skipped_;
  const std::string path_;
  std::unique_ptr<Cursor<T>> file_;  // null: it could not be opened
};

/// The cursor that `open()` makes of the file at `path`, or one that skips what can't be read.
template <class T, class Open>
std::unique_ptr<Cursor<T>> open_input(const std::string& path, TaskContext& context,
                                      const Open& open) {
  const SkippedFiles skipped(context);
  if (!skipped.any()) return open();
  return std::make_unique<SkippingCursor<T>>(skipped, path, open);
}

}  // namespace tinderbox::core
