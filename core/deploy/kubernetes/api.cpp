#include "core/deploy/kubernetes/api.hpp"

#include <absl/strings/str_replace.h>

#include <nlohmann/json.hpp>

#include "core/deploy/kubernetes/names.hpp"
#include "net/http/http_session.hpp"

namespace tinderbox::core::kubernetes {
namespace {

using Wanted = ApiRequest::Wanted;

constexpr const char* kJson = "application/json";

std::string plural(const std::string& kind) {
  if (kind == "NetworkPolicy") return "networkpolicies";
  std::string lower;
  for (const char c : kind) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower + "s";
}

std::string name_of(const Json& object) { return object.at("metadata").at("name"); }

}  // namespace

std::string api_path(std::string_view name_space, std::string_view kind, std::string_view name) {
  const size_t slash = kind.rfind('/');
  std::string path =
      slash == std::string_view::npos ? "/api/v1" : "/apis/" + std::string(kind.substr(0, slash));
  path += "/namespaces/" + net::url_encoded(name_space) + "/";
  path += kind.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (!name.empty()) path += "/" + net::url_encoded(name);
  return path;
}

std::string kind_path(const Json& object) {
  const std::string version = object.at("apiVersion");
  return (version == "v1" ? "" : version + "/") + plural(object.at("kind"));
}

ApiRequest get_object(std::string path) {
  return {"GET", std::move(path), "", "", "", Wanted::All};
}

ApiRequest create_object(std::string_view name_space, const Json& object) {
  return {"POST", api_path(name_space, kind_path(object)), kJson, object.dump(), "", Wanted::Names};
}

ApiRequest apply_object(std::string_view name_space, const Json& object) {
  return {"PATCH",
          api_path(name_space, kind_path(object), name_of(object)) +
              "?fieldManager=tinderbox&force=true",
          "application/apply-patch+yaml",
          object.dump(),
          "",
          Wanted::Names};
}

ApiRequest patch_object(std::string path, const Json& change) {
  return {"PATCH", std::move(path), "application/merge-patch+json", change.dump(),
          "",      Wanted::Names};
}

ApiRequest delete_object(std::string path, const std::string& uid, int64_t grace) {
  Json options = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  options["propagationPolicy"] = "Background";
  if (!uid.empty()) options["preconditions"] = {{"uid", uid}};
  if (grace >= 0) options["gracePeriodSeconds"] = grace;
  return {"DELETE", std::move(path), kJson, options.dump(), "", Wanted::Names};
}

ApiRequest delete_all(std::string path) {
  ApiRequest request = delete_object(std::move(path));
  request.wanted = Wanted::ListOfNames;
  return request;
}

std::string selector(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::string all;
  for (const auto& [key, value] : labels)
    all += (all.empty() ? "" : ",") + std::string(key) + "=" + std::string(value);
  return net::url_encoded(all);
}

std::string failure(const ApiAnswered& answer) {
  if (answer.status == 0) return answer.error;
  const Json status = Json::parse(answer.body, nullptr, false);
  std::string text;
  if (status.is_object() && status.contains("message") && status["message"].is_string())
    text = status["message"].get<std::string>();
  if (text.empty()) text = answer.body.substr(0, 200);
  text = absl::StrReplaceAll(text, {{"\n", " "}});
  return (text.empty() ? "no reason" : text) + " (status " + std::to_string(answer.status) + ")";
}

std::string uid_of(const Bytes& body) {
  const Json object = Json::parse(body, nullptr, false);
  if (!object.is_object()) return {};
  const Json metadata = object.value("metadata", Json::object());
  return metadata.is_object() ? metadata.value("uid", "") : "";
}

}  // namespace tinderbox::core::kubernetes
