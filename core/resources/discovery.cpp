#include "core/resources/discovery.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "net/process/piped_child.hpp"
#include "net/process/signals.hpp"

namespace tinderbox::core {
namespace {

using Json = nlohmann::ordered_json;
using Addresses = std::vector<std::string>;

constexpr int64_t kLargestFile = 16 << 20;

/// Null: there is none.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

std::string text_at(const Json* object, const char* key) {
  const Json* text = object ? member(*object, key) : nullptr;
  return text && text->is_string() ? text->get<std::string>() : std::string();
}

/// Errors: not a list of different texts.
Result<Addresses> addresses_of(const Json& holder) {
  Addresses addresses;
  std::set<std::string> seen;
  const Json* list = member(holder, "addresses");
  if (!list || !list->is_array()) return Error{"there is no list of addresses"};
  for (const Json& address : *list) {
    if (!address.is_string()) return Error{"the address " + address.dump() + " is no text"};
    if (!seen.insert(address.get<std::string>()).second)
      return Error{"the address " + address.dump() + " comes twice"};
    addresses.push_back(address.get<std::string>());
  }
  return addresses;
}

// ---- discovery scripts -------------------------------------------------------------------------

Result<Addresses> run_script(net::Files& files, const std::string& name,
                             const std::string& script) {
  Result<std::optional<net::FileStat>> stat = files.stat(script);
  if (!stat || !*stat)
    return Error{"Resource script: " + script + " to discover " + name + " doesn't exist!"};
  Result<std::string> printed = net::run_and_read(script, {script}, {}, &net::stop_asked());
  if (!printed)
    return Error{"Error running the resource discovery script " + script + " for " + name + ": " +
                 printed.error().message};
  const Json json = Json::parse(*printed, nullptr, false);
  if (!json.is_object())
    return Error{"Error parsing JSON into ResourceInformation: " + script + " printed '" +
                 printed->substr(0, printed->find('\n')) + "'; it must print {\"name\": \"" + name +
                 "\", \"addresses\": [\"0\"]}"};
  if (const std::string said = text_at(&json, "name"); said != name)
    return Error{"Error running the resource discovery script " + script +
                 ": script returned resource name " + said + " and we were expecting " + name +
                 "."};
  Result<Addresses> addresses = addresses_of(json);
  if (!addresses) return Error{"Resource script: " + script + ": " + addresses.error().message};
  return addresses;
}

// ---- resources files ---------------------------------------------------------------------------

Result<std::string> read_text(net::Files& files, const std::string& path) {
  Result<std::unique_ptr<net::ReadFile>> file = files.open(path);
  if (!file) return file.error();
  if ((*file)->size() > kLargestFile) return Error{path + " is too large"};
  std::string text(static_cast<size_t>((*file)->size()), '\0');
  Result<size_t> n = (*file)->read_at(0, text.data(), text.size());
  if (!n) return n.error();
  text.resize(*n);
  return text;
}

Result<ResourceAddresses> read_file(net::Files& files, std::string_view component,
                                    const std::string& path) {
  const auto broken = [&](const std::string& why) {
    return Error{"Error parsing resources file " + path + ": " + why};
  };
  Result<std::string> text = read_text(files, path);
  if (!text) return broken(text.error().message);
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_array()) return broken("it is no JSON list of allocations");
  ResourceAddresses resources;
  for (const Json& allocation : json) {
    const Json* id = member(allocation, "id");
    const std::string name = text_at(id, "resourceName");
    if (name.empty()) return broken("an allocation has no id with a resourceName");
    if (text_at(id, "componentName") != component) continue;
    Result<Addresses> addresses = addresses_of(allocation);
    if (!addresses) return broken(name + ": " + addresses.error().message);
    resources[name] = std::move(*addresses);
  }
  return resources;
}

std::string joined(const Addresses& addresses, const char* between) {
  std::string text;
  for (const std::string& a : addresses) text += (text.empty() ? "" : between) + a;
  return text;
}

}  // namespace

Result<ResourceAddresses> find_resources(net::Files& files, std::string_view component,
                                         const std::map<std::string, ExecutorResource>& wanted,
                                         const std::string& file) {
  ResourceAddresses found;
  if (!file.empty()) {
    Result<ResourceAddresses> given = read_file(files, component, file);
    if (!given) return given.error();
    found = std::move(*given);
  }
  for (const auto& [name, want] : wanted) {
    if (!found.contains(name)) {
      if (want.discovery_script.empty())
        return Error{"User is expecting to use resource: " + name +
                     ", but didn't specify a discovery script! Set " + std::string(component) +
                     ".resource." + name + ".discoveryScript"};
      Result<Addresses> addresses = run_script(files, name, want.discovery_script);
      if (!addresses) return addresses.error();
      found[name] = std::move(*addresses);
    }
    if (static_cast<int64_t>(found[name].size()) < want.amount)
      return Error{"Resource: " + name + ", with addresses: " + joined(found[name], ",") +
                   " is less than what the user requested: " + std::to_string(want.amount)};
  }
  return found;
}

std::string resources_file(std::string_view component, const ResourceAddresses& resources) {
  Json list = Json::array();
  for (const auto& [name, addresses] : resources)
    list.push_back({{"id", {{"componentName", std::string(component)}, {"resourceName", name}}},
                    {"addresses", addresses}});
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string show_resources(const ResourceAddresses& resources) {
  std::string text;
  for (const auto& [name, addresses] : resources)
    text += (text.empty() ? "" : ", ") + name + ": [" + joined(addresses, ", ") + "]";
  return text;
}

std::string show_amounts(const ResourceAmounts& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    text += (text.empty() ? "" : ", ") + std::to_string(amount) + " " + name;
  return text;
}

}  // namespace tinderbox::core
