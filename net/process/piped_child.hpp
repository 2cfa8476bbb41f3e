// Programs that are run for what they print: as filters, or to their end.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/types.hpp"

namespace tinderbox::net {

/// Thread: write() and close_input() on one, all else on another.
class PipedChild {
 public:
  struct Options {
    std::string file;  // without a slash the first of that name in PATH
    std::vector<std::string> argv;
    std::map<std::string, std::string> environment;  // beside and over this process's
    /// Runs in a directory of its own, `tasks/UUID` here, with links to all that is here; removed
    /// at the end.
    bool own_directory = false;
  };
  /// Its stderr is this process's. Errors: it cannot be started.
  static Result<std::unique_ptr<PipedChild>> start(const Options& options);
  virtual ~PipedChild() = default;  // kills its process group, if it still runs

  /// Waits until the child takes it. False: it takes no more. SIGPIPE must be blocked or ignored.
  virtual bool write(std::string_view bytes) = 0;
  virtual void close_input() = 0;
  /// Bytes of its stdout into `into`; 0: it ended; nullopt: nothing came within `patience`.
  virtual std::optional<size_t> read(char* into, size_t size, Duration patience) = 0;
  /// Waits for its end: the exit code, or 128 + signal.
  virtual int wait() = 0;
  /// Ends it and all of its process group.
  virtual void kill() = 0;
};

/// Runs `file` to its end and returns its stdout; its stdin is empty. `argv` and `variables` as
/// above. Once `cancelled` is set it is killed, with its process group. Errors: it could not be
/// started, was cancelled, or ended with another code than 0. Thread: any.
Result<std::string> run_and_read(const std::string& file, const std::vector<std::string>& argv,
                                 const std::map<std::string, std::string>& variables = {},
                                 const std::atomic<bool>* cancelled = nullptr);

/// For the calling thread, for ever: a broken pipe is an error of write(), no signal.
void block_broken_pipe_signal();

}  // namespace tinderbox::net
