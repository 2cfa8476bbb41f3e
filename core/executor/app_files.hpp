// Files and archives of an application (--files, --archives): handed out by the driver, fetched by
// executors into their working directories before they run tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "conf/conf.hpp"
#include "core/executor/executor.hpp"
#include "core/storage/block_manager.hpp"
#include "net/mutex.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// Makes the driver's local files readable at `address` (host:port of its block server) and returns
/// spark.files and spark.archives as executors are to see them; other URLs stay as they are.
/// Errors: conf::Error for what no executor could use: a file that is not there, a directory, an
/// unreadable file, one with the name of another one, an archive of no known kind, an unknown
/// scheme.
std::map<std::string, std::string> hand_out_app_files(const conf::Conf& conf, BlockManager& blocks,
                                                      const std::string& address);

/// One entry of either list: file:/a/b.txt#c → spark://address/files/b.txt#c. Errors: as above, but
/// for archives.
std::string hand_out_app_file(const std::string& entry, BlockManager& blocks,
                              const std::string& address);

/// For executors of this process, who read the files where they are. Errors: as above.
void check_app_files(const conf::Conf& conf, BlockManager& blocks);
void check_app_file(const std::string& entry, BlockManager& blocks);

/// What spark.files and spark.archives name.
AddFiles app_files(const conf::Conf& conf);
/// Fetches `what` into `directory`. Thread: any; blocks; looks at `cancelled` between two parts.
/// Errors: one line for the first that can't be had.
Result<bool> fetch_app_files(const AddFiles& what, const conf::Conf& conf,
                             const std::string& directory,
                             const std::atomic<bool>* cancelled = nullptr);

/// fetch_app_files outside tests.
using FetchFiles = std::function<Result<bool>(const AddFiles&, const std::atomic<bool>& cancelled)>;

/// Fetches one AddFiles after the other on a thread of its own, which the first one begins: a loop
/// would hear nothing meanwhile. Thread: its owner's.
class FileFetcher {
 public:
  using OnFetched = std::function<void(Result<bool>)>;
  /// `on_fetched` is called on the fetching thread, once for each add(), in order.
  FileFetcher(FetchFiles fetch, OnFetched on_fetched);
  /// Cancels, and waits for the thread however long it takes.
  ~FileFetcher();
  void add(AddFiles files);
  /// Cancels; nothing that waits is fetched. False: a fetch has not looked at its mark within
  /// `patience`, and goes on.
  bool stop_within(std::chrono::milliseconds patience);

 private:
  void cancel();
  void join();
  void work();

  const FetchFiles fetch_;
  const OnFetched on_fetched_;
  std::atomic<bool> cancelled_{false};
  net::Mutex mutex_;
  net::Condition changed_;
  std::deque<AddFiles> queue_ GUARDED_BY(mutex_);
  bool working_ GUARDED_BY(mutex_) = false;  // the thread has not come to its end
  std::thread thread_;
};

/// What the driver ordered after files that have not come: launches, which must find them, and
/// what must not overtake a launch. Thread: one loop's.
class HeldOrders {
 public:
  using Order = std::variant<KeepProgram, DropProgram, StartTasks>;
  /// Files are still to come.
  bool holds() const { return !groups_.empty(); }
  /// What is held from now on waits for one more AddFiles.
  void files_ordered() { groups_.emplace_back(); }
  /// Only while holds().
  void hold(Order order) { groups_.back().push_back(std::move(order)); }
  /// The oldest files came. Returns what waited for them and for no later ones, in order.
  std::vector<Order> files_came();
  /// Those of `tasks` whose launches are held; they never start.
  std::vector<TaskId> take_back(std::vector<TaskId> tasks);

 private:
  std::deque<std::vector<Order>> groups_;  // one for each AddFiles that has not come: what follows
};

}  // namespace tinderbox::core
