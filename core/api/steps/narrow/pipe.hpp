// Records through another program: lines to its stdin, lines of its stdout.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/input/text.hpp"
#include "core/api/steps/node.hpp"

namespace tinderbox {

/// What Rdd::pipe() runs for each partition.
struct PipeOptions {
  std::map<std::string, std::string> environment;  // beside the executor's own
  std::vector<std::string> header;                 // lines that the program reads first
  /// It runs in a directory of its own with links to all that the executor's has.
  bool separate_working_directory = false;
};

namespace core {

/// Split on white space; no shell, no quotes. Errors: throws std::invalid_argument when it is
/// empty.
std::vector<std::string> split_command(const std::string& command);

/// What the program reads: calls its argument with text until that answers false.
using PipeInput = std::function<void(const std::function<bool(std::string_view)>&)>;
/// Starts the program; `input` is run by a thread of its own, in the context `feeding`, which is
/// beside `context` and joins it at the end. Lines of the program's stdout, as they come. Errors:
/// std::runtime_error when it cannot be started, or at its end, `Subprocess exited with status N.
/// Command ran: …`; what `input` threw.
std::unique_ptr<Cursor<std::string_view>> open_pipe(const std::vector<std::string>& command,
                                                    const PipeOptions& options,
                                                    TaskContext& context,
                                                    std::shared_ptr<TaskContext> feeding,
                                                    PipeInput input);

/// Source: Spark PipedRDD.
template <class T>
class PipeNode final : public OperatorNode<PipeNode<T>, std::string_view> {
 public:
  PipeNode(std::vector<std::string> command, PipeOptions options)
      : command_(std::move(command)), options_(std::move(options)) {}
  explicit PipeNode(Decoder& in)
      : command_(decode<std::vector<std::string>>(in)), options_(decode<PipeOptions>(in)) {}
  void encode(Encoder& out) const {
    core::encode(out, command_);
    core::encode(out, options_);
  }
  std::unique_ptr<Cursor<std::string_view>> open(int32_t partition,
                                                 TaskContext& context) const override {
    std::shared_ptr<TaskContext> feeding = context.beside();
    std::shared_ptr<Cursor<T>> records;
    {
      // A parent that is kept is computed here: what fails is its context's failure.
      const CurrentContext current(feeding.get());
      records = open_parent<T>(*this, 0, partition, *feeding);
    }
    return open_pipe(
        command_, options_, context, feeding,
        [records, feeding = feeding.get()](const auto& write) { feed(*records, *feeding, write); });
  }

 private:
  static constexpr size_t kPart = 32 << 10;
  static void feed(Cursor<T>& records, TaskContext& context,
                   const std::function<bool(std::string_view)>& write) {
    Bytes lines;
    bool wanted = true;
    drive<T>(records, context, [&](T&& record) {
      append_text<T>(lines, record);
      lines += '\n';
      if (lines.size() < kPart) return true;
      wanted = write(lines);
      lines.clear();
      return wanted;
    });
    if (wanted) write(lines);
  }
  std::vector<std::string> command_;
  PipeOptions options_;
};

}  // namespace core
}  // namespace tinderbox
