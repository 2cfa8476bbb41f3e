// Master, worker and application client with real sockets, processes and files, on one loop.
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "conf/keys.hpp"
#include "core/deploy/client/app_client.hpp"
#include "core/deploy/master/master_service.hpp"
#include "core/deploy/master/recovery_log.hpp"
#include "core/deploy/service_parts.hpp"
#include "core/deploy/worker/work_dirs.hpp"
#include "core/deploy/worker/worker_service.hpp"
#include "core/shell.hpp"
#include "net/http/http_client.hpp"
#include "net/process/elf.hpp"
#include "net/process/environment.hpp"
#include "tests/core/deploy/deploy_fixtures.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

struct Folder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("deploy-" + net::unique_name())).string();
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

MasterServiceOptions master_on(const conf::Conf& conf, int port = 0) {
  MasterServiceOptions o;
  o.conf = conf;
  o.host = o.bind_host = o.public_host = "127.0.0.1";
  o.port = port;
  return o;
}

WorkerServiceOptions worker_on(const conf::Conf& conf, const std::string& master,
                               const std::string& work_dir) {
  WorkerServiceOptions o;
  o.conf = conf;
  o.masters = {master};
  o.host = o.bind_host = o.public_host = "127.0.0.1";
  o.cores = 2;
  o.memory_mib = 2048;
  o.work_dir = work_dir;
  return o;
}

/// An application's side; keeps what it is told.
struct App {
  std::unique_ptr<net::SocketEndpoint> endpoint;
  Switchboard board;
  AppClient client;
  std::function<void()> changed;
  Shell<AppClient, App> shell;
  AppId id;
  std::vector<ExecutorGranted> granted;
  std::vector<ExecutorGone> gone;
  std::string dead;

  App(net::PollLoop& loop, const std::string& master, ApplicationDescription d)
      : endpoint(net::make_socket_endpoint(loop)),
        board(*endpoint),
        client(options(*endpoint, master, d)),
        shell(loop, board, client, *this, "App") {
    shell.listen<ToApp>();
    shell.listen_losses();
  }
  static AppClientOptions options(net::SocketEndpoint& endpoint, const std::string& master,
                                  ApplicationDescription d) {
    net::Listen where;
    where.host = "127.0.0.1";
    Result<int> port = endpoint.listen(where);
    REQUIRE(port);
    AppClientOptions o;
    o.masters = {master};
    o.description = std::move(d);
    o.driver_address = "127.0.0.1:" + std::to_string(*port);
    o.registration_timeout = 20s;
    o.registration_attempts = 3;
    o.first_reconnect = 10ms;
    return o;
  }
  void apply(const AppRegistered& e) { id = e.app, changed(); }
  void apply(const AppDead& e) { dead = e.reason, changed(); }
  void apply(const ExecutorGranted& e) { granted.push_back(e), changed(); }
  void apply(const ExecutorGone& e) { gone.push_back(e), changed(); }
  void apply(const ExecutorCondemned&) {}
  void apply(const WorkerGone&) { changed(); }
  void apply(const SchedulingReason&) { changed(); }
};

/// This test's own program as the executor: it is a tinderbox application that does not know the
/// arguments, prints so, and ends. `--help` makes it end with 0 instead.
ApplicationDescription self_as_executor(std::vector<std::string> arguments) {
  ApplicationDescription d = test::app_of();
  d.command.elf = net::own_path();
  d.command.build_id = net::own_build_id();
  d.command.arguments = std::move(arguments);
  return d;
}

struct Quiet {
  Quiet() { [[maybe_unused]] auto set = net::set_log_level("ERROR"); }
  ~Quiet() { [[maybe_unused]] auto set = net::set_log_level("INFO"); }
};

/// A master, a worker and an application on one loop, their files in one folder.
struct Site {
  Folder folder;
  conf::Conf conf;
  std::unique_ptr<net::PollLoop> loop = net::make_poll_loop();
  std::unique_ptr<MasterService> master;
  std::unique_ptr<WorkerService> worker;
  std::unique_ptr<App> app;
  bool late = false;

  explicit Site(const std::string& recovery = "NONE")
      : conf(conf::Conf()
                 .with(conf::kLocalDir, folder.path + "/local")
                 .with(conf::kDeployRecoveryMode, recovery)
                 .with(conf::kDeployRecoveryDirectory, folder.path + "/recovery")) {
    new_master(0);
  }
  void new_master(int port) {
    master = std::make_unique<MasterService>(*loop, master_on(conf, port),
                                             [](int, const std::string&) {});
  }
  /// All of them start; `ended` hears of the worker's end, `changed` of what the application
  /// learns.
  void start(
      ApplicationDescription d, std::function<void()> changed,
      WorkerService::OnExit ended = [](int, const std::string&) {}) {
    worker = std::make_unique<WorkerService>(
        *loop, worker_on(conf, master->url(), folder.path + "/work"), std::move(ended));
    app = std::make_unique<App>(*loop, master->url(), std::move(d));
    app->changed = std::move(changed);
    master->start();
    worker->start();
    app->shell.feed(StartApp{});
  }
  /// Fails when nothing happens for so long that something must be wrong.
  void run() {
    loop->after(60s, [this] {
      late = true;
      loop->stop();
    });
    loop->run();
    REQUIRE_FALSE(late);
  }
};

