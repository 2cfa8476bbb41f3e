// Redaction.
#include "conf/secret.hpp"

#include <regex>

#include "conf/conf.hpp"
#include "conf/keys.hpp"

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

std::function<std::string(std::string_view)> text_redaction(const Conf& conf) {
  return [regex = compile(conf.get(kRedactionRegex))](std::string_view text) {
    std::string out;
    for (size_t equals; (equals = text.find('=')) != text.npos;) {
      constexpr std::string_view kAround = " \t\n,;&?\"'";
      size_t begin = text.find_last_of(kAround, equals);
      begin = begin == text.npos ? 0 : begin + 1;
      const size_t end = std::min(text.find_first_of(kAround, equals), text.size());
      const std::string_view key = text.substr(begin, equals - begin);
      out += text.substr(0, equals + 1);
      if (key.size() <= kLongestSearched && matches(regex, key))
        out += kRedacted;
      else
        out += text.substr(equals + 1, end - equals - 1);
      text.remove_prefix(end);
    }
    return out.append(text);
  };
}

}  // namespace tinderbox::conf
