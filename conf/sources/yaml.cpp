#include "conf/sources/yaml.hpp"

#include <absl/strings/match.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "conf/error.hpp"

namespace tinderbox::conf {
namespace {

using Json = nlohmann::json;

constexpr size_t kLargestText = 1 << 20;
constexpr size_t kMostValues = 100'000;

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// What a scalar without quotes means. Source: YAML 1.2, core schema.
Json plain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const std::string_view digits = std::string_view(text).substr(text[0] == '+' ? 1 : 0);
  if (auto n = whole_number<int64_t>(digits)) return *n;
  if (auto n = whole_number<uint64_t>(digits)) return *n;
  const bool numeric = digits.find_first_of("0123456789") != std::string_view::npos &&
                       digits.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  if (auto n = whole_number<double>(digits); numeric && n) return *n;
  return text;
}

class Converter {
 public:
  Json convert(const YAML::Node& node) {
    if (++values_ > kMostValues) throw Error("more than 100000 values");
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return node.Tag() == "?" || node.Tag().empty() ? plain(node.Scalar()) : Json(node.Scalar());
      case YAML::NodeType::Sequence:
        return sequence(node);
      case YAML::NodeType::Map:
        return mapping(node);
      default:
        return {};
    }
  }

 private:
  Json sequence(const YAML::Node& node) {
    Json all = Json::array();
    for (const YAML::Node& one : node) all.push_back(convert(one));
    return all;
  }
  Json mapping(const YAML::Node& node) {
    Json all = Json::object();
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) throw Error("a key that is no text");
      if (!all.emplace(pair.first.Scalar(), convert(pair.second)).second)
        throw Error("the key '" + pair.first.Scalar() + "' stands twice in line " +
                    std::to_string(pair.first.Mark().line + 1));
    }
    return all;
  }

  size_t values_ = 0;
};

/// Whether a reader of YAML 1.1, as kubectl is, may take the text for something else without
/// quotes.
bool needs_quotes(const std::string& text) {
  if (text.empty() || !plain(text).is_string()) return true;
  if (std::string_view("0123456789+-.").find(text[0]) != std::string_view::npos) return true;
  for (const char* word : {"y", "yes", "on", "n", "no", "off"})
    if (absl::EqualsIgnoreCase(text, word)) return true;
  return false;
}

void emit(YAML::Emitter& out, const Json& value);

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (text.find('\n') != std::string::npos && text.find_first_of("\t\r") == std::string::npos &&
      text.back() == '\n' && text.front() != ' ' && text.front() != '\n' && !text.ends_with("\n\n"))
    out << YAML::Literal << text;
  else if (text.find_first_of("\n\t\r") != std::string::npos || needs_quotes(text))
    out << YAML::DoubleQuoted << text;
  else
    out << text;
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key;
      emit_text(out, key);
      out << YAML::Value;
      emit(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    emit_text(out, value.get_ref<const std::string&>());
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

}  // namespace

nlohmann::json parse_yaml(std::string_view text) try {
  if (text.size() > kLargestText) throw Error("larger than 1 MiB");
  return Converter().convert(YAML::Load(std::string(text)));
} catch (const YAML::Exception& e) {
  throw Error(std::string(e.msg) +
              (e.mark.is_null() ? ""
                                : " (line " + std::to_string(e.mark.line + 1) + ", column " +
                                      std::to_string(e.mark.column + 1) + ")"));
}

std::string to_yaml(const nlohmann::json& value) {
  YAML::Emitter out;
  out.SetSeqFormat(YAML::Block);
  out.SetNullFormat(YAML::LowerNull);
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

}  // namespace tinderbox::conf
