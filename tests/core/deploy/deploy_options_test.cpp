// Settings of the master and of a worker, and what becomes of them.
#include "core/deploy/master/master.hpp"
#include "core/deploy/worker/worker.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

/// A key with a value that is not its default, and what the role makes of it.
template <class Options>
struct RoleSetting {
  const char *key, *value;
  bool (*there)(const Options& o);
};

// clang-format off
#define THERE(condition) [](const auto& o) { return static_cast<bool>(condition); }
const RoleSetting<MasterOptions> kOfMaster[] = {
    {"spark.deploy.recoveryMode", "FILESYSTEM", THERE(o.persist)},
    {"spark.worker.timeout", "7", THERE(o.worker_timeout == std::chrono::seconds(7))},
    {"spark.deploy.recoveryTimeout", "7", THERE(o.recovery_timeout == std::chrono::seconds(7))},
    {"spark.dead.worker.persistence", "7", THERE(o.dead_worker_persistence == 7)},
    {"spark.deploy.maxExecutorRetries", "7", THERE(o.max_executor_retries == 7)},
    {"spark.deploy.defaultCores", "7", THERE(o.default_cores == 7)},
    {"spark.deploy.maxDrivers", "7", THERE(o.max_drivers == 7)},
    {"spark.deploy.retainedApplications", "7", THERE(o.retained_apps == 7)},
    {"spark.deploy.retainedDrivers", "7", THERE(o.retained_drivers == 7)},
    {"spark.deploy.spreadOutApps", "false", THERE(!o.spread_out_apps)},
    {"spark.deploy.spreadOutDrivers", "false", THERE(!o.spread_out_drivers)},
    {"spark.deploy.workerSelectionPolicy", "MEMORY_FREE_ASC", THERE(o.worker_order == WorkerOrder::kMemoryFreeAsc)},
    {"spark.deploy.appIdPattern", "a-%s-%04d", THERE(o.app_id_pattern == "a-%s-%04d")},
    {"spark.deploy.driverIdPattern", "d-%s-%04d", THERE(o.driver_id_pattern == "d-%s-%04d")},
    {"spark.deploy.appNumberModulo", "7000", THERE(o.app_number_modulo == 7000)},
    {"spark.master.useAppNameAsAppId.enabled", "true", THERE(o.name_as_app_id)},
};
const RoleSetting<WorkerOptions> kOfWorker[] = {
    {"spark.worker.idPattern", "w-%s-%s-%d", THERE(o.id_pattern == "w-%s-%s-%d")},
    {"spark.worker.timeout", "8", THERE(o.heartbeat_interval == std::chrono::seconds(2))},
    {"spark.worker.initialRegistrationRetries", "7", THERE(o.initial_retries == 7)},
    {"spark.worker.maxRegistrationRetries", "17", THERE(o.max_retries == 17)},
    {"spark.worker.preferConfiguredMasterAddress", "true", THERE(o.prefer_configured_master)},
    {"spark.rpc.askTimeout", "7s", THERE(o.ask_timeout == std::chrono::seconds(7))},
    {"spark.worker.executorStateSync.maxAttempts", "7", THERE(o.state_sync_attempts == 7)},
    {"spark.worker.driverTerminateTimeout", "7s", THERE(o.driver_terminate_timeout == std::chrono::seconds(7))},
    {"spark.worker.ui.retainedExecutors", "7", THERE(o.retained_executors == 7)},
    {"spark.worker.ui.retainedDrivers", "7", THERE(o.retained_drivers == 7)},
    {"spark.worker.cleanup.enabled", "false", THERE(!o.cleanup)},
    {"spark.worker.cleanup.interval", "7", THERE(o.cleanup_interval == std::chrono::seconds(7))},
    {"spark.worker.cleanup.appDataTtl", "7", THERE(o.app_data_ttl == std::chrono::seconds(7))},
};
#undef THERE
// clang-format on

}  // namespace

TEST_CASE("each setting of the master and of a worker reaches it", "[deploy]") {
  for (const auto& setting : kOfMaster) {
    CAPTURE(setting.key);
    CHECK_FALSE(setting.there(master_options({})));
    CHECK(setting.there(master_options(conf::Conf{}.with(setting.key, setting.value))));
  }
  for (const auto& setting : kOfWorker) {
    CAPTURE(setting.key);
    CHECK_FALSE(setting.there(worker_options({})));
    CHECK(setting.there(worker_options(conf::Conf{}.with(setting.key, setting.value))));
  }
}
