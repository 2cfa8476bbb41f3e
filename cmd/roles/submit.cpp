// The submit and run-example roles: options → request → the driver in place of this process, or a
// master that starts it elsewhere.
#include "cmd/roles/submit.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cmd/roles/roles.hpp"
#include "cmd/temporary_folder.hpp"
#include "conf/keys.hpp"
#include "conf/sources/properties.hpp"
#include "conf/submit/submit_table.hpp"
#include "core/api/runtime/application.hpp"
#include "core/deploy/kubernetes/submission/plan.hpp"
#include "core/executor/app_files.hpp"
#include "core/status/exit_codes.hpp"
#include "net/files/files.hpp"
#include "net/http/fetch.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/exec.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

using conf::SubmitRequest;
using Parser = SubmitRequest (*)(std::span<const std::string>, const conf::Surroundings&);

/// What people wrote may hold anything; the terminal gets no control characters of theirs.
std::string one_line(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (unsigned char c : text) {
    if (c >= ' ' && c != 0x7f) {
      out += static_cast<char>(c);
    } else {
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

/// This program's file; /proc/self/exe still runs when the file itself has been replaced.
std::string own_program() {
  const std::string path = net::own_path();
  return path.empty() ? "/proc/self/exe" : path;
}

conf::Surroundings this_world() {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::current_path(error);
  return {.environment = conf::environment_of(environ),
          .directory = error ? "/" : directory.string(),
          .self = own_program(),
          .now_ms = epoch_millis(net::wall_clock()),
          .read = conf::read_file,
          .list = net::names_in};
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Spark's two ends for an application file that is not there: with a class the file is skipped and
/// the class is what cannot be found.
[[noreturn]] void refuse_missing(const SubmitRequest& request, const std::string& path) {
  if (request.main_class.empty())
    throw conf::Error("Failed to get main class in JAR with error 'File " +
                      request.primary_resource +
                      " does not exist'.  Please specify one with --class.");
  net::write_error("Warning: Local jar " + path + " does not exist, skipping.\n");
  throw conf::Error("Failed to load class " + request.main_class + ".", core::kExitClassNotFound);
}

/// A signal meanwhile ends the fetch and not the process, which has the folder to remove.
Result<std::string> fetch_until_signal(const std::string& url, const conf::Conf& conf,
                                       TemporaryFolder& folder) {
  const net::NotedSignals noted;
  net::FetchOptions options = core::fetch_options(conf);
  options.cancelled = &net::stop_asked();
  return net::fetch(url, folder.make(), options);
}

std::string fetched(const std::string& url, const conf::Conf& conf, TemporaryFolder& folder) {
  const Result<std::string> path = fetch_until_signal(url, conf, folder);
  if (const int signal = net::stop_signal())
    throw conf::Error(
        "submit received signal " + std::to_string(signal) + " while it fetched the application",
        core::kExitSignalBase + signal);
  if (!path) throw conf::Error(path.error().message);
  return *path;
}

/// The file that will run as the driver, checked. Errors: conf::Error, one line.
std::string program_of(const SubmitRequest& request, TemporaryFolder& folder) {
  const std::string& resource = request.primary_resource;
  if (resource == conf::kInternalResource) return own_program();
  const std::string_view scheme = conf::scheme_of(resource);
  std::string path;
  if (scheme == "http" || scheme == "https") {
    path = fetched(resource, request.conf, folder);
  } else if (const std::optional<std::string> local = conf::local_path(resource)) {
    path = *local;
    if (access(path.c_str(), F_OK) != 0) refuse_missing(request, path);
    if (same_file(path, own_program())) return own_program();
  } else {
    throw conf::Error("Cannot fetch " + resource +
                      ": the application must be a path or a file:, local:, http: or https: URL");
  }
  const Result<net::ElfInfo> application = net::read_application(path);
  if (!application) throw conf::Error(application.error().message);
  if (access(path.c_str(), X_OK) != 0)
    throw conf::Error("Cannot run " + path + ": it is not executable; chmod +x it");
  return path;
}

/// Writes the properties where only this process and what it becomes can read them: argv is public
/// and bounded in size. The file has no name and ends with its last descriptor.
int properties_descriptor(const std::string& text) {
  int fd = memfd_create("tinderbox-properties", 0);
  if (fd < 0) {
    TemporaryFolder folder;
    fd = open((folder.make() + "/properties").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  }
  for (size_t at = 0; fd >= 0 && at < text.size();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw conf::Error(std::string("Cannot pass the configuration on: ") + std::strerror(errno));
    at += static_cast<size_t>(written);
  }
  if (fd < 0)
    throw conf::Error(std::string("Cannot pass the configuration on: ") + std::strerror(errno));
  return fd;
}

/// A driver outside of pods tells whether images have its application; in a pod submit did.
conf::Conf with_place_in_images(const SubmitRequest& request) {
  if (request.manager != conf::Manager::kKubernetes ||
      request.conf.get(conf::kKubernetesSubmitInDriver))
    return request.conf;
  const std::string place = core::kubernetes::application_in_image(
      request.primary_resource,
      [](const std::string& path) { return same_file(path, own_program()); });
  return place.empty() ? request.conf : request.conf.with(conf::kKubernetesApplication, place);
}

/// Client mode: this process becomes the driver.
int run_driver_here(const SubmitRequest& request) {
  TemporaryFolder folder;
  const std::string program = program_of(request, folder);
  const conf::Conf conf = with_place_in_images(request);
  const int fd = properties_descriptor(conf::to_properties(conf.pairs()));
  // A neutral argv[0]: a file that happens to be called like a role must not run as that role.
  std::vector<std::string> argv = {"tinderbox", "driver", "--properties-file",
                                   std::string(net::kDescriptorPaths) + std::to_string(fd)};
  if (!request.main_class.empty()) argv.insert(argv.end(), {"--class", request.main_class});
  // Executors may be given the fetched file as long as the driver runs.
  if (!folder.path().empty()) argv.insert(argv.end(), {std::string(kFetchedOption), folder.path()});
  argv.push_back("--");
  argv.insert(argv.end(), request.app_args.begin(), request.app_args.end());
  print_launch_command(program, std::span(argv).subspan(1));
  throw conf::Error(net::exec(program, argv).message);
}

/// What run-example takes: the applications of this binary.
std::string example_names() {
  std::string text = "\nExamples, for run-example and for --class with this binary:\n";
  for (const Application& a : applications())
    text += "  " + std::string(a.name) +
            std::string(28 - std::min<size_t>(a.name.size(), 27), ' ') + std::string(a.help) + "\n";
  return text;
}

std::string whole_help() { return conf::submit_help() + example_names(); }

int carry_out(const SubmitRequest& request) {
  const bool pods = request.manager == conf::Manager::kKubernetes;
  switch (request.action) {
    case conf::Action::kHelp:
      net::write_error(whole_help());
      return core::kExitOk;
    case conf::Action::kVersion:
      return version({});
    case conf::Action::kKill:
    case conf::Action::kStatus:
      return pods ? kubernetes_action(request) : submission_action(request);
    case conf::Action::kSubmit:
      break;
  }
  const bool here = request.deploy_mode == conf::DeployMode::kClient;
  if (here) return run_driver_here(request);
  return pods ? submit_to_kubernetes(request) : submit_to_master(request);
}

int run(Args args, Parser parse) {
  const std::vector<std::string> words(args.begin(), args.end());
  try {
    const SubmitRequest request = parse(words, this_world());
    for (const std::string& line : request.warnings)
      net::write_error("Warning: " + one_line(line) + "\n");
    if (request.verbose) net::write_error(conf::verbose_text(request));
    return carry_out(request);
  } catch (const conf::UsageError& error) {
    const std::string message = one_line(error.what());
    if (!message.empty()) net::write_error("Error: " + message + "\n");
    net::write_error(error.whole_help() ? whole_help() : conf::submit_synopsis());
    return error.exit_code();
  } catch (const conf::Error& error) {
    net::write_error("Error: " + one_line(error.what()) + "\n");
    return error.exit_code();
  }
}

}  // namespace

void print_launch_command(const std::string& program, std::span<const std::string> arguments) {
  const char* wanted = std::getenv("SPARK_PRINT_LAUNCH_COMMAND");
  if (!wanted || !*wanted) return;
  std::string line = "Spark Command: " + program;
  for (const std::string& argument : arguments) line += " " + argument;
  net::write_error(line + "\n" + std::string(40, '=') + "\n");
}

int submit(Args args) { return run(args, conf::parse_submit); }

int run_example(Args args) { return run(args, conf::parse_run_example); }

}  // namespace tinderbox::cmd
