// Claims that executors leave behind, for those that follow. Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tinderbox::core::kubernetes {

/// Only claims that this driver made are known, so none is listed: what is free is known exactly.
/// Source: Spark 4.3 ExecutorPodsAllocator.getReusablePVCs.
class Claims {
 public:
  /// A free claim of the same storage class and size as `claim`, given to `executor`. None: there
  /// is none.
  std::optional<std::string> reuse(const nlohmann::json& claim, int64_t executor);
  /// A new one of `executor`, that was asked for.
  void add(const nlohmann::json& claim, int64_t executor);
  /// It is there: only now it may come free.
  void made(const std::string& name);
  /// It could not be made.
  void drop(const std::string& name) { claims_.erase(name); }
  /// Its pod is gone: what it had is free.
  void release(int64_t executor);
  /// Free and taken ones.
  size_t count() const { return claims_.size(); }
  size_t free() const;

 private:
  struct Claim {
    std::string kind;      // storage class and size
    int64_t executor = 0;  // 0: nobody's
    bool there = false;
    bool free() const { return there && executor == 0; }
  };
  std::map<std::string, Claim> claims_;  // by name
};

/// Makes the pod mount `reused` instead of the claim named `wanted`.
void mount_other_claim(nlohmann::json& pod, const std::string& wanted, const std::string& reused);

}  // namespace tinderbox::core::kubernetes
