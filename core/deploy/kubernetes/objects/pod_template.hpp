// A pod under construction: a template's pod, and which of its containers is Spark's.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "conf/conf.hpp"

namespace tinderbox::core::kubernetes {

using Json = nlohmann::json;

/// Pod and container are kept apart until finish(), as in Spark's SparkPod.
class PodUnderConstruction {
 public:
  /// `template_text`: YAML of a pod; empty: none. `container`: which of its containers; empty, or
  /// not there: the first. Errors: conf::Error that names `source` for what is no pod.
  /// Source: Spark 4.3 KubernetesUtils.loadPodFromTemplate, selectSparkContainer.
  PodUnderConstruction(const std::string& template_text, const std::string& source,
                       const std::string& container);
  ~PodUnderConstruction();
  Json& pod();
  Json& metadata();
  Json& spec();
  Json& container();
  /// Whole: the container after the template's others.
  Json finish();

 private:
  std::unique_ptr<Json> pod_, container_;
};

/// The name of Spark's container in what finish() made.
std::string spark_container(const Json& pod_spec);

/// Adds `item` to the list `key` of `object`, which is made when missing.
void append(Json& object, const char* key, Json item);
/// Adds all of `pairs` to the mapping `key` of `object`; those there already are replaced.
void add_pairs(Json& object, const char* key, const conf::Pairs& pairs);
/// What stands for `text` in a container's arguments, where Kubernetes replaces `$(NAME)` and takes
/// `$$` for `$`.
std::string literal(std::string_view text);
/// `{name, value}` for a list of environment variables; one of the template with this name goes.
void set_variable(Json& container, const std::string& name, const std::string& value);
/// The same from a field of the pod.
void set_variable_from_field(Json& container, const std::string& name, const std::string& path);
/// A volume and where the container has it. `mount` lacks its name.
void add_volume(PodUnderConstruction& pod, const std::string& name, Json source, Json mount);

}  // namespace tinderbox::core::kubernetes
