#include "cmd/dispatch.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "conf/error.hpp"
#include "core/status/exit_codes.hpp"
#include "net/log.hpp"
#include "net/names.hpp"
#include "net/process/environment.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::cmd {
namespace {

struct Alias {
  std::string_view name, role;
};
// What spark-class is given as its first argument.
constexpr Alias kClasses[] = {
    {"org.apache.spark.deploy.SparkSubmit", "submit"},
    {"org.apache.spark.deploy.master.Master", "master"},
    {"org.apache.spark.deploy.worker.Worker", "worker"},
    {"org.apache.spark.deploy.history.HistoryServer", "history"},
    {"org.apache.spark.executor.CoarseGrainedExecutorBackend", "executor"},
    {"org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend", "executor"},
};
constexpr Alias kFlags[] = {{"--version", "version"}};

const Role* find(std::span<const Role> roles, std::string_view name) {
  for (const Role& role : roles)
    if (role.name == name) return &role;
  return nullptr;
}

const Role* find_alias(std::span<const Role> roles, std::span<const Alias> aliases,
                       std::string_view name) {
  for (const Alias& alias : aliases)
    if (alias.name == name) return find(roles, alias.role);
  return nullptr;
}

/// /usr/bin/spark-submit, tinderbox-submit, submit → submit.
std::string_view link_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  for (std::string_view prefix : {"tinderbox-", "spark-"})
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  return path;
}

std::string usage(std::span<const Role> roles) {
  std::string text =
      "Usage: tinderbox ROLE [arguments]    (tinderbox ROLE --help tells more)\n\nRoles:\n";
  for (const Role& role : roles)
    text += "  " + std::string(role.name) + std::string(13 - role.name.size(), ' ') +
            std::string(role.help) + "\n";
  return text;
}

struct Choice {
  const Role* role = nullptr;
  Args args;
};

Choice choose(std::span<const Role> roles, Args argv) {
  std::string_view link = link_name(argv.empty() ? "" : argv[0]);
  if (const Role* role = find(roles, link)) return {role, argv.subspan(1)};
  if (argv.size() < 2) return {};
  std::string_view first = argv[1];
  if (const Role* role = find(roles, first)) return {role, argv.subspan(2)};
  if (const Role* role = find_alias(roles, kClasses, first)) return {role, argv.subspan(2)};
  return {find_alias(roles, kFlags, first), argv.subspan(2)};
}

int run(const Role& role, Args args) try { return role.run(args); } catch (const conf::Error& e) {
  net::write_error("Error: " + std::string(e.what()) + "\n");
  return e.exit_code();
} catch (const std::bad_alloc&) {
  net::write_error("Error: out of memory\n");
  return core::kExitOutOfMemory;
} catch (const std::exception& e) {
  net::write_error("Error: " + std::string(e.what()) + "\n");
  return core::kExitFailure;
}

int refuse(std::span<const Role> roles, const std::string& what, int code) {
  net::write_error((what.empty() ? "" : "Error: " + what + "\n") + usage(roles));
  return code;
}

int run_chosen(std::span<const Role> roles, Args argv) {
  const Choice choice = choose(roles, argv);
  if (choice.role) return run(*choice.role, choice.args);
  const char* variable = std::getenv("SPARK_K8S_CMD");
  const std::string command = variable ? variable : "";
  if (const Role* role = find(roles, command)) return run(*role, argv.subspan(1));
  const std::string first(argv.size() >= 2 ? argv[1] : "");
  if (first == "--help" || first == "-h") return refuse(roles, "", core::kExitOk);
  if (!command.empty())
    return refuse(roles, "SPARK_K8S_CMD is '" + command + "', which is not a role",
                  core::kExitFailure);
  const bool named = argv.size() >= 2;
  return refuse(roles, named ? "'" + first + "' is not a role" : "", core::kExitMisuse);
}

/// A full disk behind stdout shows only when the last bytes go out. Whoever stopped reading, as
/// `head` does, has what it wanted.
int with_output_written(int code) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  if (net::output_is_unread()) return code;
  net::write_error("Error: standard output could not be written\n");
  return code == core::kExitOk ? core::kExitFailure : code;
}

}  // namespace

int dispatch(std::span<const Role> roles, Args argv) {
  net::open_missing_descriptors();
  net::split_off_init();
  net::configure_names();
  net::configure_signals();
  net::raise_descriptor_limit();
  net::keep_little_free_memory();
  return with_output_written(run_chosen(roles, argv));
}

}  // namespace tinderbox::cmd
