#include "core/deploy/master/master_service.hpp"

#include "conf/keys.hpp"
#include "conf/values/address.hpp"
#include "core/deploy/master/master.hpp"
#include "core/deploy/master/recovery_log.hpp"
#include "core/deploy/pages.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/shell.hpp"
#include "net/names.hpp"
#include "net/process/file_lock.hpp"

namespace tinderbox::core {

class MasterService::Impl {
 public:
  Impl(net::PollLoop& loop, MasterServiceOptions options, OnExit on_exit)
      : loop_(loop),
        options_(std::move(options)),
        on_exit_(std::move(on_exit)),
        files_(net::make_real_files()),
        endpoint_(net::make_socket_endpoint(loop)),
        board_(*endpoint_),
        zone_(local_zone(loop.now())) {
    int port =
        listen_on(*endpoint_, options_.conf, options_.bind_host, options_.port, "sparkMaster");
    open_recovery();
    url_ = "spark://" + conf::to_string({options_.host, static_cast<uint16_t>(port)});
    if (options_.web_ui_port) start_pages();
    MasterOptions machine = master_options(options_.conf);
    machine.url = url_;
    machine.web_ui_url = web_ui_url_;
    machine.zone = zone_;
    machine_ = std::make_unique<Master>(std::move(machine), run_seed(loop.now()));
    shell_ = std::make_unique<Shell<Master, Impl>>(loop_, board_, *machine_, *this, "Master");
    shell_->listen<ToMaster>();
    shell_->listen_losses();
  }

  void start() {
    net::log(net::Level::Info, "Master", "Starting Spark master at " + url_);
    if (pages_) net::log(net::Level::Info, "Master", "Bound MasterWebUI to " + web_ui_url_);
    if (log_ && !log_->warning().empty()) net::log(net::Level::Warn, "Master", log_->warning());
    shell_->feed(ElectedLeader{log_ ? log_->take_state() : RecoveredState{}});
  }

  void apply(const Persist& e) {
    if (!log_) return;
    Result<bool> kept = log_->append(e.record);
    if (kept) return;
    // Going on would mean promises that a restart breaks.
    apply(Exit{1, "the recovery log can't be written: " + kept.error().message});
    shell_->halt();
  }
  void apply(const Exit& e) { on_exit_(e.code, e.reason); }

  const std::string& url() const { return url_; }
  const std::string& web_ui_url() const { return web_ui_url_; }
  ClusterStatus status() const { return machine_->status(loop_.now()); }

 private:
  void open_recovery() {
    std::string mode = options_.conf.get(conf::kDeployRecoveryMode);
    if (mode == "NONE") return;
    if (mode != "FILESYSTEM")
      throw conf::Error("spark.deploy.recoveryMode is " + mode + "; use NONE or FILESYSTEM");
    const std::string directory = options_.conf.get(conf::kDeployRecoveryDirectory);
    lock(directory);
    log_ = std::make_unique<RecoveryLog>(*files_, directory);
  }

  /// Opening a log replaces its file: a master that has it open would go on writing to nowhere.
  void lock(const std::string& directory) {
    if (directory.empty() || !files_->make_directories(directory)) return;  // the log says why not
    const std::string path = directory + "/master.lock";
    const std::string start = "spark.deploy.recoveryDirectory is " + directory;
    Result<std::optional<net::FileLock>> taken = net::FileLock::take(path);
    if (!taken) throw conf::Error(start + ", which can't be written: " + taken.error().message);
    if (!*taken)
      throw conf::Error(start + ", and another master uses it (" + path +
                        " is locked); give each master its own, or stop the other one");
    lock_ = std::move(**taken);
  }

  void start_pages() {
    pages_ = std::make_unique<StatusPages>(
        loop_, options_.conf, options_.bind_host, *options_.web_ui_port, "MasterUI",
        [this] { return master_page(status(), zone_); },
        [this](const std::string& field) { return master_json(status(), zone_, field); });
    web_ui_url_ =
        "http://" + net::bracketed(options_.public_host) + ":" + std::to_string(pages_->port());
  }

  net::PollLoop& loop_;
  MasterServiceOptions options_;
  OnExit on_exit_;
  std::unique_ptr<net::Files> files_;
  net::FileLock lock_;
  std::unique_ptr<RecoveryLog> log_;
  std::unique_ptr<net::SocketEndpoint> endpoint_;
  Switchboard board_;
  Zone zone_;
  std::string url_, web_ui_url_;
  std::unique_ptr<Master> machine_;
  std::unique_ptr<Shell<Master, Impl>> shell_;
  std::unique_ptr<StatusPages> pages_;
};

MasterService::MasterService(net::PollLoop& loop, MasterServiceOptions options, OnExit on_exit)
    : impl_(std::make_unique<Impl>(loop, std::move(options), std::move(on_exit))) {}
MasterService::~MasterService() = default;
void MasterService::start() { impl_->start(); }
const std::string& MasterService::url() const { return impl_->url(); }
const std::string& MasterService::web_ui_url() const { return impl_->web_ui_url(); }
ClusterStatus MasterService::status() const { return impl_->status(); }

}  // namespace tinderbox::core
