// The master's and the worker's page: plain HTML, everything that a peer named is escaped.
#include "core/deploy/pages.hpp"

#include <initializer_list>
#include <map>
#include <utility>

#include "core/resources/discovery.hpp"

namespace tinderbox::core {
namespace {

constexpr std::string_view kHead =
    "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\"><style>"
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em;"
    "color:#222}h1{font-size:1.4em}h2{font-size:1.1em;margin-top:1.6em}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.35em .7em;"
    "border-bottom:1px solid #ddd}th{background:#f5f5f5}ul{list-style:none;padding:0}"
    "a{color:#06c}pre{background:#f5f5f5;padding:1em;white-space:pre-wrap;overflow-wrap:anywhere}</"
    "style>";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// A link only to http and https: another scheme in a peer's text could run a script.
std::string link(std::string_view url, std::string_view text) {
  if (!url.starts_with("http://") && !url.starts_with("https://")) return escaped(text);
  return "<a href=\"" + escaped(url) + "\">" + escaped(text) + "</a>";
}

std::string mebibytes(int64_t mib) { return std::to_string(mib) + " MiB"; }

/// Cells are HTML already.
class Table {
 public:
  Table(std::string_view title, size_t count, std::initializer_list<std::string_view> columns) {
    out_ = "<h2>" + escaped(title) + " (" + std::to_string(count) + ")</h2><table><thead><tr>";
    for (std::string_view c : columns) out_ += "<th>" + escaped(c) + "</th>";
    out_ += "</tr></thead><tbody>";
  }
  void row(std::initializer_list<std::string> cells) {
    out_ += "<tr>";
    for (const std::string& c : cells) out_ += "<td>" + c + "</td>";
    out_ += "</tr>";
  }
  std::string take() { return std::move(out_) + "</tbody></table>"; }

