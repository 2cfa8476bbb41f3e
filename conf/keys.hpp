// Every setting that has a meaning here, once: name, default, unit, one line of help.
// The only place where a default is written. A new key is defined here and listed in keys.cpp
// (conf_test fails when one of the two is forgotten). Spark's names keep Spark 4.3's defaults; keys
// which only this system has start with `tinderbox.`.
#pragma once
#include <span>

#include "conf/key.hpp"
#include "conf/kubernetes_keys.hpp"

namespace tinderbox::conf {

// Application and submission.
inline constexpr Key<Text> kMaster{"spark.master", "local[*]", "where to run: see the master URLs"};
inline constexpr Key<Text> kDeployMode{"spark.submit.deployMode", "client",
                                       "client: the driver runs here; cluster: on a worker"};
inline constexpr Key<Opt<Text>> kAppName{"spark.app.name", "name of the application"};
inline constexpr Key<Opt<Text>> kAppId{"spark.app.id", "id given by the cluster manager"};
inline constexpr Key<Opt<int64_t>> kAppSubmitTime{"spark.app.submitTime",
                                                  "when submit ran, milliseconds since 1970"};
inline constexpr Key<Words> kJars{"spark.jars", "",
                                  "the application's file; other entries have no effect"};
inline constexpr Key<Words> kFiles{"spark.files", "",
                                   "files put into every executor's working directory"};
inline constexpr Key<Words> kArchives{
    "spark.archives", "",
    "archives unpacked in every executor's working directory; `#name` names the folder"};
inline constexpr Key<bool> kFilesOverwrite{"spark.files.overwrite", "false",
                                           "an added file may replace one with other content"};
inline constexpr Key<Duration> kFilesFetchTimeout{"spark.files.fetchTimeout", "60s", Unit::kSecond,
                                                  "limit for fetching one file"};
inline constexpr Key<Opt<Text>> kLogLevel{"spark.log.level",
                                          "log level: trace, debug, info, warn, error, off"};
inline constexpr Key<bool> kLogConf{"spark.logConf", "false",
                                    "log every setting when an application starts"};
inline constexpr Key<Text> kRedactionRegex{"spark.redaction.regex",
                                           "(?i)secret|password|token|access[.]?key|credential",
                                           "keys and values that match are never shown"};
inline constexpr Key<bool> kSubmitWaitAppCompletion{
    "spark.standalone.submit.waitAppCompletion", "false",
    "a cluster-mode submit waits until the driver has ended"};
inline constexpr Key<Duration> kAppRegistrationTimeout{
    "tinderbox.registration.timeout", "20s", Unit::kSecond,
    "how long an application waits for a master's answer before it tries again"};
inline constexpr Key<int> kAppRegistrationAttempts{
    "tinderbox.registration.attempts", "3",
    "tries to register with a master before the driver ends"};

// Dynamic allocation and decommissioning.
inline constexpr Key<bool> kDynamicAllocationEnabled{
    "spark.dynamicAllocation.enabled", "false",
    "let the number of executors follow the load; not in local mode"};
inline constexpr Key<int> kAllocationMinExecutors{"spark.dynamicAllocation.minExecutors", "0",
                                                  "executors that stay whatever happens"};
inline constexpr Key<int> kAllocationMaxExecutors{"spark.dynamicAllocation.maxExecutors",
                                                  "2147483647", "most executors"};
inline constexpr Key<int> kAllocationInitialExecutors{
    "spark.dynamicAllocation.initialExecutors", kAllocationMinExecutors,
    "executors at the start; spark.executor.instances counts too if it is more"};
inline constexpr Key<Duration> kAllocationBacklogTimeout{
    "spark.dynamicAllocation.schedulerBacklogTimeout", "1s", Unit::kSecond,
    "how long tasks wait before the first further executor is asked for"};
inline constexpr Key<Duration> kAllocationSustainedTimeout{
    "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout", kAllocationBacklogTimeout,
    "how long they wait before twice as many are asked for"};
inline constexpr Key<Duration> kAllocationIdleTimeout{"spark.dynamicAllocation.executorIdleTimeout",
                                                      "60s", Unit::kSecond,
                                                      "how long an executor may be without a task"};
inline constexpr Key<Duration> kAllocationCachedIdleTimeout{
    "spark.dynamicAllocation.cachedExecutorIdleTimeout", "2147483647s", Unit::kSecond,
    "the same for one with cached blocks"};
inline constexpr Key<bool> kAllocationShuffleTracking{
    "spark.dynamicAllocation.shuffleTracking.enabled", "true",
    "keep executors whose shuffle outputs a job may read"};
inline constexpr Key<Opt<Duration>> kAllocationShuffleTimeout{
    "spark.dynamicAllocation.shuffleTracking.timeout", Unit::kMillisecond,
    "how long an idle executor with outputs that no running job reads stays; unset: until they are "
    "cleaned"};
inline constexpr Key<double> kAllocationRatio{
    "spark.dynamicAllocation.executorAllocationRatio", "1.0",
    "share of the executors that would run all tasks at once"};
inline constexpr Key<bool> kDecommissionEnabled{
    "spark.decommission.enabled", "false",
    "let executors and workers finish what they run before they end"};
inline constexpr Key<Opt<Duration>> kDecommissionForceKillTimeout{
    "spark.executor.decommission.forceKillTimeout", Unit::kSecond,
    "time after which a decommissioning executor is killed; unset: never"};
inline constexpr Key<int> kMaxRetainedDecommissioned{
    "spark.scheduler.maxRetainedRemovedDecommissionExecutors", "0",
    "decommissioned executors that are remembered when they are gone"};
inline constexpr Key<int> kMaxRetainedUnknownDecommissioned{
    "spark.scheduler.maxRetainedUnknownDecommissionExecutors", "0",
    "requests to decommission executors that are remembered until those register"};
inline constexpr Key<bool> kIgnoreDecommissionFetchFailure{
    "spark.stage.ignoreDecommissionFetchFailure", "true",
    "fetch failures by decommissioned executors don't count towards "
    "spark.stage.maxConsecutiveAttempts"};
inline constexpr Key<bool> kUnregisterOutputOnHost{
    "spark.files.fetchFailure.unRegisterOutputOnHost", "false",
    "a fetch failure by a decommissioned host drops all outputs of that host"};
inline constexpr Key<Text> kDecommissionSignal{
    "spark.executor.decommission.signal", "PWR",
    "signal that decommissions an executor: PWR, USR1, USR2, HUP or WINCH"};
inline constexpr Key<Text> kWorkerDecommissionSignal{"spark.worker.decommission.signal", "PWR",
                                                     "the same for a worker and its executors"};
inline constexpr Key<bool> kMigration{
    "spark.storage.decommission.enabled", "false",
    "move the blocks of a decommissioned executor to others before it ends"};
inline constexpr Key<bool> kMigrateShuffles{"spark.storage.decommission.shuffleBlocks.enabled",
                                            "true", "of them: its map outputs"};
inline constexpr Key<bool> kMigrateRdds{"spark.storage.decommission.rddBlocks.enabled", "true",
                                        "of them: its cached partitions"};
inline constexpr Key<int> kMigrationMaxFailures{
    "spark.storage.decommission.maxReplicationFailuresPerBlock", "3",
    "tries to move one block before it is given up"};
inline constexpr Key<Duration> kMigrationReattempt{
    "spark.storage.decommission.replicationReattemptInterval", "30s", Unit::kMillisecond,
    "how long an executor that could not take a block is left alone"};
inline constexpr Key<int> kMigrationThreads{
    "spark.storage.decommission.shuffleBlocks.maxThreads", "8",
    "executors that take blocks of a decommissioned one at once"};
inline constexpr Key<Opt<int64_t>> kMigrationMaxDisk{
    "spark.storage.decommission.shuffleBlocks.maxDiskSize", Unit::kByte,
    "an executor with more bytes of map outputs on disk takes no others; unset: no limit"};
inline constexpr Key<Duration> kRollInterval{
    "spark.kubernetes.executor.rollInterval", "0", Unit::kMillisecond,
    "how often one executor is decommissioned, so that another takes its place; 0: never"};
inline constexpr Key<Text> kRollPolicy{
    "spark.kubernetes.executor.rollPolicy", "OUTLIER",
    "which: ID, ADD_TIME, TOTAL_DURATION, AVERAGE_DURATION, FAILED_TASKS, TOTAL_SHUFFLE_WRITE, "
    "DISK_USED, IDLE_TIME, OUTLIER, OUTLIER_NO_FALLBACK"};
inline constexpr Key<int> kRollMinTasks{
    "spark.kubernetes.executor.minTasksPerExecutorBeforeRolling", "0",
    "tasks that an executor must have had before it is chosen"};

// Master.
inline constexpr Key<Opt<Text>> kMasterHost{
    "tinderbox.master.host",
    "address the master listens on and announces; unset: this host's name"};
inline constexpr Key<int> kMasterPort{"tinderbox.master.port", "7077", "master's port; 0: any"};
inline constexpr Key<int> kMasterUiPort{"spark.master.ui.port", "8080", "master's web port"};
inline constexpr Key<bool> kMasterUseAppNameAsAppId{
    "spark.master.useAppNameAsAppId.enabled", "false",
    "the application id is its name in lower case without blanks"};
inline constexpr Key<bool> kDeploySpreadOutApps =
    Key<bool>{"spark.deploy.spreadOutApps", "true",
              "spread an application's executors over workers"}
        .formerly("spark.deploy.spreadOut");
inline constexpr Key<bool> kDeploySpreadOutDrivers{
    "spark.deploy.spreadOutDrivers", "true",
    "spread drivers over workers; false: the first worker by id that fits"};
inline constexpr Key<int> kDeployDefaultCores{"spark.deploy.defaultCores", "2147483647",
                                              "spark.cores.max of applications which set none"};
inline constexpr Key<int> kDeployMaxDrivers{"spark.deploy.maxDrivers", "2147483647",
                                            "most drivers that run at once"};
inline constexpr Key<int> kDeployMaxExecutorRetries{
    "spark.deploy.maxExecutorRetries", "10",
    "executors in a row that could not be started, while none runs, before the application fails; "
    "below 0: never"};
inline constexpr Key<Text> kDeployRecoveryMode{"spark.deploy.recoveryMode", "NONE",
                                               "NONE or FILESYSTEM"};
inline constexpr Key<Text> kDeployRecoveryDirectory{
    "spark.deploy.recoveryDirectory", "", "where FILESYSTEM recovery keeps the master's state"};
inline constexpr Key<Opt<Duration>> kDeployRecoveryTimeout{
    "spark.deploy.recoveryTimeout", Unit::kSecond,
    "how long a recovering master waits; unset: spark.worker.timeout"};
inline constexpr Key<int> kDeployRetainedApplications{"spark.deploy.retainedApplications", "200",
                                                      "finished applications the master remembers"};
inline constexpr Key<int> kDeployRetainedDrivers{"spark.deploy.retainedDrivers", "200",
                                                 "finished drivers the master remembers"};
inline constexpr Key<Text> kDeployWorkerSelectionPolicy{
    "spark.deploy.workerSelectionPolicy", "CORES_FREE_DESC",
    "order of workers: {CORES,MEMORY}_FREE_{ASC,DESC} or WORKER_ID"};
inline constexpr Key<Text> kDeployAppIdPattern{"spark.deploy.appIdPattern", "app-%s-%04d",
                                               "application ids: time, then number"};
inline constexpr Key<Text> kDeployDriverIdPattern{"spark.deploy.driverIdPattern", "driver-%s-%04d",
                                                  "driver ids: time, then number"};
inline constexpr Key<Opt<int>> kDeployAppNumberModulo{
    "spark.deploy.appNumberModulo",
    "the number in application ids wraps at this value (at least 1000)"};
inline constexpr Key<int> kDeadWorkerPersistence{"spark.dead.worker.persistence", "15",
                                                 "timeouts that a dead worker stays listed"};
inline constexpr Key<Duration> kWorkerTimeout{"spark.worker.timeout", "60", Unit::kSecond,
                                              "silence after which the master drops a worker"};

// Object stores, by Hadoop's names. spark.hadoop.fs.s3a.bucket.NAME.* says the same of one bucket;
// what no key says the variables AWS_* do.
inline constexpr Key<Opt<Text>> kS3AccessKey{"spark.hadoop.fs.s3a.access.key",
                                             "s3a: access key; unset: AWS_ACCESS_KEY_ID"};
inline constexpr Key<Opt<Text>> kS3SecretKey{"spark.hadoop.fs.s3a.secret.key",
                                             "s3a: secret key; unset: AWS_SECRET_ACCESS_KEY"};
inline constexpr Key<Opt<Text>> kS3SessionToken{
    "spark.hadoop.fs.s3a.session.token",
    "s3a: token of temporary credentials; unset: AWS_SESSION_TOKEN"};
inline constexpr Key<Opt<Text>> kS3Endpoint{
    "spark.hadoop.fs.s3a.endpoint",
    "s3a: URL or host:port of the store; unset: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, Amazon"};
inline constexpr Key<Opt<Text>> kS3Region{
    "spark.hadoop.fs.s3a.endpoint.region",
    "s3a: region of the store; unset: AWS_REGION, AWS_DEFAULT_REGION, us-east-1"};
inline constexpr Key<bool> kS3Tls{"spark.hadoop.fs.s3a.connection.ssl.enabled", "true",
                                  "s3a: https, where the endpoint does not say"};
inline constexpr Key<Opt<bool>> kS3PathStyle{
    "spark.hadoop.fs.s3a.path.style.access",
    "s3a: the bucket stands in the path; unset: where the endpoint is an address or the bucket has "
    "dots"};

// Worker.
inline constexpr Key<Opt<Text>> kWorkerHost{
    "tinderbox.worker.host",
    "address the worker listens on and announces; unset: this host's name"};
inline constexpr Key<int> kWorkerPort{"tinderbox.worker.port", "0", "worker's port; 0: any"};
inline constexpr Key<Opt<int>> kWorkerCores{"tinderbox.worker.cores",
                                            "cores the worker offers; unset: all"};
inline constexpr Key<Opt<int64_t>> kWorkerMemory{
    "tinderbox.worker.memory", Unit::kByte,
    "memory the worker offers; unset: all but 1 GiB, at least 1 GiB"};
inline constexpr Key<Text> kWorkerDir{
    "tinderbox.worker.dir", "work", "folder for the working directories of executors and drivers"};
inline constexpr Key<int> kWorkerUiPort{"spark.worker.ui.port", "8081", "worker's web port"};
inline constexpr Key<Text> kWorkerIdPattern{"spark.worker.idPattern", "worker-%s-%s-%d",
                                            "worker ids: time, host, port"};
inline constexpr Key<bool> kWorkerCleanupEnabled{"spark.worker.cleanup.enabled", "true",
                                                 "remove the directories of ended applications and "
                                                 "drivers whose ids are of the default patterns"};
inline constexpr Key<Duration> kWorkerCleanupInterval{"spark.worker.cleanup.interval", "1800",
                                                      Unit::kSecond, "time between two clean-ups"};
inline constexpr Key<Duration> kWorkerCleanupAppDataTtl{
    "spark.worker.cleanup.appDataTtl", "604800", Unit::kSecond,
    "age at which an ended application's directory goes"};
inline constexpr Key<Duration> kWorkerDriverTerminateTimeout{
    "spark.worker.driverTerminateTimeout", "10s", Unit::kMillisecond,
    "time between asking a driver to end and killing it"};
inline constexpr Key<int> kWorkerExecutorStateSyncMaxAttempts{
    "spark.worker.executorStateSync.maxAttempts", "5",
    "tries to report an executor's state before the worker ends"};
inline constexpr Key<int> kWorkerInitialRegistrationRetries{
    "spark.worker.initialRegistrationRetries", "6", "first tries to register, close together"};
inline constexpr Key<int> kWorkerMaxRegistrationRetries{
    "spark.worker.maxRegistrationRetries", "16", "all tries to register before the worker ends"};
inline constexpr Key<bool> kWorkerPreferConfiguredMasterAddress{
    "spark.worker.preferConfiguredMasterAddress", "false",
    "reconnect to the address in the worker's own configuration"};
inline constexpr Key<int> kWorkerUiRetainedExecutors{"spark.worker.ui.retainedExecutors", "1000",
                                                     "finished executors the worker remembers"};
inline constexpr Key<int> kWorkerUiRetainedDrivers{"spark.worker.ui.retainedDrivers", "1000",
                                                   "finished drivers the worker remembers"};
inline constexpr Key<Duration> kExecutorRemoveDelay{
    "spark.standalone.executorRemoveDelayOnDisconnection", "5s", Unit::kMillisecond,
    "time the driver waits for a lost executor's exit code"};

// Addresses of every role.
inline constexpr Key<Opt<Text>> kLocalIp{
    "tinderbox.local.ip",
    "address this machine's processes bind and announce; unset: found by the host's name"};
inline constexpr Key<Opt<Text>> kPublicDns{
    "tinderbox.public.dns", "host name shown in URLs for people; unset: the announced address"};
inline constexpr Key<int> kPortMaxRetries{"spark.port.maxRetries", "16",
                                          "next ports tried when one is in use"};
inline constexpr Key<Words> kLocalDir{"spark.local.dir", "/tmp",
                                      "scratch folders for shuffle and spilled data"};

// Driver.
inline constexpr Key<Opt<Text>> kDriverHost{
    "spark.driver.host", "address at which executors reach the driver; unset: this host"};
inline constexpr Key<Opt<Text>> kDriverBindAddress{"spark.driver.bindAddress", kDriverHost,
                                                   "address the driver listens on"};
inline constexpr Key<int> kDriverPort{"spark.driver.port", "0", "driver's control port; 0: any"};
inline constexpr Key<int> kBlockManagerPort{"spark.blockManager.port", "0",
                                            "port that serves blocks; 0: any"};
inline constexpr Key<int> kDriverBlockManagerPort{
    "spark.driver.blockManager.port", kBlockManagerPort, "port at which the driver serves blocks"};
inline constexpr Key<int> kDriverCores{"spark.driver.cores", "1",
                                       "cores of the driver in cluster mode"};
inline constexpr Key<int64_t> kDriverMemory{"spark.driver.memory", "1g", Unit::kMiB,
                                            "memory of the driver"};
inline constexpr Key<bool> kDriverSupervise{
    "spark.driver.supervise", "false",
    "cluster mode: restart the driver when it ends with an error"};
inline constexpr Key<int64_t> kDriverMaxResultSize{
    "spark.driver.maxResultSize", "1g", Unit::kByte,
    "most bytes of results of one stage; 0: no limit"};

// Executors.
inline constexpr Key<Opt<int>> kExecutorCores{
    "spark.executor.cores", "cores of one executor; unset: all of its worker's, 1 in local mode"};
inline constexpr Key<int64_t> kExecutorMemory{"spark.executor.memory", "1g", Unit::kMiB,
                                              "memory of one executor"};
inline constexpr Key<Opt<int>> kExecutorInstances{
    "spark.executor.instances", "executors to start; standalone masters count by cores instead"};
inline constexpr Key<Opt<int>> kCoresMax{
    "spark.cores.max",
    "most cores of the application; unset: spark.deploy.defaultCores of the master"};
inline constexpr Key<Duration> kExecutorHeartbeatInterval{"spark.executor.heartbeatInterval", "10s",
                                                          Unit::kMillisecond,
                                                          "time between an executor's heartbeats"};
inline constexpr Key<int> kExecutorHeartbeatMaxFailures{
    "spark.executor.heartbeat.maxFailures", "60",
    "failed heartbeats in a row before the executor ends with code 56"};

// Network.
inline constexpr Key<Duration> kNetworkTimeout{"spark.network.timeout", "120s", Unit::kSecond,
                                               "default of every network wait"};
inline constexpr Key<Duration> kNetworkTimeoutInterval{
    "spark.network.timeoutInterval", "60s", Unit::kMillisecond,
    "how often the driver looks for silent executors"};
inline constexpr Key<Duration> kExecutorTimeout =
    Key<Duration>{"spark.storage.blockManagerHeartbeatTimeoutMs", kNetworkTimeout,
                  "silence after which an executor is lost"}
        .formerly("spark.storage.blockManagerSlaveTimeoutMs");
inline constexpr Key<Duration> kRpcAskTimeout{"spark.rpc.askTimeout", kNetworkTimeout,
                                              "limit of a request to another process"};
inline constexpr Key<int64_t> kRpcMessageMaxSize{"spark.rpc.message.maxSize", "128", Unit::kMiB,
                                                 "largest control message"};
inline constexpr Key<bool> kAuthenticate{
    "spark.authenticate", "false",
    "refused while it is true: connections are not authenticated yet"};
inline constexpr Key<Opt<Secret>> kAuthenticateSecret{"spark.authenticate.secret",
                                                      "the shared secret"};

// Tasks and scheduling.
inline constexpr Key<Opt<int>> kDefaultParallelism{
    "spark.default.parallelism", "partitions when none are asked for; unset: by cores and inputs"};
inline constexpr Key<int> kTaskCpus{"spark.task.cpus", "1", "cores of one task"};
inline constexpr Key<int> kTaskMaxFailures{"spark.task.maxFailures", "4",
                                           "failures of one task before its job fails"};
inline constexpr Key<int64_t> kTaskMaxDirectResultSize{"spark.task.maxDirectResultSize", "1048576b",
                                                       Unit::kByte,
                                                       "larger results are fetched as blocks"};
inline constexpr Key<int> kTaskLaunchAhead{
    "tinderbox.task.launchAhead", "128",
    "tasks sent to an executor beyond its free cores; 0: none"};
inline constexpr Key<Duration> kTaskLaunchAheadWindow{
    "tinderbox.task.launchAhead.window", "20ms", Unit::kMillisecond,
    "of short tasks so many more are sent ahead as an executor runs in this time"};
inline constexpr Key<Duration> kSchedulerReviveInterval{"spark.scheduler.revive.interval", "1s",
                                                        Unit::kMillisecond,
                                                        "how often free cores are offered again"};
inline constexpr Key<Text> kSchedulerMode{
    "spark.scheduler.mode", "FIFO",
    "order of the jobs: FIFO, or FAIR by pools that jobs choose with spark.scheduler.pool"};
inline constexpr Key<Opt<Text>> kSchedulerAllocationFile{
    "spark.scheduler.allocation.file",
    "XML file of the pools; unset: fairscheduler.xml in the configuration folder, if it is there"};
inline constexpr Key<Opt<double>> kSchedulerMinRegisteredRatio{
    "spark.scheduler.minRegisteredResourcesRatio",
    "share of spark.cores.max that must be there before an application starts; unset: 0"};
inline constexpr Key<Duration> kSchedulerMaxRegisteredWait{
    "spark.scheduler.maxRegisteredResourcesWaitingTime", "30s", Unit::kMillisecond,
    "longest wait for that share"};
inline constexpr Key<int> kListenerQueueCapacity{
    "spark.scheduler.listenerbus.eventqueue.capacity", "10000",
    "events a listener queue holds before it drops some"};
inline constexpr Key<Duration> kLocalityWait{
    "spark.locality.wait", "3s", Unit::kMillisecond,
    "wait for a better place before a task takes the next locality level"};
inline constexpr Key<Duration> kLocalityWaitProcess{"spark.locality.wait.process", kLocalityWait,
                                                    "the wait at PROCESS_LOCAL"};
inline constexpr Key<Duration> kLocalityWaitNode{"spark.locality.wait.node", kLocalityWait,
                                                 "the wait at NODE_LOCAL"};
inline constexpr Key<bool> kLocalityLegacyReset{"spark.locality.wait.legacyResetOnTaskLaunch",
                                                "false", "every launch restarts the wait"};
inline constexpr Key<int> kStageMaxConsecutiveAttempts{
    "spark.stage.maxConsecutiveAttempts", "4",
    "failed attempts of a stage in a row before its job fails"};
inline constexpr Key<int> kStageMaxAttempts{"spark.stage.maxAttempts", "2147483647",
                                            "attempts of a stage in all before its job fails"};
inline constexpr Key<int> kCancelledGroups{
    "spark.scheduler.numCancelledJobGroupsToTrack", "1000",
    "groups cancelled with their future jobs that are remembered, the last ones"};
inline constexpr Key<Duration> kBarrierSyncTimeout{
    "spark.barrier.sync.timeout", "365d", Unit::kSecond,
    "how long the tasks of a barrier stage wait for each other"};
inline constexpr Key<Duration> kBarrierSlotsInterval{
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "15s", Unit::kSecond,
    "how often a job is tried again whose barrier stage needs more cores than there are"};
inline constexpr Key<int> kBarrierSlotsMaxFailures{
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "40",
    "how often it is tried again before it fails"};
inline constexpr Key<Duration> kStarvationTimeout{"spark.starvation.timeout", "15s",
                                                  Unit::kMillisecond,
                                                  "how often a job without resources is reported"};
inline constexpr Key<bool> kReaperEnabled{"spark.task.reaper.enabled", "false",
                                          "watch killed tasks until they end"};
inline constexpr Key<Duration> kReaperPollingInterval{"spark.task.reaper.pollingInterval", "10s",
                                                      Unit::kMillisecond,
                                                      "how often a killed task is looked at"};
inline constexpr Key<Duration> kReaperKillTimeout{
    "spark.task.reaper.killTimeout", "-1", Unit::kMillisecond,
    "a killed task that lives longer ends its executor, outside local mode; -1: never"};

// Custom resources: GPUs and the like. NAME is the resource's name, such as gpu;
// conf/values/custom_resources reads these keys.
inline constexpr Key<int> kWorkerResourceAmount{"spark.worker.resource.NAME.amount", "0",
                                                "addresses that a worker must find"};
inline constexpr Key<Text> kWorkerResourceScript{
    "spark.worker.resource.NAME.discoveryScript", "",
    "program that prints them: {\"name\": \"NAME\", \"addresses\": [\"0\", \"1\"]}"};
inline constexpr Key<Text> kWorkerResourcesFile{
    "spark.worker.resourcesFile", "",
    "JSON file of a worker's addresses, in place of discovery scripts"};
inline constexpr Key<int> kExecutorResourceAmount{"spark.executor.resource.NAME.amount", "0",
                                                  "addresses that each executor gets"};
inline constexpr Key<Text> kExecutorResourceScript{
    "spark.executor.resource.NAME.discoveryScript", "",
    "program that prints an executor's addresses where no worker assigns them (local mode)"};
inline constexpr Key<int> kDriverResourceAmount{"spark.driver.resource.NAME.amount", "0",
                                                "addresses that the driver gets"};
inline constexpr Key<Text> kDriverResourceScript{
    "spark.driver.resource.NAME.discoveryScript", "",
    "program that prints them where no worker assigns them (client mode)"};
inline constexpr Key<Text> kDriverResourcesFile{
    "spark.driver.resourcesFile", "",
    "JSON file of the driver's addresses; a worker that starts a driver sets it"};
inline constexpr Key<double> kTaskResourceAmount{
    "spark.task.resource.NAME.amount", "0",
    "addresses that each task gets: a whole number, or up to 0.5, the share of one address"};
inline constexpr Key<bool> kProfileMergeConflicts{
    "spark.scheduler.resource.profileMergeConflicts", "false",
    "a stage of Rdds with several resource profiles takes the most of each; else it is an error"};

// Speculation: second copies of slow tasks.
inline constexpr Key<bool> kSpeculation{"spark.speculation", "false",
                                        "run a second copy of slow tasks; not in local mode"};
inline constexpr Key<Duration> kSpeculationInterval{"spark.speculation.interval", "100ms",
                                                    Unit::kMillisecond,
                                                    "how often slow tasks are looked for"};
inline constexpr Key<double> kSpeculationMultiplier{
    "spark.speculation.multiplier", "3",
    "a task is slow beyond this multiple of the median run time"};
inline constexpr Key<double> kSpeculationQuantile{
    "spark.speculation.quantile", "0.9",
    "share of a stage's tasks that must have succeeded before others count as slow"};
inline constexpr Key<Duration> kSpeculationMinTaskRuntime{"spark.speculation.minTaskRuntime",
                                                          "100ms", Unit::kMillisecond,
                                                          "tasks that run shorter are never slow"};
inline constexpr Key<Opt<Duration>> kSpeculationDurationThreshold{
    "spark.speculation.task.duration.threshold", Unit::kMillisecond,
    "in stages that fit into one executor's slots, tasks that run longer are slow"};
inline constexpr Key<bool> kSpeculationEfficiency{
    "spark.speculation.efficiency.enabled", "true",
    "tasks that read their records fast enough are not slow"};
inline constexpr Key<double> kSpeculationProcessRateMultiplier{
    "spark.speculation.efficiency.processRateMultiplier", "0.75",
    "share of the average rate below which a task reads slowly"};
inline constexpr Key<double> kSpeculationLongRunFactor{
    "spark.speculation.efficiency.longRunTaskFactor", "2",
    "a task is slow at any rate beyond this multiple of the threshold"};
inline constexpr Key<Opt<Duration>> kDecommissionKillInterval{
    "spark.executor.decommission.killInterval", Unit::kSecond,
    "when a decommissioned executor is expected to end; its longer tasks get a copy"};

// Exclusion of executors and hosts on which tasks fail.
inline constexpr Key<Opt<bool>> kExclude{"spark.excludeOnFailure.enabled",
                                         "do not try tasks again where they failed; unset: off"};
inline constexpr Key<Opt<bool>> kExcludeApplication{
    "spark.excludeOnFailure.application.enabled",
    "only for the whole application; unset: spark.excludeOnFailure.enabled"};
inline constexpr Key<Opt<bool>> kExcludeTaskAndStage{
    "spark.excludeOnFailure.taskAndStage.enabled",
    "only for single tasks and stages; unset: spark.excludeOnFailure.enabled"};
inline constexpr Key<int> kExcludeTaskAttemptsPerExecutor{
    "spark.excludeOnFailure.task.maxTaskAttemptsPerExecutor", "1",
    "failures of a task on an executor before it is not tried there again"};
inline constexpr Key<int> kExcludeTaskAttemptsPerNode{
    "spark.excludeOnFailure.task.maxTaskAttemptsPerNode", "2",
    "failures of a task on a host before it is not tried there again"};
inline constexpr Key<int> kExcludeStageTasksPerExecutor{
    "spark.excludeOnFailure.stage.maxFailedTasksPerExecutor", "2",
    "tasks of a stage that fail on an executor before it gets no more of that stage"};
inline constexpr Key<int> kExcludeStageExecutorsPerNode{
    "spark.excludeOnFailure.stage.maxFailedExecutorsPerNode", "2",
    "executors excluded for a stage that exclude their host for it"};
inline constexpr Key<int> kExcludeApplicationTasksPerExecutor{
    "spark.excludeOnFailure.application.maxFailedTasksPerExecutor", "2",
    "tasks of successful stages that fail on an executor before it gets no more tasks"};
inline constexpr Key<int> kExcludeApplicationExecutorsPerNode{
    "spark.excludeOnFailure.application.maxFailedExecutorsPerNode", "2",
    "excluded executors that exclude their host"};
inline constexpr Key<Opt<Duration>> kExcludeTimeout{
    "spark.excludeOnFailure.timeout", Unit::kMillisecond,
    "how long executors and hosts stay excluded for the application; unset: 1h"};
inline constexpr Key<Opt<Duration>> kExcludeLegacyTimeout{
    "spark.scheduler.executorTaskExcludeOnFailureTime", Unit::kMillisecond,
    "older form of spark.excludeOnFailure.timeout, which also turns exclusion on; 0: off"};
inline constexpr Key<bool> kExcludeKill{
    "spark.excludeOnFailure.killExcludedExecutors", "false",
    "end executors that are excluded for the application, so that others take their place"};
inline constexpr Key<bool> kExcludeKillDecommission{
    "spark.excludeOnFailure.killExcludedExecutors.decommission", "false",
    "decommission them instead"};
inline constexpr Key<bool> kExcludeFetchFailure{
    "spark.excludeOnFailure.application.fetchFailure.enabled", "false",
    "exclude an executor at the first failure to fetch from it"};
inline constexpr Key<Duration> kExcludeUnschedulableTimeout{
    "spark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout", "120s", Unit::kSecond,
    "how long a stage for which every executor is excluded waits for another one"};

// Shuffle.
inline constexpr Key<int64_t> kReducerMaxSizeInFlight{"spark.reducer.maxSizeInFlight", "48m",
                                                      Unit::kMiB,
                                                      "bytes that one reduce task fetches at once"};
inline constexpr Key<int> kReducerMaxReqsInFlight{"spark.reducer.maxReqsInFlight", "2147483647",
                                                  "requests that one reduce task has open"};
inline constexpr Key<int> kReducerMaxBlocksPerAddress{
    "spark.reducer.maxBlocksInFlightPerAddress", "2147483647", "blocks asked of one host at once"};
inline constexpr Key<int64_t> kMaxRemoteBlockToMemory{
    "spark.network.maxRemoteBlockSizeFetchToMem", "200m", Unit::kByte,
    "larger blocks of other executors, or than 1/16 of the storage memory, go to a file of "
    "spark.local.dir first"};
inline constexpr Key<bool> kShuffleCompress{"spark.shuffle.compress", "true",
                                            "compress map outputs"};
inline constexpr Key<bool> kShuffleSpillCompress{"spark.shuffle.spill.compress", "true",
                                                 "compress what tasks move from memory to disk"};
inline constexpr Key<Text> kCompressionCodec{
    "spark.io.compression.codec", "lz4",
    "how map outputs, what tasks spill and files of objects are compressed: lz4 or zstd"};
inline constexpr Key<int> kCompressionZstdLevel{
    "spark.io.compression.zstd.level", "1",
    "level of zstd: higher ones take longer and make less of it"};
inline constexpr Key<bool> kShuffleChecksum{"spark.shuffle.checksum.enabled", "true",
                                            "check every block of a map output"};
inline constexpr Key<bool> kShuffleSync{"spark.shuffle.sync", "false",
                                        "force map outputs to disk before they count"};
inline constexpr Key<int64_t> kShuffleMaxInMemoryOutput{
    "tinderbox.shuffle.maxInMemoryOutput", "64k", Unit::kByte,
    "map outputs up to this size stay in memory; 0: none"};
inline constexpr Key<int64_t> kShuffleFetchAhead{
    "tinderbox.shuffle.fetchAhead", "8m", Unit::kByte,
    "blocks that an executor fetches and keeps for tasks that wait in its queue; 0: none"};
inline constexpr Key<int> kShuffleIoMaxRetries{"spark.shuffle.io.maxRetries", "3",
                                               "tries to fetch a block again"};
inline constexpr Key<Duration> kShuffleIoRetryWait{"spark.shuffle.io.retryWait", "5s",
                                                   Unit::kSecond, "wait between them"};
inline constexpr Key<Duration> kShuffleIoConnectionTimeout{
    "spark.shuffle.io.connectionTimeout", kNetworkTimeout,
    "silence after which a peer with open requests is lost"};
inline constexpr Key<bool> kShuffleReadHostLocalDisk{
    "spark.shuffle.readHostLocalDisk", "true",
    "read outputs of this host's executors from their files"};
inline constexpr Key<bool> kShuffleReduceLocality{
    "spark.shuffle.reduceLocality.enabled", "true",
    "prefer hosts that hold a fifth of a reducer's input"};

// Storage, broadcast, files.
inline constexpr Key<double> kMemoryFraction{
    "spark.memory.fraction", "0.6", "share of an executor's memory for blocks and shuffles"};
inline constexpr Key<double> kMemoryStorageFraction{"spark.memory.storageFraction", "0.5",
                                                    "part of that which tasks leave to blocks"};
inline constexpr Key<int> kStorageMaxReplicationFailures{
    "spark.storage.maxReplicationFailures", "1",
    "executors that may fail to take a copy of a block before there are fewer copies"};
inline constexpr Key<bool> kStorageReplicationProactive{
    "spark.storage.replication.proactive", "true",
    "copy blocks again whose copies were lost with an executor"};
inline constexpr Key<int> kDiskStoreSubDirectories{"spark.diskStore.subDirectories", "64",
                                                   "sub-folders of each scratch folder"};
inline constexpr Key<int64_t> kBroadcastBlockSize{"spark.broadcast.blockSize", "4m", Unit::kKiB,
                                                  "piece of a broadcast"};
inline constexpr Key<Opt<Text>> kCheckpointDir{
    "spark.checkpoint.dir", "folder of checkpoints, unless the application sets one"};
inline constexpr Key<int> kRddLimitInitialPartitions{"spark.rdd.limit.initialNumPartitions", "1",
                                                     "partitions that take() reads first"};
inline constexpr Key<int> kRddLimitScaleUpFactor{"spark.rdd.limit.scaleUpFactor", "4",
                                                 "growth of its next tries"};

inline constexpr Key<bool> kFilesIgnoreMissing{
    "spark.files.ignoreMissingFiles", "false",
    "whether tasks skip input files that are gone since they were listed"};
inline constexpr Key<bool> kFilesIgnoreCorrupt{
    "spark.files.ignoreCorruptFiles", "false",
    "whether tasks skip what they cannot read of an input file"};
inline constexpr Key<bool> kHadoopRddIgnoreEmptySplits{"spark.hadoopRDD.ignoreEmptySplits", "true",
                                                       "whether empty files make no partitions"};
inline constexpr Key<bool> kInputDirRecursive{
    "spark.hadoop.mapreduce.input.fileinputformat.input.dir.recursive", "false",
    "whether directories in an input directory are read too"};
inline constexpr Key<bool> kValidateOutputSpecs{
    "spark.hadoop.validateOutputSpecs", "true",
    "whether saving to a directory that is there is refused; if not, its parts are replaced"};

// Pages and progress.
inline constexpr Key<int> kUiRetainedJobs{"spark.ui.retainedJobs", "1000",
                                          "ended jobs whose status can still be asked for"};
inline constexpr Key<int> kUiRetainedStages{"spark.ui.retainedStages", "1000",
                                            "ended stages whose status can still be asked for"};
inline constexpr Key<Opt<bool>> kUiShowConsoleProgress{
    "spark.ui.showConsoleProgress", "progress bar on stderr; unset: when stderr is a terminal"};
inline constexpr Key<Duration> kUiProgressInterval{"spark.ui.consoleProgress.update.interval",
                                                   "200ms", Unit::kMillisecond,
                                                   "how often the bar is drawn"};

/// Every key above, in that order, then those of conf/kubernetes_keys.hpp.
std::span<const KeySpec* const> catalogue();
/// The key of this name or older name; null when it is not one of the catalogue.
const KeySpec* find_key(std::string_view name);
/// The configuration page: a markdown table of the whole catalogue.
std::string reference_page();

}  // namespace tinderbox::conf
