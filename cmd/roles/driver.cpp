// The driver role: runs a registered application's main beside the scheduler.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "cmd/process_conf.hpp"
#include "cmd/roles/entrypoint.hpp"
#include "cmd/roles/roles.hpp"
#include "cmd/roles/submit.hpp"
#include "cmd/temporary_folder.hpp"
#include "conf/keys.hpp"
#include "core/api/context.hpp"
#include "core/api/runtime/application.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/status/exit_codes.hpp"
#include "core/status/progress_bar.hpp"
#include "net/log.hpp"
#include "net/process/environment.hpp"
#include "net/terminal.hpp"

namespace tinderbox::cmd {
namespace {

// The terminal belongs to the application; spark.log.level says otherwise.
constexpr const char* kQuiet = "WARN";

struct DriverOptions {
  std::string main_class, elf, fetched;
  std::vector<std::string> arguments;
  ProcessConfOptions conf;
};

/// The application that --class names; without it the only one there is.
Application application(const std::string& name) {
  std::vector<Application> all = applications();
  if (name.empty() && all.size() == 1) return all[0];
  if (const Application* found = find_application(name)) return *found;
  std::string names;
  for (const Application& a : all) names += (names.empty() ? "" : ", ") + std::string(a.name);
  if (name.empty())
    throw conf::Error("No main class set; name one of this file's applications with --class: " +
                      names);
  throw conf::Error("Failed to load class " + name + ". This file has: " + names,
                    core::kExitClassNotFound);
}

conf::Conf with_app_name(conf::Conf conf, const Application& app) {
  return conf.get(conf::kAppName) ? conf : conf.with(conf::kAppName, app.name);
}

int run_main(const Application& app, core::DriverRuntime& runtime,
             const std::vector<std::string>& arguments) try {
  Context context(runtime);
  return app.run(context, arguments);
} catch (const conf::Error& e) {
  net::write_error("Error: " + std::string(e.what()) + "\n");
  return e.exit_code();
} catch (const JobFailed& e) {
  // What follows the first line is for whoever catches it: the failed task's own words again.
  net::write_error("Error: " + net::one_line(e.what()) + "\n");
  return core::kExitFailure;
} catch (const std::exception& e) {
  net::write_error("Error: " + std::string(e.what()) + "\n");
  return core::kExitFailure;
} catch (...) {
  net::write_error("Error: the application threw something that is no std::exception\n");
  return core::kExitFailure;
}

/// A progress bar, when someone sits at a terminal or asked for it. Null: none.
std::shared_ptr<core::ProgressBar> progress_bar(const conf::Conf& conf) {
  if (!conf.get(conf::kUiShowConsoleProgress).value_or(net::stderr_is_terminal())) return nullptr;
  return std::make_shared<core::ProgressBar>(net::terminal_width, net::show_status_line);
}

void start_ticking(const std::shared_ptr<core::ProgressBar>& bar, net::Loop& loop,
                   Duration interval) {
  if (bar) loop.post([bar, &loop, interval] { core::ProgressBar::run(bar, loop, interval); });
}

/// Ends the application once: after its main returned, or when its main calls exit(). One at a
/// time. Source: the shutdown hook of Spark's SparkContext.
class Ending {
 public:
  Ending(core::DriverRuntime& runtime, const TemporaryFolder& fetched) {
    runtime_ = &runtime;
    fetched_ = &fetched;
    thread_ = std::this_thread::get_id();
    ::on_exit([](int code, void*) { exiting(code); }, nullptr);
  }
  ~Ending() { runtime_ = nullptr; }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

  /// False: a task computes on, and only net::exit_now() ends the process.
  static bool stop() {
    const bool all_over = std::exchange(runtime_, nullptr)->stop();
    fetched_->remove();
    return all_over;
  }

 private:
  /// A task or listener that calls exit() runs on what would have to end first.
  static void exiting(int code) {
    if (runtime_ && std::this_thread::get_id() == thread_ && !stop()) net::exit_now(code);
  }
  static inline core::DriverRuntime* runtime_ = nullptr;
  static inline const TemporaryFolder* fetched_ = nullptr;
  static inline std::thread::id thread_;
};

int run(const DriverOptions& o, const TemporaryFolder& fetched) {
  const Application app = application(o.main_class);
  conf::Conf conf = with_app_name(process_conf(o.conf), app);
  warn_of_misspellings(conf, o.conf);
  auto bar = progress_bar(conf);
  std::vector<std::shared_ptr<core::Listener>> listeners;
  if (bar) listeners.push_back(bar);
  auto runtime = core::DriverRuntime::start(conf, listeners, true);
  start_ticking(bar, runtime->loop(), conf.get(conf::kUiProgressInterval));
  const Ending ending(*runtime, fetched);
  int code = run_main(app, *runtime, o.arguments);
  const bool all_over = Ending::stop();
  if (runtime->exit_code() != 0) code = runtime->exit_code();
  if (const int signal = runtime->stop_signal()) code = core::kExitSignalBase + signal;
  if (!all_over) net::exit_now(code);
  return code;
}

}  // namespace

int driver(Args args) {
  if (const std::optional<int> code = driver_of_pod(args)) return *code;
  CommandLine line("driver",
                   "Runs an application's main and its scheduler; submit, workers and pods "
                   "start it");
  DriverOptions o;
  line.option("--class", &o.main_class, "which of the file's applications");
  line.option("--elf", &o.elf, "application's ELF file, a path or URL, to run instead of this one");
  line.option(std::string(kFetchedOption), &o.fetched, "", CommandLine::Rule::Hidden);
  line.footer("-- ARGUMENTS...: what follows a lone -- is the application's");
  declare_process_conf(line, o.conf);
  auto end = std::find(args.begin(), args.end(), std::string_view("--"));
  if (end != args.end()) o.arguments.assign(end + 1, args.end());
  if (auto code = line.parse(args.first(static_cast<size_t>(end - args.begin())))) return *code;
  if (!o.elf.empty()) exec_other("driver", o.elf, args);
  const TemporaryFolder fetched(o.fetched);
  [[maybe_unused]] auto quiet = net::set_log_level(kQuiet);
  try {
    return run(o, fetched);
  } catch (const core::StoppedBySignal& e) {
    net::write_error("Error: the driver received signal " + std::to_string(e.number) +
                     " before the application began\n");
    return core::kExitSignalBase + e.number;
  } catch (const core::NoLocalDirectory& e) {
    net::write_error("Error: " + std::string(e.what()) + "\n");
    return core::kExitDiskStoreFailure;
  }
}

}  // namespace tinderbox::cmd
