// Submit's options, in the three steps of Spark: lex, load the layers, then check and merge.
//
// A typed option (one with a property) is taken from the command line, --conf, the file or the
// environment, and is checked wherever it came from. Which typed options become properties depends
// on manager and deploy mode (the table's reach); all other properties pass as they are. So
// `--executor-memory` on a local master is checked and dropped, while the same value written by
// --conf passes, as in Spark.
#include "conf/submit/submit_options.hpp"

#include <algorithm>

#include "conf/keys.hpp"
#include "conf/submit/submit_table.hpp"
#include "conf/suggest.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

using Strings = std::span<const std::string>;

constexpr int64_t kLeastMemory = 1 << 20;  // memory is offered and asked for in MiB

/// The call as written, before anything is looked up.
struct Call {
  std::map<std::string, std::string, std::less<>> options;  // long name → value; switches: "true"
  std::vector<std::string> confs;                           // of --conf, in order
  std::optional<Action> action;
  std::string resource;
  std::vector<std::string> app_args;

  std::string get(std::string_view name) const {
    const auto found = options.find(name);
    return found == options.end() ? std::string() : found->second;
  }
  bool has(std::string_view name) const { return options.contains(name); }
};

std::string_view action_name(Action action) {
  return action == Action::kKill ? "KILL" : action == Action::kStatus ? "REQUEST_STATUS" : "SUBMIT";
}

void set_action(Call& call, Action action) {
  if (call.action && *call.action != action)
    throw Error("Action cannot be both " + std::string(action_name(*call.action)) + " and " +
                std::string(action_name(action)) + ".");
  call.action = action;
}

/// Takes one option in. False: it ends the parsing (--help, --version).
bool take(Call& call, const SubmitOption& option, const std::string& value) {
  const std::string_view name = option.name;
  if (name == "--usage-error") throw UsageError("", 1, true);
  if (name == "--help" || name == "--version") {
    call.action = name == "--help" ? Action::kHelp : Action::kVersion;
    return false;
  }
  if (name == "--kill") set_action(call, Action::kKill);
  if (name == "--status") set_action(call, Action::kStatus);
  if (name == "--deploy-mode" && value != "client" && value != "cluster")
    throw Error("--deploy-mode must be either \"client\" or \"cluster\"");
  if (name == "--conf") {
    if (value.find('=') == std::string::npos)
      throw UsageError("Invalid argument to --conf: " + value, 1);
    call.confs.push_back(value);
    return true;
  }
  call.options.insert_or_assign(std::string(name), option.value.empty() ? "true" : value);
  return true;
}

/// `--name=value` in two, when both parts are there.
std::pair<std::string_view, std::optional<std::string>> split_equals(const std::string& arg) {
  const size_t equals = arg.find('=', 3);
  if (!arg.starts_with("--") || arg.size() < 3 || arg[2] == '=' || equals == std::string::npos ||
      equals + 1 == arg.size())
    return {arg, std::nullopt};
  return {std::string_view(arg).substr(0, equals), arg.substr(equals + 1)};
}

/// Left to right up to the first argument that is no option: Spark's rules, to the letter. In
/// run-example that argument names the application unless --class did.
Call lex(Strings args, bool example) {
  Call call;
  for (size_t i = 0; i < args.size(); ++i) {
    const auto [name, inline_value] = split_equals(args[i]);
    const SubmitOption* option = find_option(name);
    if (!option) {
      if (name.starts_with('-')) throw UsageError("Unrecognized option: " + std::string(name), 1);
      const bool names_class = example && !call.has("--class");
      if (names_class) call.options["--class"] = args[i];
      if (!example) call.resource = args[i];
      const Strings rest = args.subspan(names_class || !example ? i + 1 : i);
      call.app_args.assign(rest.begin(), rest.end());
      return call;
    }
    std::string value = inline_value.value_or("");
    if (!option->value.empty() && !inline_value) {
      if (i + 1 == args.size())
        throw UsageError("Missing argument for option '" + std::string(name) + "'.", 1);
      value = args[++i];
    }
    if (!take(call, *option, value)) return call;
  }
  return call;
}

