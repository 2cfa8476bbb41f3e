// Pools from XML.
#include "conf/sources/allocation_file.hpp"

#include <algorithm>
#include <pugixml.hpp>

#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

constexpr const char* kDefaultFile = "fairscheduler.xml";

/// All text inside a node.
struct Text : pugi::xml_tree_walker {
  std::string all;
  bool for_each(pugi::xml_node& node) override {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) all += node.value();
    return true;
  }
};

/// The text of all children of this name, joined, as Spark's XML library reads them.
std::string text_of(pugi::xml_node pool, const char* name) {
  Text text;
  for (pugi::xml_node child : pool.children(name)) child.traverse(text);
  return std::string(trimmed(text.all));
}

/// Reads each pool that the walk meets.
struct PoolReader : pugi::xml_tree_walker {
  std::string file;
  PoolSettings out;

  bool for_each(pugi::xml_node& node) override {
    if (std::string_view(node.name()) == "pool") read(node);
    return true;
  }
  void read(pugi::xml_node node) {
    PoolSpec pool;
    pool.name = node.attribute("name").value();
    read_mode(node, pool);
    pool.min_share = number(node, pool.name, "minShare", pool.min_share);
    pool.weight = number(node, pool.name, "weight", pool.weight);
    out.notes.push_back("Created pool: " + pool.name + ", " + show(pool));
    std::erase_if(out.pools, [&](const PoolSpec& p) { return p.name == pool.name; });
    out.pools.push_back(std::move(pool));
  }
  void read_mode(pugi::xml_node node, PoolSpec& pool) {
    const std::string text = text_of(node, "schedulingMode");
    if (const auto mode = parse_scheduling_mode(text))
      pool.mode = *mode;
    else
      out.warnings.push_back("Unsupported schedulingMode: " + text +
                             " found in Fair Scheduler configuration file: " + file +
                             ", using the default schedulingMode: " +
                             std::string(to_string(pool.mode)) + " for pool: " + pool.name);
  }
  int32_t number(pugi::xml_node node, const std::string& pool, const char* name, int32_t fallback) {
    const std::string text = text_of(node, name);
    if (const std::optional<int> value = parse_int(text)) return *value;
    out.warnings.push_back("Error while loading fair scheduler configuration from " + file + ": " +
                           name + " is blank or invalid: " + text + ", using the default " + name +
                           ": " + std::to_string(fallback) + " for pool: " + pool);
    return fallback;
  }
};

bool one_root(const pugi::xml_document& document) {
  const auto all = document.children();
  return std::count_if(all.begin(), all.end(),
                       [](const pugi::xml_node& n) { return n.type() == pugi::node_element; }) == 1;
}

/// Of the file that the configuration names: it has to be there.
std::string named_file(const std::string& name, const FileText& file) {
  if (file.kind == FileText::Kind::kRegular) return file.text;
  const std::string what = std::string(kSchedulerAllocationFile.spec.name) + ": " + name;
  if (file.kind == FileText::Kind::kMissing) throw Error(what + " does not exist");
  if (file.kind == FileText::Kind::kUnreadable) throw Error(what + ": " + file.error);
  throw Error(what + " is not a normal file");
}

PoolSettings read_named(const std::string& name,
                        const std::function<FileText(const std::string& path)>& read) {
  const std::optional<std::string> path = local_path(name);
  if (!path)
    throw Error(std::string(kSchedulerAllocationFile.spec.name) + ": " + name +
                " is not on this machine; name a local file");
  PoolSettings settings = parse_allocations(name, named_file(name, read(*path)));
  settings.notes.insert(settings.notes.begin(), "Creating Fair Scheduler pools from " + name);
  return settings;
}

/// Without a file everybody shares one pool, fairly.
PoolSettings only_default() {
  PoolSettings settings;
  settings.pools = {{std::string(kDefaultPool), SchedulingMode::kFair}};
  settings.notes = {"Fair scheduler configuration not found, created default pool: " +
                    settings.pools[0].name + ", " + show(settings.pools[0])};
  return settings;
}

}  // namespace

PoolSettings parse_allocations(std::string_view file, std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) {
    const auto at = xml.begin() + std::min<ptrdiff_t>(parsed.offset, std::ssize(xml));
    throw Error(std::string(file) + ", line " +
                std::to_string(1 + std::count(xml.begin(), at, '\n')) + ": " +
                parsed.description());
  }
  if (!one_root(document)) throw Error(std::string(file) + ": there must be one root element");
  PoolReader reader;
  reader.file = file;
  document.traverse(reader);
  return std::move(reader.out);
}

PoolSettings pool_settings(const Conf& conf, const Environment& environment,
                           const std::function<FileText(const std::string& path)>& read) {
  const std::string text = conf.get(kSchedulerMode);
  const std::optional<SchedulingMode> mode = parse_scheduling_mode(text);
  if (!mode)
    throw Error("Unsupported " + std::string(kSchedulerMode.spec.name) + ": " + text +
                "; use FIFO or FAIR");
  if (*mode == SchedulingMode::kFifo) return {};
  PoolSettings settings;
  const std::string found = default_file_path(environment, kDefaultFile);
  if (const auto named = conf.get(kSchedulerAllocationFile)) {
    settings = read_named(*named, read);
  } else if (const FileText file = found.empty() ? FileText{} : read(found);
             file.kind == FileText::Kind::kRegular) {
    settings = parse_allocations(found, file.text);
    settings.notes.insert(settings.notes.begin(),
                          "Creating Fair Scheduler pools from default file: " + found);
  } else {
    settings = only_default();
  }
  settings.mode = *mode;
  return settings;
}

}  // namespace tinderbox::conf
