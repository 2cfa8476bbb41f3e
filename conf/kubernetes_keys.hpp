// The keys of Kubernetes: a part of conf/keys.hpp, which says what holds for all keys.
#pragma once

#include "conf/key.hpp"

namespace tinderbox::conf {

using Words = std::vector<std::string>;
using Text = std::string;
template <class T>
using Opt = std::optional<T>;

// The API server and who asks it. Beside these: spark.kubernetes.authenticate.*.
inline constexpr Key<Opt<Text>> kKubernetesContext{
    "spark.kubernetes.context", "context of the kubeconfig; unset: its current one"};
inline constexpr Key<Text> kKubernetesNamespace{"spark.kubernetes.namespace", "default",
                                                "namespace of the driver and its executors"};
inline constexpr Key<Text> kKubernetesDriverMaster{
    "spark.kubernetes.driver.master", "https://kubernetes.default.svc",
    "API server as a driver pod asks it; the default also means what the pod's environment says; "
    "local[N]: the driver pod runs all tasks itself"};
inline constexpr Key<int> kKubernetesSubmitConnectTimeout{
    "spark.kubernetes.submission.connectionTimeout", "10000",
    "submit: milliseconds to connect to the API server"};
inline constexpr Key<int> kKubernetesSubmitRequestTimeout{
    "spark.kubernetes.submission.requestTimeout", "10000",
    "submit: milliseconds for an answer of the API server"};
inline constexpr Key<int> kKubernetesDriverConnectTimeout{
    "spark.kubernetes.driver.connectionTimeout", "10000",
    "driver: milliseconds to connect to the API server"};
inline constexpr Key<int> kKubernetesDriverRequestTimeout{
    "spark.kubernetes.driver.requestTimeout", "10000",
    "driver: milliseconds for an answer of the API server"};
inline constexpr Key<bool> kKubernetesTrustCertificates{
    "spark.kubernetes.trust.certificates", "false",
    "true is refused: the API server's certificate is always checked"};
inline constexpr Key<Opt<Text>> kKubernetesDriverAccount{
    "spark.kubernetes.authenticate.driver.serviceAccountName", "service account of the driver pod"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorAccount{
    "spark.kubernetes.authenticate.executor.serviceAccountName", kKubernetesDriverAccount,
    "service account of executor pods"};

// Submission.
inline constexpr Key<bool> kKubernetesWaitAppCompletion{
    "spark.kubernetes.submission.waitAppCompletion", "true",
    "submit waits for the end of the application and tells its state meanwhile"};
inline constexpr Key<Duration> kKubernetesReportInterval{
    "spark.kubernetes.report.interval", "1s", Unit::kMillisecond,
    "how often the waiting submit tells the application's phase"};
inline constexpr Key<Opt<Duration>> kKubernetesKillGrace{
    "spark.kubernetes.appKillPodDeletionGracePeriod", Unit::kSecond,
    "grace period of submit --kill; unset: the pod's own"};
inline constexpr Key<Opt<Text>> kKubernetesUploadPath{
    "spark.kubernetes.file.upload.path",
    "s3a:// folder to which submit takes files of its machine, for the driver pod to fetch; unset: "
    "it "
    "sends them to the pod itself"};
inline constexpr Key<Duration> kKubernetesPatience{
    "tinderbox.kubernetes.startTimeout", "120s", Unit::kMillisecond,
    "how long a pod may wait for what will not come by itself, such as an image that is not there"};
inline constexpr Key<Opt<Text>> kKubernetesApplication{
    "tinderbox.kubernetes.application",
    "set by submit: image when executors' image begins the application, /PATH when it has it "
    "there; "
    "unset: executors fetch it from the driver"};
inline constexpr Key<int64_t> kKubernetesConfigMapMaxSize{
    "spark.kubernetes.configMap.maxSize", "1048576", Unit::kByte,
    "largest configuration that is sent, all files together"};
inline constexpr Key<bool> kKubernetesSubmitInDriver{
    "spark.kubernetes.submitInDriver", "false",
    "set by submit: this driver runs in a pod of its own"};
inline constexpr Key<Opt<Text>> kKubernetesResourceType{
    "spark.kubernetes.resource.type", "set by submit: the kind of application, java"};
inline constexpr Key<Opt<Text>> kKubernetesDriverNamePrefix{
    "spark.kubernetes.driver.resourceNamePrefix",
    "beginning of the names of the driver's objects; unset: the application's name and a number"};

// Images.
inline constexpr Key<Opt<Text>> kKubernetesImage{"spark.kubernetes.container.image",
                                                 "container image"};
inline constexpr Key<Opt<Text>> kKubernetesDriverImage{
    "spark.kubernetes.driver.container.image", kKubernetesImage, "container image of the driver"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorImage{
    "spark.kubernetes.executor.container.image", kKubernetesImage,
    "container image of the executors"};
inline constexpr Key<Text> kKubernetesPullPolicy{"spark.kubernetes.container.image.pullPolicy",
                                                 "IfNotPresent", "Always, Never or IfNotPresent"};
inline constexpr Key<Words> kKubernetesPullSecrets{"spark.kubernetes.container.image.pullSecrets",
                                                   "", "secrets with which images are pulled"};

// The driver pod. Beside these: spark.kubernetes.driverEnv.*, .driver.label.*,
// .driver.annotation.*, .driver.secrets.*, .driver.secretKeyRef.*, .driver.volumes.*,
// .driver.node.selector.*.
inline constexpr Key<Opt<Text>> kKubernetesDriverPodName{"spark.kubernetes.driver.pod.name",
                                                         "name of the driver pod"};
inline constexpr Key<Opt<Text>> kKubernetesDriverRequestCores{
    "spark.kubernetes.driver.request.cores",
    "cpu request of the driver; unset: spark.driver.cores"};
inline constexpr Key<Opt<Text>> kKubernetesDriverLimitCores{"spark.kubernetes.driver.limit.cores",
                                                            "cpu limit of the driver; unset: none"};
inline constexpr Key<Opt<Text>> kKubernetesScheduler{"spark.kubernetes.scheduler.name",
                                                     "scheduler of all pods"};
inline constexpr Key<Opt<Text>> kKubernetesDriverScheduler{
    "spark.kubernetes.driver.scheduler.name", kKubernetesScheduler, "scheduler of the driver pod"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorScheduler{
    "spark.kubernetes.executor.scheduler.name", kKubernetesScheduler, "scheduler of executor pods"};
inline constexpr Key<Opt<Text>> kKubernetesDriverTemplate{
    "spark.kubernetes.driver.podTemplateFile",
    "YAML file of a pod that the driver pod starts from"};
inline constexpr Key<Opt<Text>> kKubernetesDriverTemplateContainer{
    "spark.kubernetes.driver.podTemplateContainerName",
    "which container of the template is the driver's; unset: its first"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorTemplate{
    "spark.kubernetes.executor.podTemplateFile",
    "YAML file of a pod that executor pods start from"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorTemplateContainer{
    "spark.kubernetes.executor.podTemplateContainerName",
    "which container of the template is the executor's; unset: its first"};
inline constexpr Key<bool> kKubernetesEscalation{
    "spark.kubernetes.securityContext.allowPrivilegeEscalation", "false",
    "whether a process of a pod may gain privileges"};
inline constexpr Key<bool> kKubernetesDriverEscalation{
    "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation", kKubernetesEscalation,
    "the same for the driver pod alone"};
inline constexpr Key<bool> kKubernetesExecutorEscalation{
    "spark.kubernetes.executor.securityContext.allowPrivilegeEscalation", kKubernetesEscalation,
    "the same for executor pods alone"};
inline constexpr Key<bool> kKubernetesRestricted{
    "tinderbox.kubernetes.securityContext.restricted", "true",
    "containers have no root user, no capability and a read-only root file system, where the pod "
    "template does not say otherwise"};
inline constexpr Key<bool> kKubernetesTmpfs{"spark.kubernetes.local.dirs.tmpfs", "false",
                                            "local directories in memory"};
inline constexpr Key<bool> kKubernetesReadWriteOnce{
    "spark.kubernetes.legacy.useReadWriteOnceAccessMode", "false",
    "claims made on demand are ReadWriteOnce instead of ReadWriteOncePod"};
inline constexpr Key<Words> kKubernetesDriverExcludedSteps{
    "spark.kubernetes.driver.pod.excludedFeatureSteps", "",
    "parts that the driver pod goes without, by Spark's class names"};
inline constexpr Key<Words> kKubernetesExecutorExcludedSteps{
    "spark.kubernetes.executor.pod.excludedFeatureSteps", "",
    "parts that executor pods go without, by Spark's class names"};

// The driver's service. Beside these: spark.kubernetes.driver.service.label.* and .annotation.*.
inline constexpr Key<bool> kKubernetesServiceDelete{
    "spark.kubernetes.driver.service.deleteOnTermination", "true",
    "the service goes when the application ends"};
inline constexpr Key<Text> kKubernetesServiceFamilyPolicy{
    "spark.kubernetes.driver.service.ipFamilyPolicy", "SingleStack",
    "SingleStack, PreferDualStack or RequireDualStack"};
inline constexpr Key<Words> kKubernetesServiceFamilies{"spark.kubernetes.driver.service.ipFamilies",
                                                       "IPv4", "IPv4, IPv6 or both"};
inline constexpr Key<bool> kKubernetesServiceNotReady{
    "spark.kubernetes.driver.service.publishNotReadyAddresses", "false",
    "the service names the driver before it is ready"};

// Memory of pods.
inline constexpr Key<double> kKubernetesOverheadFactor{
    "spark.kubernetes.memoryOverheadFactor", "0.1",
    "old name of the two overhead factors, which win over it"};
inline constexpr Key<double> kTinderboxOverheadFactor{
    "tinderbox.kubernetes.memoryOverheadFactor", "0",
    "part of its memory that a pod has on top, while no key of Spark says how much"};
inline constexpr Key<Opt<int64_t>> kDriverMemoryOverhead{"spark.driver.memoryOverhead", Unit::kMiB,
                                                         "memory that the driver pod has on top"};
inline constexpr Key<Opt<double>> kDriverMemoryOverheadFactor{"spark.driver.memoryOverheadFactor",
                                                              "the same as a part of its memory"};
inline constexpr Key<int64_t> kDriverMinMemoryOverhead{
    "spark.driver.minMemoryOverhead", "384m", Unit::kMiB,
    "the least of it, unless spark.driver.memoryOverhead is set"};
inline constexpr Key<Opt<int64_t>> kExecutorMemoryOverhead{
    "spark.executor.memoryOverhead", Unit::kMiB, "memory that an executor pod has on top"};
inline constexpr Key<Opt<double>> kExecutorMemoryOverheadFactor{
    "spark.executor.memoryOverheadFactor", "the same as a part of its memory"};
inline constexpr Key<int64_t> kExecutorMinMemoryOverhead{
    "spark.executor.minMemoryOverhead", "384m", Unit::kMiB,
    "the least of it, unless spark.executor.memoryOverhead is set"};

inline constexpr Key<bool> kOffHeapEnabled{
    "spark.memory.offHeap.enabled", "false",
    "an executor pod has spark.memory.offHeap.size on top, for what programs hold themselves"};
inline constexpr Key<int64_t> kOffHeapSize{"spark.memory.offHeap.size", "0", Unit::kByte,
                                           "so much, if spark.memory.offHeap.enabled is set"};

// Executor pods. Beside these: spark.kubernetes.executor.label.* and so on, as for the driver.
inline constexpr Key<Opt<Text>> kKubernetesExecutorNamePrefix{
    "spark.kubernetes.executor.podNamePrefix", "beginning of the names of executor pods"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorRequestCores{
    "spark.kubernetes.executor.request.cores",
    "cpu request of an executor; unset: spark.executor.cores"};
inline constexpr Key<Opt<Text>> kKubernetesExecutorLimitCores{
    "spark.kubernetes.executor.limit.cores", "cpu limit of an executor; unset: none"};
inline constexpr Key<bool> kKubernetesNoExecutorConfigMap{
    "spark.kubernetes.executor.disableConfigMap", "false",
    "executors go without the config map of SPARK_CONF_DIR"};
inline constexpr Key<Text> kKubernetesDecommissionScript{
    "spark.kubernetes.decommission.script", "/opt/decom.sh",
    "preStop command of executors; the default means this program's own"};
inline constexpr Key<Duration> kKubernetesExecutorGrace{
    "spark.kubernetes.executor.terminationGracePeriodSeconds", "30s", Unit::kSecond,
    "how long an executor pod may take to end"};
inline constexpr Key<bool> kKubernetesDriverPodIp{
    "spark.kubernetes.executor.useDriverPodIP", "true",
    "executors reach the driver by its pod's address instead of its service"};

// How many pods, and when.
inline constexpr Key<Text> kKubernetesAllocator{
    "spark.kubernetes.allocation.pods.allocator", "direct",
    "how pods are made: direct, or by a statefulset or deployment of each profile"};
inline constexpr Key<int> kKubernetesBatchSize{"spark.kubernetes.allocation.batch.size", "20",
                                               "pods that are asked for at once"};
inline constexpr Key<Duration> kKubernetesBatchDelay{"spark.kubernetes.allocation.batch.delay",
                                                     "1s", Unit::kMillisecond,
                                                     "time between two batches"};
inline constexpr Key<Duration> kKubernetesReadinessTimeout{
    "spark.kubernetes.allocation.driver.readinessTimeout", "1s", Unit::kSecond,
    "how long the driver waits for its pod to be ready before it asks for executors"};
inline constexpr Key<Duration> kKubernetesCreationTimeout{
    "spark.kubernetes.allocation.executor.timeout", "600s", Unit::kMillisecond,
    "a pod that the API server has not shown for so long is given up"};
inline constexpr Key<int> kKubernetesMaxPending{"spark.kubernetes.allocation.maxPendingPods",
                                                "2147483647", "pods that may be pending at a time"};
inline constexpr Key<int> kKubernetesMaxPendingPerProfile{
    "spark.kubernetes.allocation.maxPendingPodsPerRp", "2147483647",
    "the same for one resource profile"};
inline constexpr Key<int> kKubernetesMaxPods{"spark.kubernetes.allocation.maximum", "2147483647",
                                             "executor pods that an application may create in all"};
inline constexpr Key<Opt<Text>> kKubernetesDecommissionLabel{
    "spark.kubernetes.executor.decommissionLabel",
    "label that the pod of a decommissioned executor gets"};
inline constexpr Key<Text> kKubernetesDecommissionLabelValue{
    "spark.kubernetes.executor.decommissionLabelValue", "", "its value"};
inline constexpr Key<Opt<int>> kKubernetesDeletionCost{
    "spark.kubernetes.executor.podDeletionCost",
    "with deployments: the cost of a pod whose executor was told to end, so that it goes first"};
inline constexpr Key<Opt<int>> kMaxExecutorFailures{
    "spark.executor.maxNumFailures", "executors that may fail before the driver gives up"};
inline constexpr Key<Opt<Duration>> kExecutorFailuresValidity{
    "spark.executor.failuresValidityInterval", Unit::kMillisecond,
    "how long a failed executor counts; unset: for ever"};

// What is seen of pods.
inline constexpr Key<Duration> kKubernetesPollingInterval{
    "spark.kubernetes.executor.apiPollingInterval", "30s", Unit::kMillisecond,
    "how often pods are listed while the watch does not work"};
inline constexpr Key<bool> kKubernetesPolling{"spark.kubernetes.executor.enableApiPolling", "true",
                                              "pods may be listed again"};
inline constexpr Key<bool> kKubernetesWatcher{"spark.kubernetes.executor.enableApiWatcher", "true",
                                              "pods are watched"};
inline constexpr Key<bool> kKubernetesListFromCache{
    "spark.kubernetes.executor.enablePollingWithResourceVersion", "false",
    "the API server may answer lists from its cache"};
inline constexpr Key<Duration> kKubernetesMissingDelta{
    "spark.kubernetes.executor.missingPodDetectDelta", "30s", Unit::kMillisecond,
    "a registered executor may be so young and not be listed yet"};
inline constexpr Key<bool> kKubernetesCheckContainers{
    "spark.kubernetes.executor.checkAllContainers", "true",
    "an executor has failed when any container of its pod has"};
inline constexpr Key<bool> kKubernetesDeletePods{"spark.kubernetes.executor.deleteOnTermination",
                                                 "true",
                                                 "pods of executors that ended are deleted"};
inline constexpr Key<Duration> kKubernetesDeleteGrace{
    "spark.kubernetes.dynamicAllocation.deleteGracePeriod", "5s", Unit::kMillisecond,
    "an executor that was told to end has so long before its pod is deleted"};

// Claims of executors.
inline constexpr Key<bool> kKubernetesOwnClaims{
    "spark.kubernetes.driver.ownPersistentVolumeClaim", "true",
    "claims of executors belong to the driver and outlive them"};
inline constexpr Key<bool> kKubernetesReuseClaims{
    "spark.kubernetes.driver.reusePersistentVolumeClaim", "true",
    "a claim whose executor is gone is given to another"};
inline constexpr Key<bool> kKubernetesWaitClaims{
    "spark.kubernetes.driver.waitToReusePersistentVolumeClaim", "false",
    "no more claims than executors: wait for one to come free"};

}  // namespace tinderbox::conf
