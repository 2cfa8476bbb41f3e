// The grammar of master URLs.
#include "conf/values/master_url.hpp"

#include "conf/error.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

[[noreturn]] void refuse(std::string_view url) {
  throw Error("Could not parse Master URL: '" + std::string(url) + "'; it must be one of " +
              std::string(kMasterForms));
}

/// The comma-separated parts of `name[…]`, blanks kept out; empty when the form is another.
std::vector<std::string_view> bracketed(std::string_view url, std::string_view name) {
  std::vector<std::string_view> parts;
  if (!url.starts_with(name) || !url.ends_with(']')) return parts;
  url.remove_prefix(name.size());
  if (!url.starts_with('[')) return parts;
  url = url.substr(1, url.size() - 2);
  while (true) {
    const size_t comma = url.find(',');
    parts.push_back(trimmed(url.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    url.remove_prefix(comma + 1);
  }
}

/// Digits only: a sign is not part of the grammar.
int number(std::string_view text, std::string_view url) {
  const std::optional<int> value = parse_int(text);
  if (!value || text.find_first_not_of("0123456789") != std::string_view::npos) refuse(url);
  return *value;
}

MasterUrl parse_local(std::string_view url) {
  if (url == "local") return LocalMaster{};
  const std::vector<std::string_view> parts = bracketed(url, "local");
  if (parts.empty() || parts.size() > 2) refuse(url);
  LocalMaster local;
  if (parts[0] == "*")
    local.threads.reset();
  else
    local.threads = number(parts[0], url);
  if (local.threads == 0) throw Error("Asked to run locally with 0 threads");
  if (parts.size() == 2) local.max_failures = number(parts[1], url);
  if (local.max_failures == 0)
    throw Error("Asked to run locally with 0 task failures in " + std::string(url) +
                "; the least is 1");
  return local;
}

MasterUrl parse_local_cluster(std::string_view url) {
  const std::vector<std::string_view> parts = bracketed(url, "local-cluster");
  if (parts.size() != 3) refuse(url);
  const LocalClusterMaster cluster{number(parts[0], url), number(parts[1], url),
                                   number(parts[2], url)};
  if (cluster.workers == 0 || cluster.cores == 0 || cluster.memory_mib == 0)
    throw Error("local-cluster needs at least 1 worker, 1 core and 1 MiB, but was " +
                std::string(url));
  return cluster;
}

MasterUrl parse_standalone(std::string_view url, std::string_view list) {
  StandaloneMaster out;
  while (true) {
    const size_t comma = list.find(',');
    std::string_view one = trimmed(list.substr(0, comma));
    for (std::string_view prefix : {"spark://", "tinderbox://"})
      if (one.starts_with(prefix)) one.remove_prefix(prefix.size());
    const std::optional<HostPort> address = parse_host_port(one);
    if (!address || address->port == 0)
      throw Error("Invalid master URL: " + std::string(url) +
                  "; each address must be host:port or [IPv6 address]:port");
    out.masters.push_back(*address);
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

MasterUrl parse_kubernetes(std::string_view url) {
  const std::string rest(url.substr(std::string_view("k8s://").size()));
  const size_t scheme_end = rest.find("://");
  if (scheme_end == std::string::npos) return KubernetesMaster{"https://" + rest, false};
  const std::string scheme = rest.substr(0, scheme_end);
  if (scheme == "https") return KubernetesMaster{rest, false};
  if (scheme == "http") return KubernetesMaster{rest, true};
  throw Error("Invalid Kubernetes master scheme: " + scheme + " found in URL: " + rest);
}

}  // namespace

MasterUrl parse_master_url(std::string_view url) {
  if (url.starts_with("local-cluster")) return parse_local_cluster(url);
  if (url.starts_with("local")) return parse_local(url);
  for (std::string_view prefix : {"spark://", "tinderbox://"})
    if (url.starts_with(prefix)) return parse_standalone(url, url.substr(prefix.size()));
  if (url.starts_with("k8s://")) return parse_kubernetes(url);
  if (url == "yarn") return YarnMaster{};
  refuse(url);
}

std::string to_url(const HostPort& master) { return "spark://" + to_string(master); }

std::string to_url(const StandaloneMaster& master) {
  std::string list;
  for (const HostPort& one : master.masters) list += (list.empty() ? "" : ",") + to_string(one);
  return "spark://" + list;
}

std::optional<Manager> manager_of(std::string_view url) {
  if (url == "yarn") return Manager::kYarn;
  if (url.starts_with("spark") || url.starts_with("tinderbox")) return Manager::kStandalone;
  if (url.starts_with("k8s")) return Manager::kKubernetes;
  if (url.starts_with("local")) return Manager::kLocal;
  return {};
}

}  // namespace tinderbox::conf