/// The files below --conf and the options. Errors: a named file that cannot be read.
void add_files(Layers& layers, const Call& call, const Surroundings& world) {
  const bool named = call.has("--properties-file");
  const std::string defaults = default_properties_path(world.environment);
  if (!defaults.empty() && (!named || call.has("--load-spark-defaults"))) {
    const FileText file = world.read(defaults);
    if (file.kind == FileText::Kind::kRegular) layers.add_file(defaults, file.text);
  }
  if (!named) return;
  const std::string path = call.get("--properties-file");
  const FileText file = world.read(path);
  const std::string refusal = "Invalid properties file '" + path + "'.";
  switch (file.kind) {
    case FileText::Kind::kRegular:
      layers.add_file(path, file.text);
      return;
    case FileText::Kind::kMissing:
      throw UsageError(refusal + " Properties file " + path + " does not exist", 1);
    case FileText::Kind::kDirectory:
    case FileText::Kind::kOther:
      throw UsageError(refusal + " Properties file " + path + " is not a normal file", 1);
    case FileText::Kind::kUnreadable:
      throw UsageError(refusal + " " + file.error, 1);
  }
}

/// One parse: the call, its properties by layer, and the request that grows from them.
class Submission {
 public:
  Submission(Call call, const Surroundings& world) : call_(std::move(call)), world_(world) {}

  SubmitRequest run() {
    request_.action = call_.action.value_or(Action::kSubmit);
    if (request_.action == Action::kHelp || request_.action == Action::kVersion) return request_;
    load();
    fill();
    if (request_.action == Action::kSubmit) {
      check_submit();
      check_matrix();
      check_cluster();
      merge();
    } else {
      check_action();
    }
    return request_;
  }

 private:
  void load() {
    request_.verbose = call_.has("--verbose");
    request_.dry_run = call_.has("--dry-run");
    request_.proxy_user = call_.get("--proxy-user");
    if (request_.action == Action::kSubmit && call_.resource.empty())
      throw UsageError("Missing application resource.", 1);
    Layers files;
    add_files(files, call_, world_);
    for (const std::string& one : call_.confs) files.add_conf(one);
    properties_ = files.build();
    Layers all = files;
    add_environment(all, world_.environment, Scope::kSubmit);
    for (const SubmitOption& option : submit_options())
      if (!option.property.empty() && call_.has(option.name))
        all.add(Source::kOption, option.property, call_.get(option.name), option.name);
    typed_ = all.build();
    request_.warnings = files.warnings();
    warn_without_effect();
    for (const std::string& line : misspelling_warnings(properties_))
      request_.warnings.push_back(line);
  }

  void warn_without_effect() {
    constexpr std::string_view kNoJvm =
        "a tinderbox application is one executable file, without a JVM";
    for (const SubmitOption& option : submit_options())
      if (option.group == Group::kNoEffect && call_.has(option.name))
        request_.warnings.push_back(std::string(option.name) + " has no effect: " +
                                    std::string(option.help.empty() ? kNoJvm : option.help));
  }

  std::optional<std::string> typed(const KeySpec& key) const { return typed_.find(key.name); }

  void fill() {
    request_.master = typed(kMaster.spec).value_or(std::string(*kMaster.spec.default_text));
    request_.main_class = call_.get("--class");
    request_.app_args = call_.app_args;
    request_.supervise = call_.has("--supervise") || properties_.get(kDriverSupervise);
    const bool as_is = call_.resource.empty() || call_.resource == kInternalResource || is_shell();
    request_.primary_resource =
        as_is ? call_.resource : resolve_uri(call_.resource, world_.directory);
    describe();
  }

  bool is_shell() const {
    return call_.resource == "spark-shell" || call_.resource == "pyspark-shell" ||
           call_.resource == "sparkr-shell";
  }
  bool is_python() const {
    return call_.resource.ends_with(".py") || call_.resource == "pyspark-shell";
  }
  bool is_r() const {
    return call_.resource.ends_with(".R") || call_.resource.ends_with(".r") ||
           call_.resource == "sparkr-shell";
  }
  bool is_user_file() const {
    return !is_shell() && !is_python() && !is_r() && call_.resource != kInternalResource;
  }

  void require_positive(const KeySpec& key, std::string_view what) const {
    const std::optional<std::string> text = typed(key);
    if (text && parse_int(*text).value_or(0) <= 0)
      throw Error(std::string(what) + " must be a positive number, not " + *text);
  }