 private:
  std::string out_;
};

std::string item(std::string_view name, const std::string& html) {
  return "<li><strong>" + escaped(name) + ":</strong> " + html + "</li>";
}

std::string page(std::string_view title, const std::string& body) {
  return std::string(kHead) + "<title>" + escaped(title) + "</title></head><body><h1>" +
         escaped(title) + "</h1>" + body + "</body></html>";
}

/// Source: Spark StandaloneResourceUtils.formatResourcesDetails.
std::string details_of(const WorkerRow& w) {
  std::string text;
  for (const auto& [name, used] : used_of(w)) {
    const auto free = w.resources_free.find(name);
    const auto list = [](const std::vector<std::string>& addresses) {
      std::string all;
      for (const std::string& a : addresses) all += (all.empty() ? "" : ", ") + a;
      return "[" + all + "]";
    };
    text += (text.empty() ? "" : ", ") + name + ": Free: " +
            list(free == w.resources_free.end() ? std::vector<std::string>() : free->second) +
            " / Used: " + list(used);
  }
  return text;
}

std::string workers_table(const ClusterStatus& s) {
  Table t("Workers", s.workers.size(),
          {"Worker Id", "Address", "State", "Cores", "Memory", "Resources"});
  for (const WorkerRow& w : s.workers)
    t.row({link(w.web_ui_url, w.id.value), escaped(w.host) + ":" + std::to_string(w.port),
           std::string(name_of(w.state)),
           std::to_string(w.cores) + " (" + std::to_string(w.cores_used) + " Used)",
           mebibytes(w.memory_mib) + " (" + mebibytes(w.memory_used_mib) + " Used)",
           escaped(details_of(w))});
  return t.take();
}

std::string apps_table(std::string_view title, const std::vector<AppRow>& apps, const Zone& zone) {
  Table t(title, apps.size(),
          {"Application ID", "Name", "Cores", "Memory per Executor", "Resources Per Executor",
           "Submitted Time", "User", "State", "Duration"});
  for (const AppRow& a : apps)
    t.row({escaped(a.id.value), link(a.ui_url, a.name), std::to_string(a.cores_granted),
           mebibytes(a.memory_per_executor_mib), escaped(show_amounts(a.resources_per_executor)),
           page_date(a.submitted, zone), escaped(a.user), std::string(name_of(a.state)),
           show_duration(a.duration)});
  return t.take();
}

std::string drivers_table(std::string_view title, const std::vector<DriverRow>& drivers,
                          const Zone& zone) {
  Table t(title, drivers.size(),
          {"Submission ID", "Submitted Time", "Worker", "State", "Cores", "Memory", "Resources",
           "Main Class"});
  for (const DriverRow& d : drivers)
    t.row({escaped(d.id.value), page_date(d.submitted, zone),
           d.worker.value.empty() ? "None" : escaped(d.worker.value), std::string(name_of(d.state)),
           std::to_string(d.cores), mebibytes(d.memory_mib), escaped(show_amounts(d.resources)),
           escaped(d.main_class)});
  return t.take();
}

/// A path of this page's own server, with parameters.
std::string own_link(const std::string& path, std::string_view text) {
  return "<a href=\"" + escaped(path) + "\">" + escaped(text) + "</a>";
}

std::string log_links(const std::string& path) {
  return own_link(path + "stdout", "stdout") + " " + own_link(path + "stderr", "stderr");
}

std::string executors_table(std::string_view title, const std::vector<WorkerExecutorRow>& rows) {
  Table t(title, rows.size(),
          {"ExecutorID", "State", "Cores", "Memory", "Resources", "Job Details", "Logs"});
  for (const WorkerExecutorRow& e : rows)
    t.row({std::to_string(e.id), std::string(name_of(e.state)), std::to_string(e.cores),
           mebibytes(e.memory_mib), escaped(show_resources(e.resources)),
           "ID: " + escaped(e.app.value) + "<br>Name: " + escaped(e.app_name) +
               "<br>User: " + escaped(e.user),
           log_links(log_path(e.app, e.id))});
  return t.take();
}

std::string worker_drivers_table(std::string_view title, const std::vector<DriverRow>& rows) {
  Table t(title, rows.size(),
          {"DriverID", "Main Class", "State", "Cores", "Memory", "Resources", "Logs"});
  for (const DriverRow& d : rows)
    t.row({escaped(d.id.value), escaped(d.main_class), std::string(name_of(d.state)),
           std::to_string(d.cores), mebibytes(d.memory_mib), escaped(show_amounts(d.resources)),
           log_links(log_path(d.id))});
  return t.take();
}

std::string counts(size_t running, size_t completed) {
  return std::to_string(running) + " Running, " + std::to_string(completed) + " Completed";
}

std::string summary(const ClusterStatus& s) {
  int64_t alive = 0, cores = 0, cores_used = 0, memory = 0, memory_used = 0;
  std::map<std::string, std::pair<size_t, size_t>> resources;  // used, all
  for (const WorkerRow& w : s.workers) {
    if (w.state != WorkerState::Alive) continue;
    ++alive;
    cores += w.cores, cores_used += w.cores_used;
    memory += w.memory_mib, memory_used += w.memory_used_mib;
    for (const auto& [name, addresses] : w.resources) resources[name].second += addresses.size();
    for (const auto& [name, addresses] : used_of(w)) resources[name].first += addresses.size();
  }
  std::string in_use;
  for (const auto& [name, n] : resources)
    in_use += (in_use.empty() ? "" : ", ") + std::to_string(n.first) + " / " +
              std::to_string(n.second) + " " + name;
  return "<ul>" + item("URL", escaped(s.url)) + item("Alive Workers", std::to_string(alive)) +
         item("Cores in use",
              std::to_string(cores) + " Total, " + std::to_string(cores_used) + " Used") +
         item("Memory in use", mebibytes(memory) + " Total, " + mebibytes(memory_used) + " Used") +
         (in_use.empty() ? "" : item("Resources in use", escaped(in_use))) +
         item("Applications", counts(s.active_apps.size(), s.completed_apps.size())) +
         item("Drivers", counts(s.active_drivers.size(), s.completed_drivers.size())) +
         item("Status", std::string(name_of(s.state))) + "</ul>";
}

}  // namespace

std::string log_path(const AppId& app, int32_t executor) {
  return "/logPage/?appId=" + app.value + "&executorId=" + std::to_string(executor) + "&logType=";
}

std::string log_path(const DriverId& driver) {
  return "/logPage/?driverId=" + driver.value + "&logType=";
}

std::string log_view_page(const LogView& view) {
  std::string body = "<p>" + own_link("/", "Back to Worker") + " &middot; " + escaped(view.range);
  if (!view.earlier.empty()) body += " &middot; " + own_link(view.earlier, "Earlier");
  if (!view.later.empty()) body += " &middot; " + own_link(view.later, "Later");
  return page(view.title, body + "</p><pre>" + escaped(view.text) + "</pre>");
}

std::string master_page(const ClusterStatus& s, const Zone& zone) {
  return page("Spark Master at " + s.url,
              summary(s) + workers_table(s) +
                  apps_table("Running Applications", s.active_apps, zone) +
                  drivers_table("Running Drivers", s.active_drivers, zone) +
                  apps_table("Completed Applications", s.completed_apps, zone) +
                  drivers_table("Completed Drivers", s.completed_drivers, zone));
}

std::string worker_page(const WorkerStatus& s) {
  std::string body =
      "<ul>" + item("ID", escaped(s.id.value)) + item("Master URL", escaped(s.master_url)) +
      item("Cores", std::to_string(s.cores) + " (" + std::to_string(s.cores_used) + " Used)") +
      item("Memory", mebibytes(s.memory_mib) + " (" + mebibytes(s.memory_used_mib) + " Used)") +
      (s.resources.empty()
           ? ""
           : item("Resources", escaped(show_resources(s.resources)) + " (" +
                                   escaped(show_resources(s.resources_used)) + " Used)")) +
      "</ul><p>" + link(s.master_web_ui_url, "Back to Master") + "</p>" +
      executors_table("Running Executors", s.executors);
  if (!s.drivers.empty()) body += worker_drivers_table("Running Drivers", s.drivers);
  if (!s.finished_executors.empty())
    body += executors_table("Finished Executors", s.finished_executors);
  if (!s.finished_drivers.empty())
    body += worker_drivers_table("Finished Drivers", s.finished_drivers);
  return page("Spark Worker at " + s.host + ":" + std::to_string(s.port), body);
}

}  // namespace tinderbox::core
