// A child process that is written to and read from: a filter.
#pragma once

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
    std::vector<std::string> argv;                   // the program first; looked for in PATH
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

/// For the calling thread, for ever: a broken pipe is an error of write(), no signal.
void block_broken_pipe_signal();

}  // namespace tinderbox::net
