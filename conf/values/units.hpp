// Text ↔ sizes, times, booleans and numbers, by Spark's rules.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/key.hpp"

namespace tinderbox::conf {

/// `text` without blanks and control characters at its ends.
std::string_view trimmed(std::string_view text);
/// The same, but CR and LF stay: the rule for values of --conf and of files.
std::string_view trim_except_newlines(std::string_view text);

/// `true` or `false` in any case, blanks around it allowed; nothing else.
std::optional<bool> parse_bool(std::string_view text);
/// A decimal number with an optional sign that fits, blanks around it allowed.
std::optional<int> parse_int(std::string_view text);
std::optional<int64_t> parse_int64(std::string_view text);
std::optional<double> parse_double(std::string_view text);
/// The parts of a comma list, trimmed, empty ones left out.
std::vector<std::string> parse_list(std::string_view text);

/// `512`, `64k`, `1g`, `2gb`: powers of 1024; without suffix the unit is `unit`. Unit: bytes.
/// Errors: conf::Error for a fraction, an unknown suffix, or what exceeds int64.
/// Source: Spark 4.3 JavaUtils.byteStringAs.
int64_t parse_size(std::string_view text, Unit unit);
/// `250us`, `100ms`, `3s`, `5m`, `5min`, `2h`, `1d`, also negative; without suffix in `unit`.
/// Errors: as parse_size. Source: Spark 4.3 JavaUtils.timeStringAs.
Duration parse_time(std::string_view text, Unit unit);

/// A size for people: `512.0 MiB`, `17.0 B`.
std::string show_size(int64_t bytes);

}  // namespace tinderbox::conf
