// All that submit creates for an application: the driver's pod, and what the pod owns.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/deploy/kubernetes/objects/application.hpp"
#include "core/deploy/kubernetes/objects/config_map.hpp"

namespace tinderbox::core::kubernetes {

/// Text and where it is from.
struct NamedText {
  std::string source, text;
};

/// The text of a file. Errors: conf::Error that names `key`, whose value the path is.
std::string file_text(const std::string& path, std::string_view key, const conf::ReadText& read);
/// The pod template that `key` names by a path or a file: URI; empty: none. Errors: as file_text().
NamedText template_of(const conf::Conf& conf, const conf::Key<std::optional<std::string>>& key,
                      const conf::ReadText& read);

struct DriverInput {
  conf::Conf conf;
  AppNames names;
  std::string main_class;
  std::string resource;  // as the driver is given it: local:///… or spark-internal
  std::vector<std::string> arguments;
  std::string proxy_user;
  NamedText driver_template, executor_template;  // empty: none
  ConfFiles conf_files;                          // of SPARK_CONF_DIR, as they are
  std::vector<AppFile> app_files;
  conf::Pairs credentials;  // of spark.kubernetes.authenticate.driver.*: name in the secret → bytes
};

/// The pod first; what it is to own follows, its config map last: where that is, all is.
/// Errors: conf::Error, in Spark's words where it has some.
/// Source: Spark 4.3 KubernetesDriverBuilder and the feature steps it applies.
std::vector<Json> driver_objects(const DriverInput& input);

std::string driver_pod_name(const conf::Conf& conf, const AppNames& names);

/// `{apiVersion, kind, name, uid, controller}` of a pod, put into `object`.
void set_owner(Json& object, const std::string& pod, const std::string& uid);

}  // namespace tinderbox::core::kubernetes
