// Files and URLs that a submission names: absolute URIs, patterns expanded.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinderbox::conf {

/// The names in a directory, any order; empty when there is no such directory.
using ListDirectory = std::function<std::vector<std::string>(const std::string& directory)>;

/// `http` of `http://h/x`; empty when `text` is a plain path.
std::string_view scheme_of(std::string_view text);

/// A text with a scheme as it is, a path as `file:/absolute/path`; a `#fragment` stays.
/// Source: Spark 4.3 Utils.resolveURI.
std::string resolve_uri(std::string_view text, std::string_view directory);

/// What follows the colon of a `file:` URI, without `//` or `//localhost` in front of its path.
/// Source: RFC 8089 section 2.
std::string_view without_this_host(std::string_view rest);
/// The path of a `file:` or `local:` URI or of a plain path; none for every other scheme.
std::optional<std::string> local_path(std::string_view uri);

/// Everything that matches a pattern of `* ? [] {}`, sorted; `pattern` is an absolute path.
std::vector<std::string> expand_glob(std::string_view pattern, const ListDirectory& list);

/// Each entry of a comma list as an absolute URI, patterns expanded where no file has that very
/// name: a list that it made stays as it is.
/// Errors: conf::Error `… resolves ambiguously to multiple files` for a pattern with a fragment.
/// Source: Spark 4.3 DependencyUtils.resolveGlobPaths.
std::vector<std::string> resolve_list(std::string_view list, std::string_view directory,
                                      const ListDirectory& list_directory);

}  // namespace tinderbox::conf
