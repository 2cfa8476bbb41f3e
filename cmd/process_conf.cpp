#include "cmd/process_conf.hpp"

#include "conf/keys.hpp"
#include "conf/secret.hpp"
#include "conf/sources/environment.hpp"
#include "conf/sources/files.hpp"
#include "conf/suggest.hpp"
#include "conf/values/resources.hpp"
#include "core/deploy/worker/peer_file.hpp"
#include "net/http/fetch.hpp"
#include "net/log.hpp"
#include "net/names.hpp"
#include "net/process/elf.hpp"
#include "net/process/exec.hpp"

namespace tinderbox::cmd {

void declare_process_conf(CommandLine& line, ProcessConfOptions& options,
                          const std::string& conf_option) {
  line.option("--properties-file", &options.properties_file,
              "file of settings: spark-defaults.conf text, or TOML when it ends in .toml");
  line.option(conf_option, &options.settings, "one setting, KEY=VALUE; may be given again");
}

namespace {

void apply_log_level(const conf::Conf& conf) {
  auto level = conf.get(conf::kLogLevel);
  if (!level) return;
  if (Result<std::string> set = net::set_log_level(*level); !set)
    throw conf::Error(set.error().message);
}

}  // namespace

conf::Conf process_conf(const ProcessConfOptions& options, conf::Scope scope, bool default_file) {
  conf::Layers layers;
  conf::Environment environment = conf::environment_of(environ);
  conf::add_environment(layers, environment, conf::Scope::kNode);
  if (scope != conf::Scope::kNode) conf::add_environment(layers, environment, scope);
  std::string path = options.properties_file;
  bool named = !path.empty();
  if (!named && default_file) path = conf::default_properties_path(environment);
  if (!path.empty()) {
    using Kind = conf::FileText::Kind;
    conf::FileText file = conf::read_file(path);
    if (file.kind == Kind::kRegular)
      layers.add_file(path, file.text);
    else if (named && file.kind == Kind::kMissing)
      throw conf::Error("Properties file " + path + " does not exist");
    else if (named && file.kind == Kind::kUnreadable)
      throw conf::Error(file.error);
    else if (named)
      throw conf::Error("Properties file " + path + " is not a normal file");
  }
  for (const std::string& setting : options.settings) layers.add_conf(setting);
  for (const std::string& line : layers.warnings()) net::write_error("Warning: " + line + "\n");
  conf::Conf conf = layers.build();
  conf.check();
  net::set_log_redaction(conf::text_redaction(conf));
  apply_log_level(conf);
  return conf;
}

void warn_of_misspellings(const conf::Conf& conf, const ProcessConfOptions& options) {
  if (options.properties_file.starts_with(net::kDescriptorPaths)) return;
  for (const std::string& line : conf::misspelling_warnings(conf))
    net::write_error("Warning: " + line + "\n");
}

void exec_other(const std::string& role, const std::string& elf, Args args) {
  Result<std::string> path = elf;
  if (!conf::scheme_of(elf).empty()) path = net::fetch(elf, ".", {.peer = core::peer_file({})});
  if (!path) throw conf::Error(path.error().message);
  Result<net::ElfInfo> info = net::read_application(*path);
  if (!info) throw conf::Error(info.error().message);
  if (info->build_id == net::own_build_id()) return;
  std::vector<std::string> argv = {"tinderbox", role};
  argv.insert(argv.end(), args.begin(), args.end());
  throw conf::Error(net::exec(*path, argv).message);
}

std::string advertised_host(const conf::Conf& conf) {
  return conf.get(conf::kLocalIp).value_or(net::local_host_address());
}

}  // namespace tinderbox::cmd
