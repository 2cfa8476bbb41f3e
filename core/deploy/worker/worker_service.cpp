#include "core/deploy/worker/worker_service.hpp"

#include <filesystem>
#include <thread>

#include "conf/keys.hpp"
#include "conf/secret.hpp"
#include "conf/sources/properties.hpp"
#include "conf/values/custom_resources.hpp"
#include "core/deploy/pages.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/deploy/worker/log_page.hpp"
#include "core/deploy/worker/peer_file.hpp"
#include "core/deploy/worker/work_dirs.hpp"
#include "core/deploy/worker/worker.hpp"
#include "core/resources/discovery.hpp"
#include "core/shell.hpp"
#include "net/names.hpp"
#include "net/process/elf.hpp"
#include "net/process/process.hpp"

namespace tinderbox::core {
namespace {

/// Runs what would hold up the worker's loop, in order, on a thread of its own.
class Background {
 public:
  Background() : loop_(net::make_poll_loop()), thread_([this] { loop_->run(); }) {}
  /// What was given is done first.
  ~Background() {
    loop_->post([this] { loop_->stop(); });
    thread_.join();
  }
  void run(net::Loop::Task task) { loop_->post(std::move(task)); }

 private:
  std::unique_ptr<net::PollLoop> loop_;
  std::thread thread_;
};

conf::Pairs pairs_of(const std::map<std::string, std::string>& properties) {
  return {properties.begin(), properties.end()};
}

}  // namespace

class WorkerService::Impl {
 public:
  Impl(net::PollLoop& loop, WorkerServiceOptions options, OnExit on_exit)
      : loop_(loop),
        options_(std::move(options)),
        on_exit_(std::move(on_exit)),
        files_(net::make_real_files()),
        endpoint_(net::make_socket_endpoint(loop)),
        board_(*endpoint_),
        zone_(local_zone(loop.now())),
        processes_(loop, process_handler(), conf::text_redaction(options_.conf),
                   peer_file(options_.conf)) {
    int port =
        listen_on(*endpoint_, options_.conf, options_.bind_host, options_.port, "sparkWorker");
    if (options_.web_ui_port) start_pages();
    machine_ = std::make_unique<Worker>(machine_options(port),
                                        run_seed(loop.now()) + static_cast<uint64_t>(port));
    // Last of what may fail: a worker that is refused leaves nothing behind.
    Result<bool> made = files_->make_directories(options_.work_dir);
    if (!made) throw conf::Error("Failed to create work directory: " + made.error().message);
    shell_ = std::make_unique<Shell<Worker, Impl>>(loop_, board_, *machine_, *this, "Worker");
    shell_->listen<ToWorker>();
    shell_->listen_losses();
  }

  void start() {
    net::log(net::Level::Info, "Worker", "Work directory: " + options_.work_dir);
    if (pages_) net::log(net::Level::Info, "Worker", "Bound WorkerWebUI to " + web_ui_url_);
    shell_->feed(StartWorker{});
  }
  void stop() { shell_->feed(StopWorker{}); }
  void decommission() { shell_->feed(DecommissionWorker{}); }

  /// Nothing needs to be fetched for the very build that this process runs.
  static bool has_copy_of(const std::string& build_id) {
    return !build_id.empty() && build_id == net::own_build_id() && !net::own_path().empty();
  }
  void apply(const Spawn& e) {
    net::SpawnSpec s;
    s.ticket = e.ticket;
    s.file = has_copy_of(e.build_id) ? net::own_path() : e.file;
    s.build_id = e.build_id;
    s.arguments = e.arguments;
    s.environment = e.environment;
    s.properties = conf::to_properties(pairs_of(e.properties));
    s.directory = e.directory;
    s.files = e.files;
    if (!e.arguments.empty() && e.arguments[0] == "driver") s.title = "Launch Command";
    processes_.spawn(std::move(s));
  }
  void apply(const Signal& e) { processes_.signal(e.ticket, e.number); }
  void apply(const MakeDirectories& e) {
    for (const std::string& path : e.paths) {
      Result<bool> made = files_->make_directories(path);
      std::error_code ignored;  // made with the umask's mode then
      std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
      if (!made) net::log(net::Level::Warn, "Worker", made.error().message);
    }
  }
  void apply(const RemoveDirectories& e) {
    background_.run([this, paths = e.paths] {
      for (const std::string& path : paths)
        if (Result<bool> gone = files_->remove_tree(path); !gone)
          net::log(net::Level::Warn, "Worker", gone.error().message);
    });
  }
  void apply(const CleanWorkDirs& e) {
    background_.run([this, e] { shell_->post(clean_work_dirs(*files_, e, loop_.now())); });
  }
  void apply(const Exit& e) { on_exit_(e.code, e.reason); }

