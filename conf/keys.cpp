// The catalogue's list, its look-up, and the reference page made from it.
#include "conf/keys.hpp"

#include <algorithm>
#include <map>

namespace tinderbox::conf {
namespace {

// clang-format off
constexpr const KeySpec* kCatalogue[] = {
    &kMaster.spec, &kDeployMode.spec, &kAppName.spec, &kAppId.spec, &kAppSubmitTime.spec,
    &kJars.spec, &kFiles.spec, &kArchives.spec, &kFilesOverwrite.spec, &kFilesFetchTimeout.spec,
    &kLogLevel.spec, &kLogConf.spec, &kRedactionRegex.spec, &kSubmitWaitAppCompletion.spec,
    &kAppRegistrationTimeout.spec, &kAppRegistrationAttempts.spec,
    &kDynamicAllocationEnabled.spec, &kAllocationMinExecutors.spec, &kAllocationMaxExecutors.spec,
    &kAllocationInitialExecutors.spec, &kAllocationBacklogTimeout.spec,
    &kAllocationSustainedTimeout.spec, &kAllocationIdleTimeout.spec,
    &kAllocationCachedIdleTimeout.spec, &kAllocationShuffleTracking.spec,
    &kAllocationShuffleTimeout.spec, &kAllocationRatio.spec, &kDecommissionEnabled.spec,
    &kDecommissionForceKillTimeout.spec, &kMaxRetainedDecommissioned.spec,
    &kMaxRetainedUnknownDecommissioned.spec,
    &kIgnoreDecommissionFetchFailure.spec, &kUnregisterOutputOnHost.spec,
    &kDecommissionSignal.spec, &kWorkerDecommissionSignal.spec, &kMigration.spec,
    &kMigrateShuffles.spec, &kMigrateRdds.spec, &kMigrationMaxFailures.spec,
    &kMigrationReattempt.spec, &kMigrationThreads.spec, &kMigrationMaxDisk.spec,
    &kRollInterval.spec, &kRollPolicy.spec, &kRollMinTasks.spec, &kMasterHost.spec, &kMasterPort.spec, &kMasterUiPort.spec,
    &kMasterUseAppNameAsAppId.spec, &kDeploySpreadOutApps.spec, &kDeploySpreadOutDrivers.spec,
    &kDeployDefaultCores.spec, &kDeployMaxDrivers.spec, &kDeployMaxExecutorRetries.spec,
    &kDeployRecoveryMode.spec, &kDeployRecoveryDirectory.spec, &kDeployRecoveryTimeout.spec,
    &kDeployRetainedApplications.spec, &kDeployRetainedDrivers.spec,
    &kDeployWorkerSelectionPolicy.spec, &kDeployAppIdPattern.spec, &kDeployDriverIdPattern.spec,
    &kDeployAppNumberModulo.spec, &kDeadWorkerPersistence.spec, &kWorkerTimeout.spec,
    &kWorkerHost.spec, &kWorkerPort.spec, &kWorkerCores.spec, &kWorkerMemory.spec,
    &kWorkerDir.spec, &kWorkerUiPort.spec, &kWorkerIdPattern.spec, &kWorkerCleanupEnabled.spec,
    &kWorkerCleanupInterval.spec, &kWorkerCleanupAppDataTtl.spec,
    &kWorkerDriverTerminateTimeout.spec, &kWorkerExecutorStateSyncMaxAttempts.spec,
    &kWorkerInitialRegistrationRetries.spec, &kWorkerMaxRegistrationRetries.spec,
    &kWorkerPreferConfiguredMasterAddress.spec, &kWorkerUiRetainedExecutors.spec,
    &kWorkerUiRetainedDrivers.spec, &kExecutorRemoveDelay.spec, &kLocalIp.spec,
    &kPublicDns.spec, &kPortMaxRetries.spec, &kLocalDir.spec, &kDriverHost.spec,
    &kDriverBindAddress.spec, &kDriverPort.spec, &kBlockManagerPort.spec,
    &kDriverBlockManagerPort.spec, &kDriverCores.spec, &kDriverMemory.spec,
    &kDriverSupervise.spec, &kDriverMaxResultSize.spec, &kExecutorCores.spec,
    &kExecutorMemory.spec, &kExecutorInstances.spec, &kCoresMax.spec,
    &kExecutorHeartbeatInterval.spec, &kExecutorHeartbeatMaxFailures.spec,
    &kNetworkTimeout.spec, &kNetworkTimeoutInterval.spec, &kExecutorTimeout.spec,
    &kRpcAskTimeout.spec, &kRpcMessageMaxSize.spec, &kAuthenticate.spec,
    &kAuthenticateSecret.spec, &kDefaultParallelism.spec, &kTaskCpus.spec,
    &kTaskMaxFailures.spec, &kTaskMaxDirectResultSize.spec, &kTaskLaunchAhead.spec, &kTaskLaunchAheadWindow.spec,
    &kSchedulerReviveInterval.spec, &kSchedulerMode.spec, &kSchedulerAllocationFile.spec,
    &kSchedulerMinRegisteredRatio.spec, &kSchedulerMaxRegisteredWait.spec,
    &kListenerQueueCapacity.spec,
    &kLocalityWait.spec, &kLocalityWaitProcess.spec, &kLocalityWaitNode.spec,
    &kLocalityLegacyReset.spec, &kStageMaxConsecutiveAttempts.spec,
    &kStageMaxAttempts.spec, &kCancelledGroups.spec, &kStarvationTimeout.spec, &kBarrierSyncTimeout.spec,
    &kBarrierSlotsInterval.spec, &kBarrierSlotsMaxFailures.spec,
    &kReaperEnabled.spec, &kReaperPollingInterval.spec, &kReaperKillTimeout.spec,
    &kWorkerResourceAmount.spec, &kWorkerResourceScript.spec, &kWorkerResourcesFile.spec,
    &kExecutorResourceAmount.spec, &kExecutorResourceScript.spec, &kDriverResourceAmount.spec,
    &kDriverResourceScript.spec, &kDriverResourcesFile.spec, &kTaskResourceAmount.spec,
    &kProfileMergeConflicts.spec, &kSpeculation.spec, &kSpeculationInterval.spec, &kSpeculationMultiplier.spec,
    &kSpeculationQuantile.spec, &kSpeculationMinTaskRuntime.spec,
    &kSpeculationDurationThreshold.spec, &kSpeculationEfficiency.spec,
    &kSpeculationProcessRateMultiplier.spec, &kSpeculationLongRunFactor.spec,
    &kDecommissionKillInterval.spec, &kExclude.spec, &kExcludeApplication.spec,
    &kExcludeTaskAndStage.spec, &kExcludeTaskAttemptsPerExecutor.spec,
    &kExcludeTaskAttemptsPerNode.spec, &kExcludeStageTasksPerExecutor.spec,
    &kExcludeStageExecutorsPerNode.spec, &kExcludeApplicationTasksPerExecutor.spec,
    &kExcludeApplicationExecutorsPerNode.spec, &kExcludeTimeout.spec,
    &kExcludeLegacyTimeout.spec, &kExcludeKill.spec, &kExcludeKillDecommission.spec,
    &kExcludeFetchFailure.spec, &kExcludeUnschedulableTimeout.spec,
    &kReducerMaxSizeInFlight.spec,
    &kReducerMaxReqsInFlight.spec, &kReducerMaxBlocksPerAddress.spec, &kMaxRemoteBlockToMemory.spec, &kShuffleCompress.spec, &kShuffleSpillCompress.spec,
    &kCompressionCodec.spec, &kCompressionZstdLevel.spec,
    &kShuffleChecksum.spec, &kShuffleSync.spec, &kShuffleMaxInMemoryOutput.spec,
    &kShuffleFetchAhead.spec,
    &kShuffleIoMaxRetries.spec, &kShuffleIoRetryWait.spec, &kShuffleIoConnectionTimeout.spec,
    &kShuffleReadHostLocalDisk.spec, &kShuffleReduceLocality.spec, &kMemoryFraction.spec, &kMemoryStorageFraction.spec,
    &kStorageMaxReplicationFailures.spec, &kStorageReplicationProactive.spec,
    &kDiskStoreSubDirectories.spec, &kBroadcastBlockSize.spec, &kCheckpointDir.spec,
    &kRddLimitInitialPartitions.spec, &kRddLimitScaleUpFactor.spec,
    &kFilesIgnoreMissing.spec, &kFilesIgnoreCorrupt.spec, &kHadoopRddIgnoreEmptySplits.spec,
    &kInputDirRecursive.spec, &kValidateOutputSpecs.spec,
    &kUiRetainedJobs.spec, &kUiRetainedStages.spec, &kUiShowConsoleProgress.spec,
    &kUiProgressInterval.spec,
    &kS3AccessKey.spec, &kS3SecretKey.spec, &kS3SessionToken.spec, &kS3Endpoint.spec,
    &kS3Region.spec, &kS3Tls.spec, &kS3PathStyle.spec,
    &kKubernetesContext.spec, &kKubernetesNamespace.spec, &kKubernetesDriverMaster.spec,
    &kKubernetesSubmitConnectTimeout.spec, &kKubernetesSubmitRequestTimeout.spec,
    &kKubernetesDriverConnectTimeout.spec, &kKubernetesDriverRequestTimeout.spec,
    &kKubernetesTrustCertificates.spec, &kKubernetesDriverAccount.spec,
    &kKubernetesExecutorAccount.spec, &kKubernetesWaitAppCompletion.spec,
    &kKubernetesReportInterval.spec, &kKubernetesKillGrace.spec, &kKubernetesUploadPath.spec,
    &kKubernetesPatience.spec, &kKubernetesApplication.spec,
    &kKubernetesConfigMapMaxSize.spec, &kKubernetesSubmitInDriver.spec,
    &kKubernetesResourceType.spec, &kKubernetesDriverNamePrefix.spec, &kKubernetesImage.spec,
    &kKubernetesDriverImage.spec, &kKubernetesExecutorImage.spec, &kKubernetesPullPolicy.spec,
    &kKubernetesPullSecrets.spec, &kKubernetesDriverPodName.spec,
    &kKubernetesDriverRequestCores.spec, &kKubernetesDriverLimitCores.spec,
    &kKubernetesScheduler.spec, &kKubernetesDriverScheduler.spec,
    &kKubernetesExecutorScheduler.spec, &kKubernetesDriverTemplate.spec,
    &kKubernetesDriverTemplateContainer.spec, &kKubernetesExecutorTemplate.spec,
    &kKubernetesExecutorTemplateContainer.spec, &kKubernetesEscalation.spec,
    &kKubernetesDriverEscalation.spec, &kKubernetesExecutorEscalation.spec,
    &kKubernetesRestricted.spec, &kKubernetesDeletionCost.spec,
&kKubernetesDecommissionLabel.spec, &kKubernetesDecommissionLabelValue.spec, &kKubernetesTmpfs.spec, &kKubernetesReadWriteOnce.spec, &kKubernetesDriverExcludedSteps.spec,
    &kKubernetesExecutorExcludedSteps.spec, &kKubernetesServiceDelete.spec,
    &kKubernetesServiceFamilyPolicy.spec, &kKubernetesServiceFamilies.spec,
    &kKubernetesServiceNotReady.spec, &kKubernetesOverheadFactor.spec,
    &kTinderboxOverheadFactor.spec, &kDriverMemoryOverhead.spec,
    &kDriverMemoryOverheadFactor.spec, &kDriverMinMemoryOverhead.spec,
    &kExecutorMemoryOverhead.spec, &kExecutorMemoryOverheadFactor.spec,
    &kExecutorMinMemoryOverhead.spec, &kOffHeapEnabled.spec, &kOffHeapSize.spec, &kKubernetesExecutorNamePrefix.spec,
    &kKubernetesExecutorRequestCores.spec, &kKubernetesExecutorLimitCores.spec,
    &kKubernetesNoExecutorConfigMap.spec, &kKubernetesDecommissionScript.spec, &kKubernetesExecutorGrace.spec, &kKubernetesDriverPodIp.spec,
    &kKubernetesAllocator.spec, &kKubernetesBatchSize.spec, &kKubernetesBatchDelay.spec,
    &kKubernetesReadinessTimeout.spec, &kKubernetesCreationTimeout.spec,
    &kKubernetesMaxPending.spec, &kKubernetesMaxPendingPerProfile.spec, &kKubernetesMaxPods.spec,
    &kMaxExecutorFailures.spec, &kExecutorFailuresValidity.spec, &kKubernetesPollingInterval.spec,
    &kKubernetesPolling.spec, &kKubernetesWatcher.spec, &kKubernetesListFromCache.spec, &kKubernetesMissingDelta.spec,
    &kKubernetesCheckContainers.spec, &kKubernetesDeletePods.spec, &kKubernetesDeleteGrace.spec,
    &kKubernetesOwnClaims.spec, &kKubernetesReuseClaims.spec, &kKubernetesWaitClaims.spec,
};
// clang-format on

std::string_view type_name(const KeySpec& key) {
  switch (key.type) {
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kLong:
      return "long";
    case Type::kDouble:
      return "double";
    case Type::kString:
      return "string";
    case Type::kList:
      return "list";
    case Type::kSecret:
      return "secret";
    case Type::kSize:
      return "size";
    case Type::kTime:
      return "time";
  }
  return "";
}

std::string_view unit_name(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "";
    case Unit::kByte:
      return " (bytes)";
    case Unit::kKiB:
      return " (KiB)";
    case Unit::kMiB:
      return " (MiB)";
    case Unit::kMillisecond:
      return " (ms)";
    case Unit::kSecond:
      return " (s)";
    case Unit::kMinute:
      return " (min)";
  }
  return "";
}

std::string default_shown(const KeySpec& key) {
  if (key.default_text)
    return key.default_text->empty() ? "(empty)" : std::string(*key.default_text);
  if (key.fallback) return "value of " + std::string(key.fallback->name);
  return "(none)";
}

/// A table cell: the page's own separator must not end it.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

}  // namespace

