// The table of options and the help text made from it.
#include "conf/submit/submit_table.hpp"

#include "conf/keys.hpp"
#include "conf/values/master_url.hpp"

namespace tinderbox::conf {
namespace {

constexpr SubmitOption kOptions[] = {
    {"--master", "", "URL", kMaster.spec.name, kEverywhere, Group::kMain,
     "where to run; default local[*]. Forms below"},
    {"--deploy-mode", "", "MODE", kDeployMode.spec.name, kEverywhere, Group::kMain,
     "client (default): the driver runs here; cluster: on a worker"},
    {"--class", "", "NAME", "", kNowhere, Group::kMain,
     "which of the applications registered in the file to run"},
    {"--name", "", "NAME", kAppName.spec.name, kEverywhere, Group::kMain,
     "name shown for the application"},
    {"--files", "", "LIST", kFiles.spec.name,
     kLocalClient | kLocalCluster | kAnyStandalone | kAnyKubernetes | kYarnCluster, Group::kMain,
     "files put into every executor's working directory, commas between"},
    {"--archives", "", "LIST", kArchives.spec.name,
     kLocalClient | kLocalCluster | kAnyStandalone | kAnyKubernetes | kYarnCluster, Group::kMain,
     "archives unpacked there; FILE#NAME names the folder"},
    {"--conf", "-c", "KEY=VALUE", "", kNowhere, Group::kMain,
     "any configuration property; may be repeated"},
    {"--properties-file", "", "FILE", "", kNowhere, Group::kMain,
     "properties: spark-defaults.conf text, or TOML when it ends in .toml"},
    {"--load-spark-defaults", "", "", "", kNowhere, Group::kMain,
     "read spark-defaults.conf below the file of --properties-file"},

    {"--driver-memory", "", "SIZE", kDriverMemory.spec.name, kAnyClient | kShipped,
     Group::kResources, "memory of the driver, such as 1g"},
    {"--executor-memory", "", "SIZE", kExecutorMemory.spec.name,
     kAnyStandalone | kAnyKubernetes | kAnyYarn, Group::kResources, "memory of each executor"},
    {"--executor-cores", "", "N", kExecutorCores.spec.name,
     kAnyStandalone | kAnyKubernetes | kAnyYarn, Group::kResources, "cores of each executor"},
    {"--driver-cores", "", "N", kDriverCores.spec.name, kShipped | kYarnCluster, Group::kCluster,
     "cores of the driver in cluster mode"},
    {"--supervise", "", "", kDriverSupervise.spec.name, kStandaloneCluster, Group::kCluster,
     "restart the driver when it fails"},
    {"--kill", "", "ID", "", kNowhere, Group::kCluster, "end the driver with this submission id"},
    {"--status", "", "ID", "", kNowhere, Group::kCluster, "print that driver's state"},
    {"--total-executor-cores", "", "N", kCoresMax.spec.name, kAnyStandalone, Group::kStandalone,
     "cores of all executors together"},
    {"--num-executors", "", "N", kExecutorInstances.spec.name, kAnyKubernetes | kAnyYarn,
     Group::kKubernetes, "executors to start"},
    {"--dry-run", "", "", "", kNowhere, Group::kKubernetes,
     "print the objects that cluster mode would create, as YAML, and create nothing"},

    {"--jars", "", "LIST", kJars.spec.name, kLocalClient | kAnyStandalone | kAnyKubernetes,
     Group::kNoEffect, "libraries are linked into the application; for data files use --files"},
    {"--packages", "", "LIST", "spark.jars.packages", kShipped, Group::kNoEffect, ""},
    {"--exclude-packages", "", "LIST", "spark.jars.excludes", kShipped, Group::kNoEffect, ""},
    {"--repositories", "", "LIST", "spark.jars.repositories", kShipped, Group::kNoEffect, ""},
    {"--py-files", "", "LIST", "spark.submit.pyFiles", kLocalCluster | kShipped | kYarnCluster,
     Group::kNoEffect, ""},
    {"--driver-java-options", "", "TEXT", "spark.driver.extraJavaOptions", kEverywhere,
     Group::kNoEffect, ""},
    {"--driver-class-path", "", "PATH", "spark.driver.extraClassPath", kEverywhere,
     Group::kNoEffect, ""},
    {"--driver-library-path", "", "PATH", "spark.driver.extraLibraryPath", kEverywhere,
     Group::kNoEffect, ""},
    {"--principal", "", "NAME", "spark.kerberos.principal", kEverywhere, Group::kNoEffect,
     "there is no Kerberos here"},
    {"--keytab", "", "FILE", "spark.kerberos.keytab", kEverywhere, Group::kNoEffect,
     "there is no Kerberos here"},
    {"--proxy-user", "", "NAME", "", kNowhere, Group::kNoEffect,
     "everything runs as the user who started it"},
    {"--queue", "", "NAME", "spark.yarn.queue", kAnyYarn, Group::kNoEffect,
     "queues are YARN's, which is not supported"},
    {"--remote", "", "URL", "spark.remote", kEverywhere, Group::kNoEffect,
     "Spark Connect is not supported"},

    {"--help", "-h", "", "", kNowhere, Group::kOther, "this text"},
    {"--verbose", "-v", "", "", kNowhere, Group::kOther,
     "print every value that was resolved and where it came from"},
    {"--version", "", "", "", kNowhere, Group::kOther, "print the version"},
    {"--usage-error", "", "", "", kNowhere, Group::kOther, "this text, exit code 1"},
};

std::string_view heading(Group group) {
  switch (group) {
    case Group::kMain:
      return "";
    case Group::kResources:
      return "Resources:";
    case Group::kCluster:
      return "Cluster deploy mode:";
    case Group::kStandalone:
      return "spark:// only:";
    case Group::kKubernetes:
      return "k8s:// only:";
    case Group::kNoEffect:
      return "Accepted with a warning, without effect (mostly because there is no JVM here):";
    case Group::kOther:
      return "Other:";
  }
  return "";
}

std::string line(const SubmitOption& option) {
  std::string left = "  " + std::string(option.name);
  if (!option.short_name.empty()) left += ", " + std::string(option.short_name);
  if (!option.value.empty()) left += " " + std::string(option.value);
  constexpr size_t kColumn = 30;
  left.resize(std::max(left.size() + 1, kColumn), ' ');
  if (option.help.empty()) left.resize(left.find_last_not_of(' ') + 1);
  return left + std::string(option.help) + "\n";
}

}  // namespace

std::span<const SubmitOption> submit_options() { return kOptions; }

const SubmitOption* find_option(std::string_view name) {
  for (const SubmitOption& option : kOptions)
    if (name == option.name || (!option.short_name.empty() && name == option.short_name))
      return &option;
  return nullptr;
}

std::string submit_synopsis() {
  return "Usage: tinderbox submit [options] <application file | URL> [application arguments]\n"
         "       tinderbox submit --kill ID --master spark://host:port | k8s://URL\n"
         "       tinderbox submit --status ID --master spark://host:port | k8s://URL\n"
         "       tinderbox run-example [options] NAME [application arguments]\n";
}

std::string submit_help() {
  std::string text = submit_synopsis() + "\nOptions:\n";
  Group group = Group::kMain;
  for (const SubmitOption& option : kOptions) {
    if (option.group != group) {
      group = option.group;
      text += "\n" + std::string(heading(group)) + "\n";
    }
    text += line(option);
  }
  text += "\nMasters: " + std::string(kMasterForms) + "\n";
  text +=
      "Everything after the application file belongs to the application.\n"
      "A value is taken from the options, else --conf, the properties file, the environment,\n"
      "and the default, in this order.\n";
  return text;
}

}  // namespace tinderbox::conf
