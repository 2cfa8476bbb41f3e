// What a call of submit asks for: Spark's lexing, validation and merging, without touching the
// world.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conf/conf.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"
#include "conf/values/master_url.hpp"
#include "conf/values/resources.hpp"

namespace tinderbox::conf {

enum class Action { kSubmit, kKill, kStatus, kVersion, kHelp };
enum class DeployMode { kClient, kCluster };

/// All that parsing may know of the world; a test hands in its own.
struct Surroundings {
  Environment environment;
  std::string directory;  // current working directory
  std::string self;       // path of this executable: the application of run-example
  int64_t now_ms = 0;     // Unit: milliseconds since 1970
  std::function<FileText(const std::string&)> read;
  ListDirectory list;
};

/// A call that the parser itself cannot accept: the message, then how submit is called.
class UsageError : public Error {
 public:
  UsageError(const std::string& message, int exit_code, bool whole_help = false)
      : Error(message, exit_code), whole_help_(whole_help) {}
  bool whole_help() const { return whole_help_; }

 private:
  bool whole_help_;
};

struct SubmitRequest {
  Action action = Action::kSubmit;
  Conf conf;  // what the driver gets, with the origin of each value
  std::string master;
  Manager manager = Manager::kLocal;
  DeployMode deploy_mode = DeployMode::kClient;
  std::string primary_resource;  // a URI, or the internal name `spark-internal`
  std::string main_class;        // empty: the file's only application
  std::vector<std::string> app_args;
  std::string submission_id;  // of kKill and kStatus
  bool supervise = false;
  bool verbose = false;
  bool dry_run = false;                                     // print what would be created
  std::string proxy_user;                                   // empty: none
  std::vector<std::string> warnings;                        // one line each, without "Warning: "
  std::vector<std::pair<std::string, std::string>> parsed;  // for --verbose: name, value
};

/// `submit ARGS…` without the role's name.
/// Errors: UsageError (code 255 without any argument, else 1) and conf::Error with Spark's texts.
/// Source: Spark 4.3 SparkSubmitOptionParser, SparkSubmitArguments, SparkSubmit.
SubmitRequest parse_submit(std::span<const std::string> args, const Surroundings& world);
/// `run-example [options] NAME ARGS…`: submit of this executable with --class NAME.
SubmitRequest parse_run_example(std::span<const std::string> args, const Surroundings& world);

/// What --verbose prints: the options as understood, then every property with its origin; secrets
/// redacted.
std::string verbose_text(const SubmitRequest& request);

/// The primary resource which means "no file: what is built in".
inline constexpr std::string_view kInternalResource = "spark-internal";

}  // namespace tinderbox::conf