  void require_positive_memory(const KeySpec& key, std::string_view what) const {
    const std::optional<std::string> text = typed(key);
    if (!text) return;
    int64_t bytes = 0;
    try {
      bytes = parse_size(*text, key.unit);
    } catch (const Error&) {
      bytes = 0;  // the one message below says it for both
    }
    if (bytes <= 0)
      throw Error(std::string(what) +
                  " must be a positive number with a unit such as m or g, not " + *text);
    if (bytes < kLeastMemory) throw Error(std::string(what) + " must be at least 1m, not " + *text);
  }

  void check_submit() const {
    if (typed_.find("spark.remote") && (typed(kMaster.spec) || typed(kDeployMode.spec)))
      throw Error("Remote cannot be specified with master and/or deploy mode.");
    require_positive_memory(kDriverMemory.spec, "Driver memory");
    require_positive_memory(kExecutorMemory.spec, "Executor memory");
    require_positive(kDriverCores.spec, "Driver cores");
    require_positive(kExecutorCores.spec, "Executor cores");
    require_positive(kCoresMax.spec, "Total executor cores");
    if (!properties_.get(kDynamicAllocationEnabled))
      require_positive(kExecutorInstances.spec, "Number of executors");
    if (request_.master.starts_with("yarn") && !world_.environment.contains("HADOOP_CONF_DIR") &&
        !world_.environment.contains("YARN_CONF_DIR"))
      throw Error("When running with master '" + request_.master +
                  "' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment.");
    if (call_.has("--proxy-user") && call_.has("--principal"))
      throw Error("Only one of --proxy-user or --principal can be provided.");
  }

  /// Manager and deploy mode, and the pairs of them that cannot be, in Spark's order.
  void check_matrix() {
    const std::optional<Manager> manager = manager_of(request_.master);
    if (!manager)
      throw Error("Master must either be yarn or start with spark, k8s, or local, but was " +
                  request_.master + "; the masters of this build are " + std::string(kMasterForms));
    request_.manager = *manager;
    const std::string mode =
        typed(kDeployMode.spec).value_or(std::string(*kDeployMode.spec.default_text));
    if (mode != "client" && mode != "cluster")
      throw Error("Deploy mode must be either client or cluster, but was " + mode);
    request_.deploy_mode = mode == "cluster" ? DeployMode::kCluster : DeployMode::kClient;
    if (*manager == Manager::kKubernetes) resolve_kubernetes();
    if (request_.deploy_mode == DeployMode::kCluster) refuse_impossible_cluster();
    if (is_shell() || is_python() || is_r())
      throw Error("Cannot run " + call_.resource +
                  ": the application must be an executable file linked with libtinderbox");
  }

