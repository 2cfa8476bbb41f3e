#include "core/deploy/kubernetes/objects/pod_template.hpp"

#include <nlohmann/json.hpp>

#include "conf/sources/yaml.hpp"

namespace tinderbox::core::kubernetes {
namespace {

Json parse_template(const std::string& text, const std::string& source) {
  Json pod;
  try {
    pod = conf::parse_yaml(text);
  } catch (const conf::Error& e) {
    throw conf::Error("pod template '" + source + "': " + e.what());
  }
  const auto refuse = [&](const std::string& why) {
    throw conf::Error("pod template '" + source + "': " + why);
  };
  if (!pod.is_object()) refuse("it is no mapping");
  if (pod.value("kind", Json("Pod")) != "Pod") refuse("its kind is not Pod");
  if (pod.value("apiVersion", Json("v1")) != "v1") refuse("its apiVersion is not v1");
  for (const char* part : {"metadata", "spec"})
    if (pod.contains(part) && !pod[part].is_object()) refuse(std::string(part) + " is no mapping");
  const Json spec = pod.value("spec", Json::object());
  for (const char* list : {"containers", "initContainers", "volumes", "imagePullSecrets"})
    if (spec.contains(list)) {
      if (!spec[list].is_array()) refuse("spec." + std::string(list) + " is no list");
      for (const Json& item : spec[list])
        if (!item.is_object()) refuse("spec." + std::string(list) + " has an entry without fields");
    }
  return pod;
}

/// Takes the container out of the template; what is left are its side cars.
Json take_container(Json& spec, const std::string& name) {
  if (!spec.contains("containers") || spec["containers"].empty()) return Json::object();
  Json& all = spec["containers"];
  size_t chosen = 0;
  for (size_t i = 0; i < all.size(); ++i)
    if (!name.empty() && all[i].value("name", Json()) == name) chosen = i;
  Json container = all[chosen];
  all.erase(chosen);
  return container;
}

Json& object_in(Json& parent, const char* key) {
  Json& child = parent[key];
  if (!child.is_object()) child = Json::object();
  return child;
}

void put_variable(Json& container, const std::string& name, Json variable) {
  Json& list = container["env"];
  if (!list.is_array()) list = Json::array();
  for (size_t i = list.size(); i-- > 0;)
    if (list[i].is_object() && list[i].value("name", Json()) == name) list.erase(i);
  list.push_back(std::move(variable));
}

}  // namespace

PodUnderConstruction::PodUnderConstruction(const std::string& template_text,
                                           const std::string& source, const std::string& container)
    : pod_(std::make_unique<Json>(Json::object())), container_(std::make_unique<Json>()) {
  if (!template_text.empty()) *pod_ = parse_template(template_text, source);
  (*pod_)["apiVersion"] = "v1";
  (*pod_)["kind"] = "Pod";
  *container_ = take_container(spec(), container);
}

PodUnderConstruction::~PodUnderConstruction() = default;

Json& PodUnderConstruction::pod() { return *pod_; }
Json& PodUnderConstruction::metadata() { return object_in(*pod_, "metadata"); }
Json& PodUnderConstruction::spec() { return object_in(*pod_, "spec"); }
Json& PodUnderConstruction::container() { return *container_; }

Json PodUnderConstruction::finish() {
  Json whole = *pod_;
  append(whole["spec"], "containers", *container_);
  return whole;
}

std::string spark_container(const Json& pod_spec) { return pod_spec["containers"].back()["name"]; }

void append(Json& object, const char* key, Json item) {
  Json& list = object[key];
  if (!list.is_array()) list = Json::array();
  list.push_back(std::move(item));
}

void add_pairs(Json& object, const char* key, const conf::Pairs& pairs) {
  if (pairs.empty()) return;
  Json& all = object_in(object, key);
  for (const auto& [name, value] : pairs) all[name] = value;
}

std::string literal(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '$' ? 2 : 1, c);
  return doubled;
}

void set_variable(Json& container, const std::string& name, const std::string& value) {
  put_variable(container, name, {{"name", name}, {"value", value}});
}

void set_variable_from_field(Json& container, const std::string& name, const std::string& path) {
  put_variable(
      container, name,
      {{"name", name}, {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", path}}}}}});
}

void add_volume(PodUnderConstruction& pod, const std::string& name, Json source, Json mount) {
  source["name"] = name;
  mount["name"] = name;
  append(pod.spec(), "volumes", std::move(source));
  append(pod.container(), "volumeMounts", std::move(mount));
}

}  // namespace tinderbox::core::kubernetes
