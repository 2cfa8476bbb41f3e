// Names and label values of Kubernetes objects, all from here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tinderbox::core::kubernetes {

inline constexpr size_t kLongestLabel = 63;  // of labels' values, services and host names
inline constexpr size_t kLongestName = 253;  // of pods, config maps, claims and secrets
/// Of what names begin with that we choose ourselves: kubelets make files whose names hold those of
/// the pod, its namespace, its container and more, 255 bytes together.
inline constexpr size_t kLongestOwnPrefix = 80;
inline constexpr size_t kLongestPrefix = 237;  // of executor pods: room for `-exec-` and a number

// The labels that Spark's objects carry. Source: Spark 4.3 deploy.k8s.Constants.
inline constexpr std::string_view kVersionLabel = "spark-version";
inline constexpr std::string_view kAppLabel = "spark-app-selector";
inline constexpr std::string_view kAppNameLabel = "spark-app-name";
inline constexpr std::string_view kRoleLabel = "spark-role";
inline constexpr std::string_view kExecutorLabel = "spark-exec-id";
inline constexpr std::string_view kProfileLabel = "spark-exec-resourceprofile-id";
inline constexpr std::string_view kInactiveLabel = "spark-exec-inactive";
/// The whole name of an application, which labels may be too short for.
inline constexpr std::string_view kAppNameAnnotation = "tinderbox/app-name";

/// `stem` + `suffix`, at most `limit` bytes: of a stem that is too long the beginning is kept, and
/// a hash of the whole stem tells it from others. Shape: suffix is shorter than limit by 10 and
/// more.
std::string bounded_name(std::string_view stem, std::string_view suffix, size_t limit);

/// What a DNS name may hold of any text: small letters, digits and single dashes, beginning with a
/// letter. May be empty. Source: Spark 4.3 KubernetesConf.getResourceNamePrefix.
std::string dns_name(std::string_view text);

/// The name of the volume of an object: NAME-volume as Spark's, as far as a volume may have that.
/// Source: Spark 4.3 MountSecretsFeatureStep.
std::string volume_name(std::string_view object);

/// What the names of an application's objects begin with: its name and what makes it one of its
/// kind. Source: Spark 4.3 KubernetesConf.getResourceNamePrefix.
std::string resource_prefix(std::string_view app_name, std::string_view unique);

/// The same text as the value of a label: what is not allowed there becomes a dash.
/// Source: Spark 4.3 KubernetesConf.getAppNameLabel.
std::string label_value(std::string_view text);

/// Fourteen to sixteen hex digits that no other submission has. `random`: any number.
/// Unit of `now_ms`: milliseconds since 1970. Source: Spark 4.3 KubernetesUtils.uniqueID.
std::string unique_id(uint64_t random, int64_t now_ms);

/// The host name of an executor pod: the end of its name, as far as it fits.
std::string executor_host_name(std::string_view pod_name);

/// Whether spark.kubernetes.executor.podNamePrefix can be used.
bool is_pod_name_prefix(std::string_view text);

}  // namespace tinderbox::core::kubernetes