  void refuse_impossible_cluster() const {
    const bool standalone = request_.manager == Manager::kStandalone;
    const std::string_view languages = "Cluster deploy mode is currently not supported for ";
    if (standalone && is_python())
      throw Error(std::string(languages) + "python applications on standalone clusters.");
    if (standalone && is_r())
      throw Error(std::string(languages) + "R applications on standalone clusters.");
    if (request_.manager == Manager::kLocal)
      throw Error("Cluster deploy mode is not compatible with master \"local\"");
    if (is_shell()) throw Error("Cluster deploy mode is not applicable to Spark shells.");
    constexpr std::pair<std::string_view, std::string_view> kServers[] = {
        {"org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver", "Spark SQL shell."},
        {"org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "Spark Thrift server."},
        {"org.apache.spark.sql.connect.service.SparkConnectServer", "Spark Connect server."},
    };
    for (const auto& [name, what] : kServers)
      if (request_.main_class == name)
        throw Error("Cluster deploy mode is not applicable to " + std::string(what));
  }

  void resolve_kubernetes() {
    const auto url = std::get<KubernetesMaster>(parse_master_url(request_.master));
    if (url.insecure)
      request_.warnings.push_back("Kubernetes master URL uses HTTP instead of HTTPS.");
    request_.master = "k8s://" + url.url;
  }

  /// What can only be told once manager and mode are known, before anything is sent.
  void check_cluster() const {
    const bool cluster = request_.deploy_mode == DeployMode::kCluster;
    if (request_.manager == Manager::kStandalone && cluster) parse_master_url(request_.master);
    const bool pods = request_.manager == Manager::kKubernetes;
    if (request_.dry_run && !(pods && cluster))
      throw Error(
          "--dry-run shows what --master k8s://… --deploy-mode cluster would create; it is "
          "no option of " +
          request_.master + " in " + (cluster ? "cluster" : "client") + " mode");
    if (pods && !properties_.get(cluster ? kKubernetesDriverImage : kKubernetesExecutorImage))
      throw Error(cluster ? "Must specify the driver container image"
                          : "Must specify the executor container image");
    if (pods) refuse_unknown_keys(properties_, "spark.kubernetes.");
    if (request_.manager == Manager::kYarn) refuse_manager("YARN");
  }

  [[noreturn]] void refuse_manager(std::string_view name) const {
    throw Error("Cannot use master " + request_.master + ": this build has no " +
                std::string(name) + " backend; the masters there are " + std::string(kMasterForms));
  }

  /// --kill and --status: a standalone master that can be asked.
  void check_action() {
    request_.submission_id = call_.get(request_.action == Action::kKill ? "--kill" : "--status");
    if (request_.submission_id.empty())
      throw Error(request_.action == Action::kKill
                      ? "Please specify a submission to kill."
                      : "Please specify a submission to request status for.");
    const std::optional<Manager> manager = manager_of(request_.master);
    if (manager == Manager::kKubernetes) {
      resolve_kubernetes();
    } else if (manager != Manager::kStandalone) {
      throw Error("No external SparkSubmitOperations clients found for master url: '" +
                  request_.master + "'");
    }
    request_.manager = *manager;
    parse_master_url(request_.master);
    request_.conf = properties_.with(kMaster, request_.master);
    request_.conf.check();
  }

  Reach here() const {
    const bool cluster = request_.deploy_mode == DeployMode::kCluster;
    switch (request_.manager) {
      case Manager::kLocal:
        return cluster ? kLocalCluster : kLocalClient;
      case Manager::kStandalone:
        return cluster ? kStandaloneCluster : kStandaloneClient;
      case Manager::kKubernetes:
        return cluster ? kKubernetesCluster : kKubernetesClient;
      case Manager::kYarn:
        return cluster ? kYarnCluster : kYarnClient;
    }
    return kNowhere;
  }

  /// The driver's properties: typed options where they reach, then all the others.
  void merge() {
    Conf conf = properties_;
    for (const SubmitOption& option : submit_options()) {
      const auto found = typed_.all().find(option.property);
      if (option.property.empty() || found == typed_.all().end()) continue;
      const Entry& entry = found->second;
      // Where an option does not reach, it still beats what --conf or a file brings there.
      const bool beats = entry.source == Source::kOption && conf.find(option.property);
      if (!(option.reach & here()) && !beats) continue;
      conf = conf.with(option.property, entry.value, entry.source, entry.detail);
    }
    const auto set_if_missing = [&](const KeySpec& key, const std::string& value,
                                    std::string_view from) {
      if (!conf.has(key)) conf = conf.with(key.name, value, Source::kDefault, from);
    };
    conf = conf.with(kMaster.spec.name, request_.master, origin(kMaster.spec).source,
                     origin(kMaster.spec).detail);
    set_if_missing(kDeployMode.spec, std::string(*kDeployMode.spec.default_text), "");
    set_if_missing(kAppName.spec, default_name(), "");
    set_if_missing(kAppSubmitTime.spec, std::to_string(world_.now_ms), "");
    // On Kubernetes it is an error to set it.
    if (request_.deploy_mode == DeployMode::kCluster && request_.manager != Manager::kKubernetes)
      conf = conf.without(kDriverHost.spec.name);
    request_.conf = resolve_resources(std::move(conf));
    warn_of_local_files();
    request_.conf.check();
  }

  Entry origin(const KeySpec& key) const {
    const auto found = typed_.all().find(key.name);
    return found == typed_.all().end() ? Entry{{}, Source::kDefault, {}} : found->second;
  }

  std::string default_name() const {
    if (!request_.main_class.empty()) return request_.main_class;
    const std::string& resource = request_.primary_resource;
    return resource.substr(resource.rfind('/') + 1);
  }

  /// Lists of files as absolute URIs; the application's own file is the last of spark.jars.
  Conf resolve_resources(Conf conf) const {
    for (const KeySpec* key : {&kJars.spec, &kFiles.spec, &kArchives.spec}) {
      const auto found = conf.all().find(key->name);
      const bool set = found != conf.all().end();
      std::vector<std::string> uris;
      if (set) uris = resolve_list(found->second.value, world_.directory, world_.list);
      if (key == &kJars.spec && is_user_file() &&
          std::find(uris.begin(), uris.end(), request_.primary_resource) == uris.end())
        uris.push_back(request_.primary_resource);
      if (uris.empty()) continue;
      std::string list;
      for (const std::string& uri : uris) list += (list.empty() ? "" : ",") + uri;
      const Entry was = set ? found->second : Entry{{}, Source::kSet, "the application's file"};
      conf = conf.with(key->name, list, was.source, was.detail);
    }
    return conf;
  }

  /// An archive with this scheme is unpacked; a file has nothing done to it.
  void warn_of_local_files() {
    for (const std::string& uri : request_.conf.get(kFiles))
      if (scheme_of(uri) == "local")
        request_.warnings.push_back(uri + " of " + std::string(kFiles.spec.name) +
                                    " is ignored: local: means a file that every machine has "
                                    "already; the application opens it by its path");
  }

  /// The left column of Spark's --verbose, in its order; "null" where nothing was given.
  void describe() {
    const auto add = [&](std::string_view name, std::optional<std::string> value) {
      request_.parsed.emplace_back(name, value.value_or("null"));
    };
    const auto key = [&](std::string_view name) { return typed_.find(name); };
    const auto option = [&](std::string_view name) {
      return call_.has(name) ? std::optional(call_.get(name)) : std::nullopt;
    };
    std::string args;
    for (const std::string& arg : request_.app_args) args += (args.empty() ? "" : " ") + arg;
    add("master", request_.master);
    add("remote", key("spark.remote"));
    add("deployMode", key(kDeployMode.spec.name));
    add("executorMemory", key(kExecutorMemory.spec.name));
    add("executorCores", key(kExecutorCores.spec.name));
    add("totalExecutorCores", key(kCoresMax.spec.name));
    add("propertiesFile", option("--properties-file"));
    add("driverMemory", key(kDriverMemory.spec.name));
    add("driverCores", key(kDriverCores.spec.name));
    add("driverExtraClassPath", key("spark.driver.extraClassPath"));
    add("driverExtraLibraryPath", key("spark.driver.extraLibraryPath"));
    add("driverExtraJavaOptions", key("spark.driver.extraJavaOptions"));
    add("supervise", request_.supervise ? "true" : "false");
    add("queue", key("spark.yarn.queue"));
    add("numExecutors", key(kExecutorInstances.spec.name));
    add("files", key(kFiles.spec.name));
    add("pyFiles", key("spark.submit.pyFiles"));
    add("archives", key(kArchives.spec.name));
    add("mainClass", option("--class"));
    add("primaryResource", request_.primary_resource);
    add("name", key(kAppName.spec.name).value_or(default_name()));
    add("childArgs", "[" + args + "]");
    add("jars", key(kJars.spec.name));
    add("packages", key("spark.jars.packages"));
    add("packagesExclusions", key("spark.jars.excludes"));
    add("repositories", key("spark.jars.repositories"));
    add("verbose", request_.verbose ? "true" : "false");
  }

  Call call_;
  const Surroundings& world_;
  Conf properties_;  // --conf and files
  Conf typed_;       // those, the environment and the options
  SubmitRequest request_;
};

}  // namespace

SubmitRequest parse_submit(Strings args, const Surroundings& world) {
  if (args.empty()) throw UsageError("", 255, true);
  return Submission(lex(args, false), world).run();
}

SubmitRequest parse_run_example(Strings args, const Surroundings& world) {
  if (args.empty()) throw UsageError("", 255, true);
  Call call = lex(args, true);
  if (!call.action && !call.has("--class")) throw UsageError("Missing example class name.", 1);
  call.resource = world.self;
  return Submission(std::move(call), world).run();
}

std::string verbose_text(const SubmitRequest& request) {
  std::string text = "Parsed arguments:\n";
  for (const auto& [name, value] : request.parsed) {
    constexpr size_t kColumn = 26;
    std::string line = "  " + name;
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text += line + value + "\n";
  }
  text += "\nResolved properties, and where each came from:\n";
  for (const auto& [name, entry] : request.conf.all())
    text += "  " + name + "=" + redact(request.conf, name, entry.value) + "  (" +
            show_origin(entry) + ")\n";
  return text;
}

}  // namespace tinderbox::conf
