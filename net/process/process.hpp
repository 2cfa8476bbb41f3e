// Child processes of a loop: started fast from any process, their ends reported as events.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/http/fetch.hpp"
#include "net/loop.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

/// What to start. Nothing secret belongs into `arguments`: everyone on the machine can read them.
struct SpawnSpec {
  uint64_t ticket = 0;
  std::string file;      // ELF: a path, or a URL that is fetched into `directory` first
  std::string build_id;  // refuse another file; empty: any tinderbox application
  std::vector<std::string> arguments;              // argv[1…]; the role first
  std::map<std::string, std::string> environment;  // beside and over the parent's
  /// Text of a properties file. Not empty: the child gets it as descriptor 3 (memory, or an unnamed
  /// file) and `--properties-file /proc/self/fd/3` behind its first argument.
  std::string properties;
  std::string directory;  // made new; working directory; gets the files stdout and stderr
  std::string title = "Spark Executor Command";  // first words of the file stderr
  std::map<std::string, std::string> files;      // text by name, written into `directory` first
};

/// How a child ended.
struct ChildEnd {
  int32_t status = 0;          // exit code, or 128 + signal
  bool signalled = false;      // by a signal
  bool out_of_memory = false;  // SIGKILL, and the kernel says that it killed for memory
};

/// Thread: the loop's; the loop's thread must live as long as the children, which end with it.
class Processes {
 public:
  struct Handler {
    /// The child runs, or why it can't. Once for each spawn(), never from within it.
    std::function<void(uint64_t ticket, Result<int64_t> pid)> on_started;
    /// A started child ended.
    std::function<void(uint64_t ticket, ChildEnd end)> on_exited;
  };
  /// `redact` hides secrets in the command that the file stderr begins with; `peer` reads spark://
  /// URLs.
  Processes(PollLoop& loop, Handler handler,
            std::function<std::string(std::string_view)> redact = {}, PeerFile peer = {});
  /// Kills what still runs.
  ~Processes();

  /// Starts a child in a process group of its own: fresh signal handling, no descriptor but 0 to 2
  /// (and 3, see `properties`), SIGKILL when this thread ends. Errors, by on_started: the directory
  /// exists (unless an earlier spawn of this object made it) or can't be made; the file can't be
  /// had, is no tinderbox application or of another build; no resources.
  void spawn(SpawnSpec spec);
  /// Unknown tickets are ignored. SIGKILL reaches all of the child's process group, other signals
  /// the child; while its file is still being fetched any signal ends the attempt.
  void signal(uint64_t ticket, int number);
  /// Children that run or are about to.
  size_t count() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // posted tasks hold it weakly
};

}  // namespace tinderbox::net