std::span<const KeySpec* const> catalogue() { return kCatalogue; }

const KeySpec* find_key(std::string_view name) {
  static const std::map<std::string_view, const KeySpec*> by_name = [] {
    std::map<std::string_view, const KeySpec*> index;
    for (const KeySpec* key : kCatalogue) {
      index.emplace(key->name, key);
      if (!key->old_name.empty()) index.emplace(key->old_name, key);
    }
    return index;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::string reference_page() {
  std::string page =
      "# Configuration\n\n"
      "Where values come from, high to low: command-line options, `--conf`, properties file\n"
      "(`spark-defaults.conf` text, or TOML when its name ends in `.toml`), environment, "
      "defaults.\n"
      "A size or time without a suffix is in the unit that stands beside its type.\n"
      "Suffixes: sizes b k m g t p (powers of 1024), times us ms s m min h d; no fractions.\n"
      "Other keys of Spark 4.3 are accepted and have no effect.\n\n"
      "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeySpec* key : kCatalogue) {
    page += "| " + std::string(key->name) + " | " + std::string(type_name(*key));
    page += std::string(unit_name(key->unit)) + " | " + cell(default_shown(*key)) + " | ";
    page += cell(key->doc);
    if (!key->old_name.empty()) page += " (older name: " + std::string(key->old_name) + ")";
    page += " |\n";
  }
  return page;
}

}  // namespace tinderbox::conf
