// Snapshots → JSON with the fields, and the order of fields, of Spark's own answers.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/deploy/cluster_status.hpp"

namespace tinderbox::core {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  int64_t workers = 0, cores = 0, cores_used = 0, memory = 0, memory_used = 0;
};

Totals totals_of(const ClusterStatus& s) {
  Totals t;
  for (const WorkerRow& w : s.workers) {
    if (w.state != WorkerState::Alive) continue;
    ++t.workers;
    t.cores += w.cores;
    t.cores_used += w.cores_used;
    t.memory += w.memory_mib;
    t.memory_used += w.memory_used_mib;
  }
  return t;
}

/// Source: Spark ResourceInformation.toJson.
Json json_of(const ResourceAddresses& resources) {
  Json all = Json::object();
  for (const auto& [name, addresses] : resources)
    all[name] = {{"name", name}, {"addresses", addresses}};
  return all;
}

Json json_of(const ResourceAmounts& amounts) {
  Json list = Json::array();
  for (const auto& [name, amount] : amounts) list.push_back({{"name", name}, {"amount", amount}});
  return list;
}

Json json_of(const WorkerRow& w) {
  return {{"id", w.id.value},
          {"host", w.host},
          {"port", w.port},
          {"webuiaddress", w.web_ui_url},
          {"cores", w.cores},
          {"coresused", w.cores_used},
          {"coresfree", w.cores - w.cores_used},
          {"memory", w.memory_mib},
          {"memoryused", w.memory_used_mib},
          {"memoryfree", w.memory_mib - w.memory_used_mib},
          {"resources", json_of(w.resources)},
          {"resourcesused", json_of(used_of(w))},
          {"resourcesfree", json_of(w.resources_free)},
          {"state", name_of(w.state)},
          {"lastheartbeat", epoch_millis(w.last_heartbeat)}};
}

Json json_of(const AppRow& a, const Zone& zone) {
  return {{"id", a.id.value},
          {"starttime", epoch_millis(a.submitted)},
          {"name", a.name},
          {"cores", a.cores_granted},
          {"user", a.user},
          {"memoryperexecutor", a.memory_per_executor_mib},
          {"memoryperslave", a.memory_per_executor_mib},
          {"resourcesperexecutor", json_of(a.resources_per_executor)},
          {"resourcesperslave", json_of(a.resources_per_executor)},
          {"submitdate", java_date(a.submitted, zone)},
          {"state", name_of(a.state)},
          {"duration", a.duration.count() / 1000}};
}

Json json_of(const DriverRow& d, const Zone& zone) {
  return {{"id", d.id.value},
          {"starttime", std::to_string(epoch_millis(d.submitted))},
          {"state", name_of(d.state)},
          {"cores", d.cores},
          {"memory", d.memory_mib},
          {"resources", json_of(d.resources)},
          {"submitdate", java_date(d.submitted, zone)},
          {"worker", d.worker.value.empty() ? "None" : d.worker.value},
          {"mainclass", d.main_class}};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ", ") + p;
  return out;
}

/// Without environment and properties: they may hold secrets.
std::string show_command(const Command& c) {
  return "Command(" + c.main_class + ",List(" + joined(c.arguments) +
         "),Map(),List(),List(),List())";
}

Json json_of(const WorkerExecutorRow& e) {
  Json description = {{"name", e.app_name},
                      {"cores", e.app_max_cores.value_or(0)},
                      {"memoryperexecutor", e.memory_per_executor_mib},
                      {"resourcesperexecutor", json_of(e.resources_per_executor)},
                      {"memoryperslave", e.memory_per_executor_mib},
                      {"resourcesperslave", json_of(e.resources_per_executor)},
                      {"user", e.user},
                      {"command", show_command(e.command)}};
  return {{"id", e.id},
          {"memory", e.memory_mib},
          {"resources", json_of(e.resources)},
          {"appid", e.app.value},
          {"appdesc", description}};
}

template <class Row, class... More>
Json list_of(const std::vector<Row>& rows, const More&... more) {
  Json list = Json::array();
  for (const Row& r : rows) list.push_back(json_of(r, more...));
  return list;
}

Json whole(const ClusterStatus& s, const Zone& zone) {
  Totals t = totals_of(s);
  Json resources = Json::array(), used = Json::array();
  for (const WorkerRow& w : s.workers) {
    if (w.state != WorkerState::Alive) continue;
    resources.push_back(json_of(w.resources));
    used.push_back(json_of(used_of(w)));
  }
  return {{"url", s.url},
          {"workers", list_of(s.workers)},
          {"aliveworkers", t.workers},
          {"cores", t.cores},
          {"coresused", t.cores_used},
          {"memory", t.memory},
          {"memoryused", t.memory_used},
          {"resources", resources},
          {"resourcesused", used},
          {"activeapps", list_of(s.active_apps, zone)},
          {"completedapps", list_of(s.completed_apps, zone)},
          {"activedrivers", list_of(s.active_drivers, zone)},
          {"completeddrivers", list_of(s.completed_drivers, zone)},
          {"status", name_of(s.state)}};
}

Json utilization(const ClusterStatus& s) {
  Totals t = totals_of(s);
  auto percent = [](int64_t used, int64_t all) { return all == 0 ? 100 : 100 * used / all; };
  return {{"waitingDrivers", s.waiting_drivers},
          {"cores", t.cores},
          {"coresused", t.cores_used},
          {"coresutilization", percent(t.cores_used, t.cores)},
          {"memory", t.memory},
          {"memoryused", t.memory_used},
          {"memoryutilization", percent(t.memory_used, t.memory)}};
}

/// A peer's text that is no UTF-8 must not end the process.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ResourceAddresses used_of(const WorkerRow& w) {
  ResourceAddresses used = w.resources;
  for (auto& [name, addresses] : used) {
    const auto free = w.resources_free.find(name);
    if (free == w.resources_free.end()) continue;
    std::erase_if(addresses, [&](const std::string& address) {
      return std::find(free->second.begin(), free->second.end(), address) != free->second.end();
    });
  }
  return used;
}

std::string master_json(const ClusterStatus& status, const Zone& zone, std::string_view field) {
  if (field == "clusterutilization") return text_of(utilization(status));
  Json all = whole(status, zone);
  if (field.empty()) return text_of(all);
  std::string name(field);
  return text_of(Json{{name, all.contains(name) ? all[name] : Json("")}});
}

std::string worker_json(const WorkerStatus& s) {
  return text_of(Json{{"id", s.id.value},
                      {"masterurl", s.master_url},
                      {"masterwebuiurl", s.master_web_ui_url},
                      {"cores", s.cores},
                      {"coresused", s.cores_used},
                      {"memory", s.memory_mib},
                      {"memoryused", s.memory_used_mib},
                      {"resources", json_of(s.resources)},
                      {"resourcesused", json_of(s.resources_used)},
                      {"executors", list_of(s.executors)},
                      {"finishedexecutors", list_of(s.finished_executors)}});
}

}  // namespace tinderbox::core
