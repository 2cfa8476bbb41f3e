#include "conf/values/custom_resources.hpp"

#include <set>

#include "conf/keys.hpp"

namespace tinderbox::conf {
namespace {

constexpr std::string_view kName = "NAME";

/// The part of a key's name before NAME.
std::string_view prefix_of(const KeySpec& key) { return key.name.substr(0, key.name.find(kName)); }

/// Names that keys with this prefix speak of.
std::set<std::string> names_in(const Conf& conf, const KeySpec& amount) {
  const std::string prefix(prefix_of(amount));
  std::set<std::string> names;
  for (const auto& [rest, value] : conf.with_prefix(prefix)) {
    const size_t dot = rest.find('.');
    if (dot == std::string::npos || dot == 0)
      throw Error("You must specify an amount config for resource: " + rest + " config: " + prefix +
                  rest + "; write " + prefix + rest + ".amount=" + value);
    names.insert(rest.substr(0, dot));
  }
  return names;
}

/// The value of `key` with `name` in NAME's place; none: not set.
template <class T>
std::optional<T> value_of(const Conf& conf, Key<T> key, const std::string& name) {
  std::string full(key.spec.name);
  full.replace(full.find(kName), kName.size(), name);
  key.spec.name = full;
  if (!conf.has(key)) return std::nullopt;
  return conf.get(key);
}

template <class T>
T amount_of(const Conf& conf, const Key<T>& key, const std::string& name) {
  const std::optional<T> amount = value_of(conf, key, name);
  const std::string prefix = std::string(prefix_of(key.spec)) + name + ".amount";
  if (!amount) throw Error("You must specify an amount for " + name + ": set " + prefix);
  if (*amount < 0) throw Error(prefix + " is negative; give 0 or more");
  return *amount;
}

struct OwnerKeys {
  const Key<int>& amount;
  const Key<Text>& script;
};

OwnerKeys keys_of(ResourceOwner owner) {
  switch (owner) {
    case ResourceOwner::kWorker:
      return {kWorkerResourceAmount, kWorkerResourceScript};
    case ResourceOwner::kExecutor:
      return {kExecutorResourceAmount, kExecutorResourceScript};
    case ResourceOwner::kDriver:
      break;
  }
  return {kDriverResourceAmount, kDriverResourceScript};
}

}  // namespace

std::string_view component_of(ResourceOwner owner) {
  const std::string_view prefix = prefix_of(keys_of(owner).amount.spec);
  return prefix.substr(0, prefix.find(".resource."));
}

std::map<std::string, ResourceSetting> resource_settings(const Conf& conf, ResourceOwner owner) {
  const OwnerKeys keys = keys_of(owner);
  std::map<std::string, ResourceSetting> settings;
  for (const std::string& name : names_in(conf, keys.amount.spec))
    if (const int amount = amount_of(conf, keys.amount, name); amount > 0)
      settings[name] = {amount, value_of(conf, keys.script, name).value_or("")};
  return settings;
}

std::map<std::string, double> task_resource_settings(const Conf& conf) {
  std::map<std::string, double> settings;
  for (const std::string& name : names_in(conf, kTaskResourceAmount.spec))
    if (const double amount = amount_of(conf, kTaskResourceAmount, name); amount > 0)
      settings[name] = amount;
  return settings;
}

}  // namespace tinderbox::conf
