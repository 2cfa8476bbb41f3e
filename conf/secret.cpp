// Redaction.
#include "conf/secret.hpp"

#include <regex>

#include "conf/conf.hpp"

namespace tinderbox::conf {
namespace {

constexpr size_t kLongestSearched = 16384;

/// Java's `(?i)` at the start is the one inline flag that Spark's own default needs.
std::regex compile(std::string pattern) {
  auto flags = std::regex::ECMAScript | std::regex::nosubs;
  if (pattern.starts_with("(?i)")) {
    pattern.erase(0, 4);
    flags |= std::regex::icase;
  }
  try {
    return std::regex(pattern, flags);
  } catch (const std::regex_error& error) {
    throw Error(std::string(kRedactionRegex.spec.name) +
                " should be a regular expression, but was " + pattern + ": " + error.what());
  }
}

bool matches(const std::regex& regex, std::string_view text) {
  return std::regex_search(text.begin(), text.end(), regex);
}

}  // namespace

std::string redact(const Conf& conf, std::string_view key, std::string_view value) {
  // The pattern itself names secrets without being one.
  if (key == kRedactionRegex.spec.name) return std::string(value);
  const KeySpec* known = find_key(key);
  if (known && known->type == Type::kSecret) return std::string(kRedacted);
  // The standard matcher recurses over its input: a value that long is hidden unread.
  if (value.size() > kLongestSearched) return std::string(kRedacted);
  const std::regex regex = compile(conf.get(kRedactionRegex));
  if (matches(regex, key) || matches(regex, value)) return std::string(kRedacted);
  return std::string(value);
}

}  // namespace tinderbox::conf