std::string text_of(const std::string& path) {
  auto files = net::make_real_files();
  auto file = files->open(path);
  if (!file) return "";
  auto view = (*file)->view(0, (*file)->size());
  return view ? std::string(view->view()) : "";
}

}  // namespace

TEST_CASE_METHOD(
    Quiet, "M19 over real sockets and processes: ten failures, then the application is removed",
    "[deploy_service]") {
  Site site;
  ApplicationDescription d = self_as_executor({"executor"});
  d.command.build_id = std::string(40, '0');
  site.start(d, [&] {
    if (!site.app->dead.empty()) site.loop->stop();
  });
  site.run();
  const App& app = *site.app;
  CHECK(app.dead.starts_with("Master removed our application: FAILED: the last executor said: "));
  REQUIRE(app.gone.size() == 10);
  CHECK(app.granted.size() == 10);
  CHECK(app.granted[0].cores == 2);
  CHECK(app.gone[9].executor.value == "9");
  CHECK_FALSE(app.gone[0].exit_code);
  CHECK(app.gone[0].message.find(std::string(40, '0')) != std::string::npos);
  CHECK(site.master->status().completed_apps.at(0).state == AppState::Failed);
}

TEST_CASE_METHOD(Quiet, "M28 over real processes: executors that end with 0 are replaced",
                 "[deploy_service]") {
  Site site;
  std::string ended;
  site.start(
      self_as_executor({"--help"}),
      [&] {
        if (site.app->gone.size() == 3) site.worker->stop();
      },
      [&](int code, const std::string& why) {
        ended = std::to_string(code) + " " + why;
        site.loop->stop();
      });
  site.run();
  const App& app = *site.app;
  CHECK(ended == "0 stopped");
  REQUIRE(app.gone.size() >= 3);
  for (size_t i = 0; i < 3; ++i) CHECK(app.gone[i].exit_code == 0);
  std::string directory = site.folder.path + "/work/" + app.id.value + "/0";
  CHECK(text_of(directory + "/stderr").starts_with("Spark Executor Command: "));
  CHECK(text_of(directory + "/stdout").find("usage") != std::string::npos);
  CHECK(app.dead.empty());
}

TEST_CASE_METHOD(Quiet,
                 "M14 over real sockets: a master with FILESYSTEM recovery takes its cluster back",
                 "[deploy_service]") {
  Site site("FILESYSTEM");
  const int port = std::stoi(site.master->url().substr(site.master->url().rfind(':') + 1));
  // It wants none: an executor of its own would end and be replaced meanwhile.
  ApplicationDescription d = self_as_executor({"--help"});
  d.initial_executor_limit = 0;
  std::function<void()> poll = [&] {
    ClusterStatus s = site.master->status();
    bool whole = s.state == RecoveryState::Alive && s.workers.size() == 1 &&
                 s.workers[0].state == WorkerState::Alive && s.active_apps.size() == 1 &&
                 !site.app->id.value.empty();
    if (whole) return site.loop->stop();
    site.loop->after(5ms, poll);
  };
  site.start(d, [] {});
  site.loop->post(poll);
  site.run();
  AppId before = site.app->id;
  WorkerId worker_before = site.master->status().workers[0].id;

  site.master.reset();
  site.new_master(port);
  site.master->start();
  CHECK(site.master->status().state == RecoveryState::Recovering);
  site.loop->post(poll);
  site.run();
  ClusterStatus s = site.master->status();
  CHECK(s.active_apps[0].id == before);
  CHECK(s.workers[0].id == worker_before);
  CHECK(site.app->id == before);
  CHECK(site.app->dead.empty());
}

TEST_CASE_METHOD(Quiet, "M32 pages over HTTP", "[deploy_service]") {
  auto loop = net::make_poll_loop();
  MasterServiceOptions o = master_on(conf::Conf());
  o.web_ui_port = 0;
  MasterService master(*loop, o, [](int, const std::string&) {});
  master.start();
  std::vector<Result<Bytes>> bodies;
  std::thread browser([&] {
    for (const char* path : {"/", "/json/", "/json/workers", "/json/clusterutilization"})
      bodies.push_back(net::http_get(master.web_ui_url() + path));
    loop->stop();
  });
  loop->run();
  browser.join();
  REQUIRE(bodies.size() == 4);
  for (const Result<Bytes>& body : bodies) REQUIRE(body);
  CHECK(bodies[0]->find("<title>Spark Master at " + master.url()) != std::string::npos);
  for (size_t i = 1; i < 4; ++i) CHECK(bodies[i]->front() == '{');
}

