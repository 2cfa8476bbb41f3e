// TOML tables → flat keys.
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <sstream>

#include "conf/sources/toml.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

/// One value as the text that the same key would have in a properties file.
std::string as_text(const std::string& name, const toml::node& node) {
  if (const auto* text = node.as_string()) return **text;
  if (const auto* flag = node.as_boolean()) return **flag ? "true" : "false";
  if (const auto* number = node.as_integer()) return std::to_string(**number);
  std::ostringstream out;
  if (const auto* real = node.as_floating_point())
    out << **real;
  else if (const auto* date = node.as_date())
    out << **date;
  else if (const auto* time = node.as_time())
    out << **time;
  else if (const auto* both = node.as_date_time())
    out << **both;
  else
    throw Error(name + " must be a plain value or a list of plain values");
  return out.str();
}

std::string as_list(const std::string& name, const toml::array& array) {
  std::string list;
  for (const toml::node& item : array) list += (list.empty() ? "" : ",") + as_text(name, item);
  return list;
}

void flatten(const std::string& prefix, const toml::table& table, Pairs& out) {
  for (const auto& [key, node] : table) {
    const std::string name = (prefix.empty() ? "" : prefix + ".") + std::string(key.str());
    if (const toml::table* inner = node.as_table())
      flatten(name, *inner, out);
    else if (const toml::array* array = node.as_array())
      out.emplace_back(name, as_list(name, *array));
    else
      out.emplace_back(name, trim_except_newlines(as_text(name, node)));
  }
}

}  // namespace

Pairs parse_toml(std::string_view text) {
  try {
    Pairs pairs;
    flatten({}, toml::parse(text), pairs);
    return pairs;
  } catch (const toml::parse_error& error) {
    std::ostringstream line;
    line << "line " << error.source().begin.line << ", column " << error.source().begin.column
         << ": " << error.description();
    if (error.description().find("redefine existing") != std::string_view::npos)
      line << "; write a key below another key's value in quotes, such as "
              "\"spark.speculation.interval\" beside spark.speculation";
    throw Error(line.str());
  }
}

}  // namespace tinderbox::conf
