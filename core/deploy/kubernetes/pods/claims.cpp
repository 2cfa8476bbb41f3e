#include "core/deploy/kubernetes/pods/claims.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tinderbox::core::kubernetes {
namespace {

using Json = nlohmann::json;

std::string kind_of(const Json& claim) {
  const Json& spec = claim.at("spec");
  return Json{spec.value("storageClassName", ""), spec.value("resources", Json::object())}.dump();
}

std::string name_of_claim(const Json& claim) { return claim.at("metadata").at("name"); }

}  // namespace

std::optional<std::string> Claims::reuse(const Json& claim, int64_t executor) {
  const std::string kind = kind_of(claim);
  for (auto& [name, c] : claims_)
    if (c.free() && c.kind == kind) {
      c.executor = executor;
      return name;
    }
  return std::nullopt;
}

void Claims::add(const Json& claim, int64_t executor) {
  claims_[name_of_claim(claim)] = {kind_of(claim), executor};
}

void Claims::made(const std::string& name) {
  const auto claim = claims_.find(name);
  if (claim != claims_.end()) claim->second.there = true;
}

void Claims::release(int64_t executor) {
  for (auto& [name, c] : claims_)
    if (c.executor == executor) c.executor = 0;
}

size_t Claims::free() const {
  return static_cast<size_t>(
      std::count_if(claims_.begin(), claims_.end(), [](const auto& c) { return c.second.free(); }));
}

void mount_other_claim(Json& pod, const std::string& wanted, const std::string& reused) {
  for (Json& volume : pod["spec"]["volumes"])
    if (volume.contains("persistentVolumeClaim") &&
        volume["persistentVolumeClaim"]["claimName"] == wanted)
      volume["persistentVolumeClaim"]["claimName"] = reused;
}

}  // namespace tinderbox::core::kubernetes
