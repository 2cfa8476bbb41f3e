// Where executors come from. One small interface; a master URL's scheme picks the implementation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conf/conf.hpp"
#include "core/executor/process_blocks.hpp"
#include "core/scheduler/driver_io.hpp"
#include "core/shell.hpp"
#include "net/loop.hpp"

namespace tinderbox::core {

/// Host → tasks that wait and have their data there.
using HostTasks = std::map<std::string, int32_t>;

/// What a backend is given. Thread: `post`, `registered` and `failed` from any thread.
struct BackendPlace {
  net::PollLoop& loop;  // the driver's
  conf::Conf conf;
  std::string app_name;
  std::string build_id, code_hash;
  ProcessBlocks* blocks;  // the driver's own; local executors share them
  std::string host;       // as executors reach the driver
  std::function<void(DriverEvent)> post;
  /// Once: the application has an id, executors may come from now on.
  std::function<void(AppId)> registered;
};

/// Thread: the driver's loop, but for the constructor and stop(), which the user's thread calls
/// while the loop does not run yet or any more for this application. Source: Spark
/// SchedulerBackend, ExternalClusterManager.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Over which executors speak to the driver.
  virtual net::Endpoint& endpoint() = 0;
  /// Asks the cluster manager for the application's executors. `board` sits on endpoint().
  virtual void start(Switchboard& board) = 0;
  /// How many executors of the default resource profile, and of others, there should be.
  /// `local_tasks`: of tells_local_tasks().
  virtual void want(int32_t executors, std::vector<ProfileRequest> profiles,
                    const HostTasks& local_tasks) = 0;
  /// It places executors where tasks that wait have their data.
  virtual bool tells_local_tasks() const { return false; }
  /// An executor registered with the driver; it is no executor of the driver's any more.
  virtual void joined(const ExecutorId&) {}
  virtual void left(const ExecutorId&) {}
  /// The driver decommissions it: it gets no more tasks.
  virtual void decommissioned(const ExecutorId&) {}
  /// It began this executor in a pod without an id; its id is this now.
  virtual void named(const ExecutorId&, const std::string& /*pod*/) {}
  /// Cores that should be there before the first job runs, while
  /// spark.scheduler.minRegisteredResourcesRatio does not say so; 0: none need be.
  virtual double cores_to_begin() const { return 0; }
  /// What the process is to end with when the cluster manager gave up; 0: it did not.
  virtual int exit_code() const { return 0; }
  /// Another one takes its place where there are fewer than are wanted.
  virtual void kill(const ExecutorId& executor) = 0;
  /// False: a task runs on in this process, which the destructor would wait for.
  virtual bool stop() = 0;
  /// Cores that tasks may use in all, for the default parallelism; 0: only known once executors
  /// came.
  virtual int32_t known_cores() const { return 0; }
  /// Failures of one task that end its job; negative: spark.task.maxFailures decides.
  virtual int32_t max_task_failures() const { return -1; }
  virtual bool is_local() const { return false; }
  /// The peer that is an executor inside this process and shares its blocks; 0: none.
  virtual PeerId local_executor() const { return 0; }
};

/// Errors: conf::Error for a URL that no backend takes (names those that there are), or an address
/// that cannot be listened on.
std::unique_ptr<Backend> make_backend(const std::string& master, BackendPlace place);

}  // namespace tinderbox::core