  const std::string& web_ui_url() const { return web_ui_url_; }
  WorkerStatus status() const { return machine_->status(); }

 private:
  net::Processes::Handler process_handler() {
    return {[this](uint64_t ticket, Result<int64_t> pid) {
              if (pid)
                shell_->feed(ProcessStarted{ticket, *pid, ""});
              else
                shell_->feed(ProcessStarted{ticket, 0, pid.error().message});
            },
            [this](uint64_t ticket, net::ChildEnd end) {
              shell_->feed(ProcessExited{ticket, end.status, end.signalled, end.out_of_memory});
            }};
  }

  WorkerOptions machine_options(int port) const {
    WorkerOptions o = worker_options(options_.conf);
    o.host = options_.host;
    o.port = port;
    o.web_ui_url = web_ui_url_;
    o.cores = options_.cores;
    o.memory_mib = options_.memory_mib;
    o.resources = find_own_resources();
    o.masters = options_.masters;
    o.work_dir = options_.work_dir;
    o.zone = zone_;
    return o;
  }

  /// Errors: conf::Error.
  ResourceAddresses find_own_resources() const {
    std::map<std::string, ExecutorResource> wanted;
    for (const auto& [name, setting] :
         conf::resource_settings(options_.conf, conf::ResourceOwner::kWorker))
      wanted[name] = {setting.amount, setting.discovery_script};
    Result<ResourceAddresses> found =
        find_resources(*files_, conf::component_of(conf::ResourceOwner::kWorker), wanted,
                       options_.conf.get(conf::kWorkerResourcesFile));
    if (!found) throw conf::Error("Failed to setup worker resources: " + found.error().message);
    return std::move(*found);
  }

  void start_pages() {
    pages_ = std::make_unique<StatusPages>(
        loop_, options_.conf, options_.bind_host, *options_.web_ui_port, "WorkerUI",
        [this] { return worker_page(status()); },
        [this](const std::string&) { return worker_json(status()); },
        StatusPages::More{{"/log", log_text(*files_, options_.work_dir)},
                          {"/logPage", log_page(*files_, options_.work_dir)}});
    web_ui_url_ =
        "http://" + net::bracketed(options_.public_host) + ":" + std::to_string(pages_->port());
  }

  net::PollLoop& loop_;
  WorkerServiceOptions options_;
  OnExit on_exit_;
  std::unique_ptr<net::Files> files_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  Switchboard board_;
  Zone zone_;
  std::string web_ui_url_;
  std::unique_ptr<Worker> machine_;
  std::unique_ptr<Shell<Worker, Impl>> shell_;
  net::Processes processes_;
  std::unique_ptr<StatusPages> pages_;
  Background background_;  // ends first: its tasks use what is above
};

WorkerService::WorkerService(net::PollLoop& loop, WorkerServiceOptions options, OnExit on_exit)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_exit))) {}
WorkerService::~WorkerService() = default;
void WorkerService::start() { impl_->start(); }
void WorkerService::stop() { impl_->stop(); }
void WorkerService::decommission() { impl_->decommission(); }
const std::string& WorkerService::web_ui_url() const { return impl_->web_ui_url(); }
WorkerStatus WorkerService::status() const { return impl_->status(); }

}  // namespace tinderbox::core
