// Which environment variables are settings, of which key, and for whom.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "conf/conf.hpp"
#include "conf/keys.hpp"

namespace tinderbox::conf {

using Environment = std::map<std::string, std::string, std::less<>>;

/// `NAME=value` strings up to a null pointer, as in `environ`.
Environment environment_of(const char* const* variables);

/// Who reads a variable. kNode: every process of a machine, for itself only.
enum class Scope { kSubmit, kMaster, kWorker, kNode };

struct Variable {
  std::string_view name;
  const KeySpec* key;
  Scope scope;
  bool beats_files = false;  // Spark lets these win over the configuration
};

/// The whole table, for the layers and for the page.
std::span<const Variable> environment_variables();

/// Adds what `scope` reads. Empty variables count as not set.
void add_environment(Layers& layers, const Environment& environment, Scope scope);

/// `conf` without what came from kNode variables: such values must not travel to other machines.
Conf without_node_values(const Conf& conf);

/// `$SPARK_CONF_DIR/<name>`, else `$SPARK_HOME/conf/<name>`; empty when neither is set.
std::string default_file_path(const Environment& environment, std::string_view name);
/// The same of `spark-defaults.conf`.
std::string default_properties_path(const Environment& environment);

}  // namespace tinderbox::conf
