// local-cluster[W,C,M]: a master and W workers on a loop of their own inside the driver's process;
// executors are real child processes. Source: Spark LocalSparkCluster.
#include <thread>

#include "conf/keys.hpp"
#include "core/backend/standalone.hpp"
#include "core/deploy/master/master_service.hpp"
#include "core/deploy/worker/worker_service.hpp"

namespace tinderbox::core {
namespace {

constexpr const char* kHost = "127.0.0.1";

void check_memory(const conf::LocalClusterMaster& m, const conf::Conf& conf) {
  int64_t asked = conf.get(conf::kExecutorMemory) >> 20;
  if (asked > m.memory_mib)
    throw conf::Error("Asked to launch cluster with " + std::to_string(m.memory_mib) +
                      " MiB/worker but requested " + std::to_string(asked) + " MiB/executor");
}

/// Master and workers; the thread that starts executors lives until all of them have ended.
class Cluster {
 public:
  Cluster(const conf::LocalClusterMaster& m, const BackendPlace& place)
      : loop_(net::make_poll_loop()),
        files_(place.blocks->files.get()),
        work_dir_(place.blocks->manager->local_dirs().front() + "/cluster") {
    master_ = std::make_unique<MasterService>(
        *loop_,
        MasterServiceOptions{place.conf.with(conf::kDeployRecoveryMode, "NONE"), kHost, kHost, 0,
                             std::nullopt, kHost},
        [](int, const std::string&) {});
    for (int i = 0; i < m.workers; ++i)
      workers_.push_back(
          std::make_unique<WorkerService>(*loop_, worker_options(m, place.conf, i),
                                          [this](int, const std::string&) { worker_ended(); }));
    running_ = m.workers;
    thread_ = std::thread([this] {
      master_->start();
      for (auto& worker : workers_) worker->start();
      loop_->run();
      workers_.clear();
      master_.reset();
    });
  }
  ~Cluster() { stop(); }
  const std::string& url() const { return master_->url(); }

  /// Workers first, then the master.
  void stop() {
    if (!thread_.joinable()) return;
    loop_->post([this] {
      for (auto& worker : workers_) worker->stop();
      if (running_ == 0) loop_->stop();
    });
    thread_.join();
    if (auto removed = files_->remove_tree(work_dir_); !removed)
      net::log(net::Level::Warn, "LocalCluster", removed.error().message);
  }

 private:
  WorkerServiceOptions worker_options(const conf::LocalClusterMaster& m, const conf::Conf& conf,
                                      int i) const {
    WorkerServiceOptions o;
    o.conf = conf;
    o.masters = {master_->url()};
    o.host = o.bind_host = o.public_host = kHost;
    o.cores = m.cores;
    o.memory_mib = m.memory_mib;
    o.work_dir = work_dir_ + "/worker-" + std::to_string(i);
    return o;
  }
  void worker_ended() {
    if (--running_ == 0) loop_->stop();
  }

  std::unique_ptr<net::PollLoop> loop_;
  net::Files* files_;
  std::string work_dir_;  // among the driver's blocks, where a directory can be used
  std::unique_ptr<MasterService> master_;
  std::vector<std::unique_ptr<WorkerService>> workers_;
  int running_ = 0;  // workers; the loop's thread
  std::thread thread_;
};

/// The standalone backend against a cluster that it owns.
class LocalClusterBackend final : public Backend {
 public:
  LocalClusterBackend(const conf::LocalClusterMaster& m, BackendPlace place) : cluster_(m, place) {
    inner_ = make_standalone_backend({cluster_.url()}, std::move(place), m.workers * m.cores);
  }
  net::Endpoint& endpoint() override { return inner_->endpoint(); }
  int32_t known_cores() const override { return inner_->known_cores(); }
  void start(Switchboard& board) override { inner_->start(board); }
  void want(int32_t executors, std::vector<ProfileRequest> profiles,
            const HostTasks& local_tasks) override {
    inner_->want(executors, std::move(profiles), local_tasks);
  }
  void kill(const ExecutorId& executor) override { inner_->kill(executor); }
  bool stop() override {
    inner_->stop();
    cluster_.stop();
    return true;
  }

 private:
  Cluster cluster_;
  std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> make_local_cluster_backend(const conf::LocalClusterMaster& master,
                                                    BackendPlace place) {
  check_memory(master, place.conf);
  return std::make_unique<LocalClusterBackend>(master, std::move(place));
}

}  // namespace tinderbox::core
