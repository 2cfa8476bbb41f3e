// Objects as files: what the API server would be sent, as YAML.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conf/sources/yaml.hpp"
#include "tests/pch.hpp"

namespace tinderbox::core::kubernetes::test {

using Json = nlohmann::json;

/// Compares with tests/core/deploy/kubernetes/golden/NAME.yaml; with GOLDEN=write in the
/// environment it is written instead.
inline void check_golden(const std::string& name, const std::vector<Json>& objects) {
  std::string text;
  for (const Json& object : objects) text += (text.empty() ? "" : "---\n") + conf::to_yaml(object);
  const std::string path = "tests/core/deploy/kubernetes/golden/" + name + ".yaml";
  if (const char* mode = std::getenv("GOLDEN"); mode && std::string(mode) == "write")
    std::ofstream(path) << text;
  std::stringstream wanted;
  wanted << std::ifstream(path).rdbuf();
  INFO("GOLDEN=write build/tests/run writes " << path);
  CHECK(wanted.str() == text);
}

}  // namespace tinderbox::core::kubernetes::test
