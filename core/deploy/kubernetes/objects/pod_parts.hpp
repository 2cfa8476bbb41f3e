// The parts that driver and executor pods share, each from its keys.
#pragma once

#include <string>
#include <vector>

#include "conf/values/custom_resources.hpp"
#include "core/deploy/kubernetes/objects/pod_template.hpp"

namespace tinderbox::core::kubernetes {

/// The ports of pods while no key names others: fixed, so that services and policies can name them.
inline constexpr int kDriverRpcPort = 7078;
inline constexpr int kBlocksPort = 7079;
inline constexpr int kUiPort = 4040;

/// Which pod a key is about: `spark.kubernetes.driver.…` or `spark.kubernetes.executor.…`.
enum class Owner : uint8_t { Driver, Executor };

/// The application as its objects name it.
struct AppNames {
  std::string app_id, app_name;
  std::string prefix;  // of the names of the driver's objects
  std::string unique;  // unique_id()
  std::string name_space;
  std::string user;
};

/// `spark.kubernetes.` + owner + `.` + `rest`.
std::string owner_key(Owner owner, std::string_view rest);

/// Spark's labels that every pod of the application has, then those of `owner`'s keys.
/// Errors: conf::Error for a key that is Spark's own.
conf::Pairs pod_labels(const conf::Conf& conf, Owner owner, const AppNames& names,
                       const conf::Pairs& own);
/// {{APP_ID}} and {{EXECUTOR_ID}} in the values are replaced.
conf::Pairs pod_annotations(const conf::Conf& conf, Owner owner, const AppNames& names,
                            const std::string& executor = {});

/// Image, pull policy and secrets, node selectors, scheduler, security context.
/// Errors: conf::Error when no key names an image, or a step is excluded that no pod goes without.
void add_basics(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner);
/// spark.kubernetes.*.secrets.* and secretKeyRef.*. Errors: conf::Error for a malformed reference.
void add_secrets(PodUnderConstruction& pod, const conf::Conf& conf, Owner owner);
/// spark.kubernetes.driverEnv.* or spark.executorEnv.*; names that no shell could have are left
/// out, and returned.
std::vector<std::string> add_environment(PodUnderConstruction& pod, const conf::Conf& conf,
                                         Owner owner);
/// `cpu`: of the request; the limit comes from its key. Unit: MiB. `custom`: vendor/resource →
/// amount.
void add_resources(PodUnderConstruction& pod, const std::string& cpu, const std::string& cpu_limit,
                   int64_t memory_mib, const conf::Pairs& custom);
/// Of the resource `name`. Errors: conf::Error when no key says.
std::string vendor_of(const conf::Conf& conf, conf::ResourceOwner owner, const std::string& name);
/// spark.OWNER.resource.NAME.amount as limits of VENDOR/NAME. Errors: conf::Error without a vendor.
conf::Pairs custom_limits(const conf::Conf& conf, conf::ResourceOwner owner);
/// Volumes named spark-local-dir-* as they are, else an emptyDir for each of SPARK_LOCAL_DIRS,
/// spark.local.dir or /var/data/spark-UNIQUE.
void add_local_dirs(PodUnderConstruction& pod, const conf::Conf& conf, const std::string& unique);
/// A port that is 0 is left out.
void add_port(PodUnderConstruction& pod, const std::string& name, int port);

/// Whether `spark.kubernetes.*.pod.excludedFeatureSteps` names this class of Spark's, with or
/// without its package.
bool step_excluded(const conf::Conf& conf, Owner owner, std::string_view name);

/// What the pod has on top of `memory`. Unit: MiB. Source: Spark 4.3 BasicDriverFeatureStep,
/// BasicExecutorFeatureStep; docs/kubernetes.md says how our default differs.
int64_t memory_overhead_mib(const conf::Conf& conf, Owner owner, int64_t memory_mib);

/// What an executor's pod has beside that for memory off the heap. Unit: MiB. Errors: conf::Error
/// without a size. Source: Spark 4.3 Utils.executorOffHeapMemorySizeAsMb.
int64_t off_heap_mib(const conf::Conf& conf);

}  // namespace tinderbox::core::kubernetes