TEST_CASE("a recovery log of which the end is damaged keeps the rest, and a copy",
          "[deploy_service]") {
  Folder folder;
  auto files = net::make_real_files();
  PersistedWorker a{{"worker-a"}, "a", 1, 2, 3, ""}, b{{"worker-b"}, "b", 1, 2, 3, ""};
  {
    RecoveryLog log(*files, folder.path);
    CHECK(log.take_state().empty());
    CHECK(log.append(log_record(a)));
    CHECK(log.append(log_record(b)));
  }
  std::string path = folder.path + "/master.log";
  std::string whole = text_of(path);
  std::filesystem::resize_file(path, whole.size() - 1);
  {
    RecoveryLog log(*files, folder.path);
    CHECK(log.warning().find("a torn record at byte") != std::string::npos);
    CHECK(log.take_state().workers == std::map<WorkerId, PersistedWorker>{{a.id, a}});
    CHECK(log.append(log_record(b)));
  }
  CHECK(text_of(path + ".damaged").size() == whole.size() - 1);
  RecoveryLog again(*files, folder.path);
  CHECK(again.warning().empty());
  CHECK(again.take_state().workers.size() == 2);
  CHECK_THROWS_AS(RecoveryLog(*files, ""), conf::Error);
}

TEST_CASE("M34 old directories go; young, kept and foreign things stay", "[deploy_service]") {
  Folder folder;
  auto files = net::make_real_files();
  const std::string old = "app-20261121084658-0000", kept = "app-20261121084658-0001",
                    young = "app-20261121084658-0002/0", driver = "driver-20261121084658-10000";
  const std::vector<std::string> foreign = {"app",        "app-notes",
                                            "driver",     "app-20261121084658-000x",
                                            "my-thesis",  "xapp-20261121084658-0000",
                                            "photos/2024"};
  const std::string named_app = "etl-1", named_driver = "nightly";  // by patterns of the master
  for (const std::string& name : {old, kept, young, driver})
    REQUIRE(files->make_directories(folder.path + "/" + name));
  for (const std::string& name : foreign)
    REQUIRE(files->make_directories(folder.path + "/" + name));
  auto write = [&](const std::string& name) {
    auto file = files->append(folder.path + "/" + name);
    REQUIRE(file);
    CHECK((*file)->append("x"));
  };
  for (const std::string& name : {named_app + "/0", named_app + "/12", named_driver}) {
    REQUIRE(files->make_directories(folder.path + "/" + name));
    write(name + "/stdout");
    write(name + "/stderr");
  }
  write(old + "/stderr");
  write(young + "/stderr");
  write("a-file");
  auto stat = files->stat(folder.path + "/" + old + "/stderr");
  REQUIRE((stat && *stat));
  Time written{std::chrono::milliseconds((*stat)->modified)};
  std::filesystem::last_write_time(
      folder.path + "/" + young + "/stderr",
      std::filesystem::last_write_time(folder.path + "/" + old + "/stderr") + 90s);
  CleanWorkDirs clean{folder.path, {kept}, 60s};
  CHECK(clean_work_dirs(*files, clean, written + 30s).removed.empty());
  WorkDirsCleaned done = clean_work_dirs(*files, clean, written + 120s);
  CHECK(done.removed ==
        std::vector<std::string>{folder.path + "/" + old, folder.path + "/" + driver,
                                 folder.path + "/" + named_app, folder.path + "/" + named_driver});
  CHECK(done.error.empty());
  CHECK(std::filesystem::exists(folder.path + "/" + kept));
  CHECK(std::filesystem::exists(folder.path + "/" + young + "/stderr"));
  CHECK(std::filesystem::exists(folder.path + "/a-file"));
  for (const std::string& name : foreign) CHECK(std::filesystem::exists(folder.path + "/" + name));
  CHECK_FALSE(clean_work_dirs(*files, {folder.path + "/none", {}, 60s}, written).error.empty());
}

TEST_CASE("bad ports and directories are one line", "[deploy_service]") {
  auto loop = net::make_poll_loop();
  auto ignore = [](int, const std::string&) {};
  CHECK_THROWS_WITH(MasterService(*loop, master_on(conf::Conf(), 80), ignore),
                    Catch::Contains("between 1024 and 65535"));
  CHECK_THROWS_WITH(
      MasterService(*loop, master_on(conf::Conf().with(conf::kDeployRecoveryMode, "ZOOKEEPER")),
                    ignore),
      Catch::Contains("use NONE or FILESYSTEM"));
  CHECK_THROWS_WITH(
      WorkerService(*loop, worker_on(conf::Conf(), "spark://m:1", "/proc/no/work"), ignore),
      Catch::Contains("Failed to create work directory"));
}
