// local, local[N], local[*], local[N,F]: one executor inside the driver's process, on a loop of its
// own.
#include <thread>

#include "conf/keys.hpp"
#include "core/backend/factories.hpp"
#include "core/executor/executor_service.hpp"
#include "core/status/exit_codes.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {
namespace {

class LocalBackend final : public Backend {
 public:
  LocalBackend(const conf::LocalMaster& master, BackendPlace place)
      : place_(std::move(place)),
        threads_(master.threads.value_or(net::available_processors())),
        max_failures_(master.max_failures),
        executor_loop_(net::make_poll_loop()) {
    std::tie(driver_end_, executor_end_) = net::make_memory_endpoints(place_.loop, *executor_loop_);
  }
  ~LocalBackend() override { stop(); }

  net::Endpoint& endpoint() override { return *driver_end_; }
  bool is_local() const override { return true; }
  PeerId local_executor() const override { return net::kMemoryPeer; }
  int32_t known_cores() const override { return threads_; }
  int32_t max_task_failures() const override { return max_failures_; }

  void start(Switchboard&) override {
    AppId app{"local-" + std::to_string(epoch_millis(place_.loop.now()))};
    place_.registered(app);
    const auto ended = [this](int code, const std::string& why) {
      // There will be no other executor.
      if (code != kExitOk) place_.post(BackendDead{why});
      executor_loop_->stop();
    };
    service_ =
        std::make_unique<ExecutorService>(*executor_loop_, *executor_end_, options(app), ended);
    thread_ = std::thread([this] {
      service_->start();
      executor_loop_->run();
    });
  }
  void want(int32_t, std::vector<ProfileRequest>, const HostTasks&) override {}
  void kill(const ExecutorId&) override {}
  bool stop() override {
    if (!thread_.joinable()) return !service_;
    executor_loop_->stop();
    thread_.join();
    if (!service_->stop()) return false;
    service_.reset();
    return true;
  }

 private:
  ExecutorServiceOptions options(const AppId& app) const {
    ExecutorServiceOptions o;
    o.startup = place_.conf;
    o.shared_blocks = place_.blocks;
    o.executor.driver_address = "in process";
    o.executor.id = {"driver"};
    o.executor.host = place_.host;
    o.executor.cores = threads_;
    o.executor.who.app = app;
    o.executor.build_id = place_.build_id;
    o.executor.code_hash = place_.code_hash;
    o.executor.pid = net::process_id();
    return o;
  }

  BackendPlace place_;
  int32_t threads_;
  int32_t max_failures_;
  std::unique_ptr<net::PollLoop> executor_loop_;
  std::unique_ptr<net::Endpoint> driver_end_, executor_end_;
  std::unique_ptr<ExecutorService> service_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Backend> make_local_backend(const conf::LocalMaster& master, BackendPlace place) {
  return std::make_unique<LocalBackend>(master, std::move(place));
}

}  // namespace tinderbox::core
