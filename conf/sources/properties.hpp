// Java properties text ↔ a flat list of keys.
#pragma once
#include <string>
#include <string_view>

#include "conf/conf.hpp"

namespace tinderbox::conf {

/// Java properties: `key value`, `key=value`, `key:value`, `#` and `!` comments, `\` at a line's
/// end joins the next line, `\uXXXX \t \n \r \f` escapes. Blanks at a value's ends are cut, CR and
/// LF (written as escapes) stay. Shape: in the file's order, a key may occur twice. Errors:
/// conf::Error for a malformed \uXXXX. Source: java.util.Properties.load, Spark 4.3 Utils.
Pairs parse_properties(std::string_view text);
/// The inverse: parse_properties(to_properties(p)) == p for values without blanks at their ends.
std::string to_properties(const Pairs& pairs);

}  // namespace tinderbox::conf
