// TOML → a flat list of keys.
#pragma once
#include <string_view>

#include "conf/conf.hpp"

namespace tinderbox::conf {

/// TOML whose tables flatten to dotted keys; an array is a comma list. A key that is also the
/// beginning of others is written in quotes: `"spark.speculation" = true`.
/// Errors: conf::Error with line and column.
Pairs parse_toml(std::string_view text);

}  // namespace tinderbox::conf
