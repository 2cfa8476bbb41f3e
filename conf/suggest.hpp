// The nearest known key to a misspelt one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinderbox::conf {

class Conf;

/// True for a key of the catalogue, of Spark, or of a family; of a custom resource only for the
/// parts that it has.
bool is_known(std::string_view key);

/// How many single-letter edits (insert, delete, replace, swap of neighbours) lie between them.
int edit_distance(std::string_view a, std::string_view b);

/// The known key that `key` was probably meant to be; none when it is known or nothing is near.
std::optional<std::string> nearest_key(std::string_view key);

/// One line for every unknown key of `conf` that begins with `tinderbox.`, or that is near a known
/// one: applications have `spark.` keys of their own, which must pass without noise.
std::vector<std::string> misspelling_warnings(const Conf& conf);

/// Errors: conf::Error that names the first unknown key of `conf` that begins with `prefix`, for
/// prefixes under which applications have no keys of their own.
void refuse_unknown_keys(const Conf& conf, std::string_view prefix);

}  // namespace tinderbox::conf
