// A string that cannot be printed, and the rule by which other values are hidden.
#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace tinderbox::conf {

class Conf;

/// A password, token or key. It has no conversion to text: whoever needs it says reveal().
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  std::string value_;
};
std::ostream& operator<<(std::ostream&, const Secret&) = delete;

/// What is shown in place of a hidden value.
inline constexpr std::string_view kRedacted = "*********(redacted)";

/// The value as it may be shown: kRedacted when the key or the value matches
/// `spark.redaction.regex` of `conf`, or when the key's type is Secret.
/// Errors: conf::Error when that regex is malformed.
std::string redact(const Conf& conf, std::string_view key, std::string_view value);

/// For log lines and printed commands: in each word `key=value` a key that matches
/// `spark.redaction.regex` has its value hidden. Errors: as redact. Thread: any.
/// Source: Spark Utils.redactCommandLineArgs.
std::function<std::string(std::string_view)> text_redaction(const Conf& conf);

}  // namespace tinderbox::conf
