// YAML text ↔ JSON values: pod templates, kubeconfigs, what --dry-run prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tinderbox::conf {

/// The first document of `text`, aliases expanded; plain scalars mean what YAML's core schema says.
/// JSON is YAML too. Bounds: 1 MiB, 100,000 values. Errors: conf::Error with line and column,
/// without a name for the text.
nlohmann::json parse_yaml(std::string_view text);
/// One document, keys sorted, without `---`: parse_yaml(to_yaml(v)) == v.
std::string to_yaml(const nlohmann::json& value);

}  // namespace tinderbox::conf
