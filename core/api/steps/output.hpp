// Saving text: each task writes a file of its own and moves it into place, or completes it there,
// once the driver lets it.
#pragma once

#include "core/api/context.hpp"
#include "core/api/input/text.hpp"
#include "core/api/steps/node.hpp"
#include "net/files/byte_source.hpp"

namespace tinderbox {

using net::Compression;

}  // namespace tinderbox

namespace tinderbox::core {

/// The driver's side of one save. Source: Hadoop FileOutputCommitter, algorithm 2; for object
/// stores hadoop-aws MagicS3GuardCommitter, but that a task completes its uploads itself.
class OutputDirectory {
 public:
  /// Errors: throws std::runtime_error `Output directory P already exists`, unless the settings
  /// let it, or when it cannot be made.
  OutputDirectory(Context& context, const std::string& path);
  const std::string& path() const { return path_; }
  /// All parts are there: writes _SUCCESS.
  void commit();
  /// The job failed: removes what attempts left behind.
  void abort();

 private:
  /// Removes what attempts left behind, as far as it can: the output is whole without it.
  void sweep();
  Context& context_;
  std::string path_;
};

/// part-NNNNN, the name of a partition's file.
std::string part_name(int32_t partition);

/// One attempt's `part-NNNNN`. Thread: one task's.
class PartFile {
 public:
  PartFile(const std::string& directory, TaskContext& context,
           net::Compression how = net::Compression::None);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  /// Where the next line is appended; call line_added() after it.
  Bytes& buffer() { return buffer_; }
  void line_added() {
    ++lines_;
    if (buffer_.size() >= kFlush) flush();
  }
  /// Errors: throws CommitDeniedException when another attempt may commit, std::runtime_error when
  /// a disk fails.
  void commit();

 private:
  static constexpr size_t kFlush = 256 << 10;
  void flush();
  TaskContext& context_;
  net::Compression how_;
  std::string attempt_directory_;  // empty: it is written in place
  std::string attempt_path_, final_path_;
  std::unique_ptr<net::WriteFile> file_;
  Bytes buffer_;
  int64_t lines_ = 0;
};

struct SaveText {
  Datum<std::string> directory;
  Datum<net::Compression> how;
  auto parts() const { return std::tie(directory, how); }
  template <class T>
  void operator()(Cursor<T>& in, TaskContext& context) const {
    PartFile file(directory.value, context, how.value);
    drive<T>(in, context, [&](T&& record) {
      append_text<T>(file.buffer(), record);
      file.buffer() += '\n';
      file.line_added();
      return true;
    });
    file.commit();
  }
};

}  // namespace tinderbox::core
