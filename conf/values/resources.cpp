// URIs and patterns.
#include "conf/values/resources.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "conf/error.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[]{}") != std::string_view::npos;
}

/// `.` and `..` and doubled slashes taken out of an absolute path.
std::string normal(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  std::string out;
  for (std::string_view part : parts) (out += '/') += part;
  return out.empty() ? "/" : out;
}

/// Where the brace that `open` begins is closed; npos when it is not.
size_t closing_brace(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Writes out `a{b,c}d` as `abd` and `acd`, inner braces included.
void expand_braces(const std::string& text, std::vector<std::string>& out) {
  const size_t open = text.find('{');
  const size_t close = open == std::string::npos ? open : closing_brace(text, open);
  if (close == std::string::npos) {
    out.push_back(text);
    return;
  }
  int depth = 0;
  size_t start = open + 1;
  for (size_t i = open + 1; i <= close; ++i) {
    if (depth == 0 && (text[i] == ',' || i == close)) {
      expand_braces(text.substr(0, open) + text.substr(start, i - start) + text.substr(close + 1),
                    out);
      start = i + 1;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      --depth;
    }
  }
}

/// Directories that are named outright are not listed: one may pass through more than one may read.
void match(const std::string& found, std::string_view rest, bool wild_before,
           const ListDirectory& list, std::vector<std::string>& out) {
  if (rest.empty()) {
    out.push_back(found);
    return;
  }
  rest.remove_prefix(1);
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string part(rest.substr(0, slash));
  const std::string_view after = rest.substr(slash);
  const bool wild = has_wildcard(part);
  if (!wild && !wild_before && !after.empty()) {
    match(found + "/" + part, after, false, list, out);
    return;
  }
  for (const std::string& name : list(found.empty() ? "/" : found))
    if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0)
      match(found + "/" + name, after, wild_before || wild, list, out);
}

/// A file may have a pattern's name; what a pattern matched is not to be expanded again.
bool is_there(const std::string& path, const ListDirectory& list) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return false;
  const std::vector<std::string> names = list(slash == 0 ? "/" : path.substr(0, slash));
  return std::find(names.begin(), names.end(), path.substr(slash + 1)) != names.end();
}

/// Commas inside braces belong to the pattern.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trimmed(text.substr(start, i - start));
      if (!part.empty()) parts.emplace_back(part);
      start = i + 1;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && depth > 0) {
      --depth;
    }
  }
  return parts;
}

}  // namespace

std::string_view scheme_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view scheme = text.substr(0, colon);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.';
  };
  const bool starts_with_letter = (scheme[0] | 0x20) >= 'a' && (scheme[0] | 0x20) <= 'z';
  const bool valid = std::all_of(scheme.begin(), scheme.end(), allowed) && starts_with_letter;
  return valid ? scheme : std::string_view();
}

std::string resolve_uri(std::string_view text, std::string_view directory) {
  if (!scheme_of(text).empty()) return std::string(text);
  const size_t hash = text.find('#');
  const std::string path(text.substr(0, hash));
  const std::string absolute =
      normal(path.starts_with('/') ? path : std::string(directory) + "/" + path);
  return "file:" + absolute +
         (hash == std::string_view::npos ? "" : std::string(text.substr(hash)));
}

std::string_view without_this_host(std::string_view rest) {
  for (const std::string_view host : {"//", "//localhost"})
    if (rest.starts_with(host) && rest.substr(host.size()).starts_with('/'))
      return rest.substr(host.size());
  return rest;
}

std::optional<std::string> local_path(std::string_view uri) {
  const std::string_view scheme = scheme_of(uri);
  if (!scheme.empty() && scheme != "file" && scheme != "local") return {};
  std::string_view path = uri.substr(0, uri.find('#'));
  if (scheme.empty()) return std::string(path);
  return std::string(without_this_host(path.substr(scheme.size() + 1)));
}

std::vector<std::string> expand_glob(std::string_view pattern, const ListDirectory& list) {
  std::vector<std::string> patterns, found;
  expand_braces(std::string(pattern), patterns);
  for (const std::string& one : patterns) match("", one, false, list, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> resolve_list(std::string_view list, std::string_view directory,
                                      const ListDirectory& list_directory) {
  std::vector<std::string> out;
  for (const std::string& entry : split_list(list)) {
    const std::string uri = resolve_uri(entry, directory);
    const std::optional<std::string> path = local_path(uri);
    if (!path || uri.starts_with("local:") || !has_wildcard(*path) ||
        is_there(*path, list_directory)) {
      out.push_back(uri);
      continue;
    }
    const size_t hash = uri.find('#');
    const std::vector<std::string> found = expand_glob(*path, list_directory);
    if (found.size() > 1 && hash != std::string::npos)
      throw Error(uri + " resolves ambiguously to multiple files: " + found[0] + "," + found[1] +
                  (found.size() > 2 ? ",…" : "") + "; a #name needs exactly one");
    if (found.empty()) throw Error(uri + " matches no file");
    for (const std::string& one : found)
      out.push_back("file:" + one + (hash == std::string::npos ? "" : uri.substr(hash)));
  }
  return out;
}

}  // namespace tinderbox::conf
