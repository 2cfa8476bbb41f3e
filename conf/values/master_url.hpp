// The master URLs: what each form means.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conf/values/address.hpp"

namespace tinderbox::conf {

/// `local`, `local[N]`, `local[*]`, `local[N,F]`: executor threads in the driver's own process.
struct LocalMaster {
  std::optional<int> threads = 1;  // none: as many as there are cores
  int max_failures = 1;            // the job ends with the F-th failure of one task
  bool operator==(const LocalMaster&) const = default;
};
/// `local-cluster[W,C,M]`: a master and W workers of this process, executors as child processes.
struct LocalClusterMaster {
  int workers = 0;
  int cores = 0;           // of each worker
  int64_t memory_mib = 0;  // of each worker. Unit: MiB
  bool operator==(const LocalClusterMaster&) const = default;
};
/// `spark://h:p[,h:p…]` or `tinderbox://…`: standalone masters, one of them active.
struct StandaloneMaster {
  std::vector<HostPort> masters;
  bool operator==(const StandaloneMaster&) const = default;
};
/// `k8s://URL`.
struct KubernetesMaster {
  std::string url;        // with its scheme
  bool insecure = false;  // plain http
  bool operator==(const KubernetesMaster&) const = default;
};
struct YarnMaster {
  bool operator==(const YarnMaster&) const = default;
};
using MasterUrl =
    std::variant<LocalMaster, LocalClusterMaster, StandaloneMaster, KubernetesMaster, YarnMaster>;

/// Errors: conf::Error `Could not parse Master URL: 'X'` with the forms there are;
/// `Invalid master URL: X` for a bad address; `Asked to run locally with 0 threads`.
/// Source: Spark 4.3 SparkContext.createTaskScheduler, Utils.extractHostPortFromSparkUrl.
MasterUrl parse_master_url(std::string_view url);

/// One `spark://h:p` of a standalone master.
std::string to_url(const HostPort& master);
/// The whole list: `spark://h1:p1,h2:p2`.
std::string to_url(const StandaloneMaster& master);

/// What submit tells by the prefix alone, before anything is parsed.
enum class Manager { kLocal, kStandalone, kKubernetes, kYarn };
/// None: no manager has this prefix.
std::optional<Manager> manager_of(std::string_view url);

/// The URLs that this build can use, for messages.
inline constexpr std::string_view kMasterForms =
    "local, local[N], local[*], local[N,F], local-cluster[W,C,M], spark://host:port[,host:port], "
    "tinderbox://host:port[,host:port], k8s://URL";

}  // namespace tinderbox::conf
