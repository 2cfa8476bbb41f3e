#include "core/api/steps/narrow/pipe.hpp"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <thread>

#include "core/plan/or_throw.hpp"
#include "net/process/piped_child.hpp"

namespace tinderbox::core {
namespace {

constexpr size_t kRead = 64 << 10;
constexpr Duration kLook = std::chrono::milliseconds(100);  // whether the task was killed

/// The thread that gives the program its input; ends when the program does.
class Feeder {
 public:
  Feeder(net::PipedChild& child, std::string header, PipeInput input, TaskContext& context)
      : thread_([this, &child, header = std::move(header), input = std::move(input), &context] {
          net::block_broken_pipe_signal();
          TaskContext::set_current(&context);
          try {
            const auto write = [&child](std::string_view text) { return child.write(text); };
            if (write(header)) input(write);
          } catch (...) {
            failure_ = std::current_exception();
          }
          child.close_input();
        }) {}
  ~Feeder() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// What the input threw. After join().
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::exception_ptr failure_;
  std::thread thread_;
};

class PipeCursor final : public Cursor<std::string_view> {
 public:
  PipeCursor(const std::vector<std::string>& command, const PipeOptions& options,
             TaskContext& context, std::shared_ptr<TaskContext> feeding, PipeInput input)
      : command_(command),
        context_(context),
        feeding_(std::move(feeding)),
        child_(start(command, options)) {
    std::string header;
    for (const std::string& line : options.header) header += line + "\n";
    feeder_.emplace(*child_, std::move(header), std::move(input), *feeding_);
  }
  ~PipeCursor() override {  // so that the feeder ends
    child_->kill();
    join();
  }

  bool next(Sink<std::string_view> out) override {
    check_killed(context_);
    context_.records_read += feeding_->records_read;
    rest_.resize(used_ + kRead);
    const auto n = child_->read(rest_.data() + used_, kRead, kLook);
    if (!n) return true;
    if (*n == 0) return end(out);
    // What was there before has no end of a line.
    size_t begin = 0, from = used_;
    used_ += *n;
    for (size_t at; (at = find_newline(from)) != std::string::npos; from = begin = at + 1)
      if (!out(std::string_view(rest_).substr(begin, at - begin))) return false;
    rest_.erase(0, begin);
    used_ -= begin;
    return true;
  }

 private:
  static std::unique_ptr<net::PipedChild> start(const std::vector<std::string>& command,
                                                const PipeOptions& options) {
    return or_throw(net::PipedChild::start(
        {command.front(), command, options.environment, options.separate_working_directory}));
  }
  size_t find_newline(size_t from) const {
    return std::string_view(rest_).substr(0, used_).find('\n', from);
  }
  bool end(Sink<std::string_view> out) {
    if (used_ > 0 && !out(std::string_view(rest_).substr(0, used_))) return false;
    used_ = 0;
    const int status = child_->wait();
    join();
    feeder_->rethrow();
    if (status != 0)
      throw std::runtime_error("Subprocess exited with status " + std::to_string(status) +
                               ". Command ran: " + absl::StrJoin(command_, " "));
    return false;
  }

  void join() {
    feeder_->join();
    context_.join(*feeding_);
  }

  const std::vector<std::string> command_;
  TaskContext& context_;
  const std::shared_ptr<TaskContext> feeding_;
  std::unique_ptr<net::PipedChild> child_;
  std::optional<Feeder> feeder_;
  Bytes rest_;
  size_t used_ = 0;  // of rest_
};

}  // namespace

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words =
      absl::StrSplit(command, absl::ByAnyChar(" \t\n\r\f"), absl::SkipEmpty());
  if (words.empty()) throw std::invalid_argument("pipe() was given no command");
  return words;
}

std::unique_ptr<Cursor<std::string_view>> open_pipe(const std::vector<std::string>& command,
                                                    const PipeOptions& options,
                                                    TaskContext& context,
                                                    std::shared_ptr<TaskContext> feeding,
                                                    PipeInput input) {
  return std::make_unique<PipeCursor>(command, options, context, std::move(feeding),
                                      std::move(input));
}

}  // namespace tinderbox::core
