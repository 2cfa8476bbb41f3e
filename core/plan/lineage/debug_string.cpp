#include "core/plan/lineage/debug_string.hpp"

#include "net/mutex.hpp"

namespace tinderbox::core {
namespace {

std::string described(const Node& node) {
  const std::string* label = node.label;
  return (label ? *label + " " : "") + node.name + "[" + std::to_string(node.id.value) + "] at " +
         node.call_site;
}

/// The bar below the middle of `(n)`.
std::string bar_below(const std::string& partitions) {
  const size_t left = (partitions.size() - 1) / 2;
  return std::string(left, ' ') + "|" + std::string(partitions.size() - left, ' ');
}

std::string partitions_of(const Node& node) {
  return "(" + std::to_string(node.num_partitions) + ")";
}

/// Without the bar at its end and what follows it.
std::string without_bar(const std::string& prefix) {
  const size_t end = prefix.find_last_not_of(' ');
  const bool bar = end != std::string::npos && prefix[end] == '|' && end + 1 < prefix.size();
  return bar ? prefix.substr(0, end) : prefix;
}

class Printer {
 public:
  Printer(const StorageLevel& level, const std::function<std::string(const Node&)>& held)
      : level_(" [" + (level.stored() ? describe(level) : "") + "]"), held_(held) {}

  std::string print(const Node& node) {
    const std::string partitions = partitions_of(node), bar = bar_below(partitions);
    self(node, partitions + " ", bar + " ");
    parents(node, bar);
    return std::move(text_);
  }

 private:
  void line(const std::string& words) { text_ += (text_.empty() ? "" : "\n") + words; }

  void self(const Node& node, const std::string& before, const std::string& below) {
    line(before + described(node) + level_);
    const std::string held = held_ ? held_(node) : "";
    if (!held.empty()) line(below + held);
  }

  /// Along the last parents in a loop: a lineage may be long.
  void parents(const Node& first, std::string prefix) {
    for (const Node* node = &first;;) {
      if (const Checkpoint* cut = node->checkpoint)
        return line(prefix + described(*cut->node) + level_);
      if (node->dependencies.empty()) return;
      const auto& all = node->dependencies;
      for (size_t i = 0; i + 1 < all.size(); ++i)
        parents(*parent_of(all[i]), begun(all[i], prefix, false));
      prefix = begun(all.back(), prefix, true);
      node = parent_of(all.back()).get();
    }
  }

  /// The line of the parent behind `d`; returns the prefix of its own parents.
  std::string begun(const Dependency& d, const std::string& prefix, bool last) {
    const Node& parent = *parent_of(d);
    if (std::holds_alternative<NarrowDependency>(d)) {
      self(parent, prefix, prefix);
      return prefix;
    }
    const std::string partitions = partitions_of(parent), before = without_bar(prefix);
    const std::string below = before + (last ? "  " : "| ") + bar_below(partitions);
    self(parent, before + "+-" + partitions + " ", below);
    return below;
  }

  const std::string level_;
  const std::function<std::string(const Node&)>& held_;
  std::string text_;
};

}  // namespace

std::string describe(const StorageLevel& level) {
  std::string text;
  if (level.disk) text += "Disk ";
  if (level.memory) text += level.off_heap ? "Memory (off heap) " : "Memory ";
  text += level.deserialized ? "Deserialized " : "Serialized ";
  return text + std::to_string(level.replication) + "x Replicated";
}

std::string debug_string(const Node& node, const std::function<std::string(const Node&)>& held) {
  net::Lock lock(lineage_mutex());
  return Printer(unpack_level(node.storage_bits), held).print(node);
}

}  // namespace tinderbox::core
