#include "core/api/runtime/input_paths.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "conf/values/resources.hpp"
#include "core/api/runtime/runtime.hpp"
#include "core/plan/or_throw.hpp"
#include "net/files/byte_source.hpp"
#include "net/http/url.hpp"

namespace tinderbox::core {
namespace {

constexpr double kSlop = 1.1;

bool hidden(const std::string& name) { return name.starts_with('.') || name.starts_with('_'); }
bool is_glob(std::string_view text) { return text.find_first_of("*?[{") != std::string_view::npos; }

/// Commas inside braces belong to a glob.
std::vector<std::string> split_list(const std::string& paths) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : paths) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Where the next braces from `from` on open and close, those inside them skipped.
std::optional<std::pair<size_t, size_t>> find_braces(const std::string& pattern, size_t from) {
  int depth = 0;
  size_t open = 0;
  for (size_t at = from; at < pattern.size(); ++at) {
    if (pattern[at] == '\\')
      ++at;
    else if (pattern[at] == '{' && depth++ == 0)
      open = at;
    else if (pattern[at] == '}' && depth > 0 && --depth == 0)
      return std::pair(open, at);
  }
  return {};
}

/// a{b,c}d → abd, acd; also a{b,{c,d}}. If `across` only braces with a directory in them.
std::vector<std::string> expand_braces(const std::string& pattern, bool across) {
  size_t from = 0;
  while (const auto braces = find_braces(pattern, from)) {
    const auto [open, close] = *braces;
    const std::string inside = pattern.substr(open + 1, close - open - 1);
    from = close + 1;
    if (across && inside.find('/') == std::string::npos) continue;
    std::vector<std::string> all;
    for (const auto& choice : split_list(inside))
      for (auto& each :
           expand_braces(pattern.substr(0, open) + choice + pattern.substr(close + 1), across))
        all.push_back(std::move(each));
    return all;
  }
  return {pattern};
}

/// Of a directory's entry. What several of the braces' choices match is there once.
bool fits(const std::vector<std::string>& choices, const std::string& name) {
  return std::any_of(choices.begin(), choices.end(), [&](const auto& choice) {
    return fnmatch(choice.c_str(), name.c_str(), 0) == 0;
  });
}

/// scheme://bucket before a key; empty: a path of this machine.
std::string root_of(const std::string& path) {
  if (net::place_of(path) == net::Place::Disk) return "";
  return path.substr(0, path.find('/', path.find("://") + 3));
}

/// What a pattern matches.
struct Match {
  std::string path;
  std::optional<net::FileStat> stat;  // if a directory told it
};

/// True also of what cannot be looked at.
bool may_be_directory(net::Files& files, const std::string& path) {
  const auto stat = files.stat(path);
  return !stat || (*stat && (*stat)->directory);
}

/// One directory level after the other. What is no directory of this machine holds nothing. Of
/// what is matched in the end, and not on the way there, none is hidden. Source: Hadoop's Globber.
Result<std::vector<Match>> match(net::Files& files, const std::string& pattern) {
  const std::string root = root_of(pattern);
  const bool disk = root.empty();
  std::vector<Match> found{{root, {}}};
  for (const auto& part : std::filesystem::path(pattern.substr(root.size())).relative_path()) {
    std::vector<Match> next;
    const auto choices = expand_braces(part.native(), false);
    for (const auto& [base, stat] : found) {
      if (!is_glob(part.native())) {
        next.push_back({base + "/" + part.native(), {}});
        continue;
      }
      const std::string directory = base.empty() ? "/" : base;
      const auto entries = files.list(directory);
      if (!entries && (!disk || may_be_directory(files, directory))) return entries.error();
      if (!entries) continue;
      for (const auto& entry : *entries)
        if (fits(choices, entry.name)) next.push_back({base + "/" + entry.name, entry.stat});
    }
    found = std::move(next);
  }
  std::erase_if(found, [](const Match& m) { return hidden(m.path.substr(m.path.rfind('/') + 1)); });
  return found;
}

/// Collects what a list of paths names.
class InputList {
 public:
  InputList(net::Files& files, bool recursive) : files_(files), recursive_(recursive) {}
  std::vector<InputFile>& all() { return all_; }

  Result<bool> add_named(const std::string& named) {
    const auto path = file_path(named);
    if (!path) return path.error();
    store_opened_ = false;
    if (net::place_of(*path) == net::Place::Web) return add_url(*path);
    if (is_glob(*path)) return add_pattern(*path);
    const auto stat = files_.stat(*path);
    if (!stat) return Error{kUnreadable + stat.error().message};
    if (!*stat) return Error{"Input path does not exist: " + shown_path(*path) + advice(*path)};
    return add(*path, **stat);
  }

 private:
  static inline const std::string kUnreadable = "Input path cannot be read: ";
  static std::string advice(const std::string& path) {
    return net::place_of(path) == net::Place::Disk
               ? "; check the path, driver and executors must see the same files"
               : "; check bucket and key";
  }

  /// A query may have any character.
  Result<bool> add_url(const std::string& url) {
    const std::string path = url.substr(root_of(url).size());
    if (path.substr(0, path.find('?')).find_first_of("*[{") != std::string::npos)
      return Error{"Input path " + shown_path(url) +
                   " has a pattern, but web servers cannot be searched; name each file, with %2A, "
                   "%5B or %7B for a character that is meant"};
    const auto stat = files_.stat(url);
    if (!stat) return Error{kUnreadable + stat.error().message};
    if (!*stat)
      return Error{"Input path does not exist: " + shown_path(url) +
                   "; the server answered status 404"};
    return add(url, **stat);
  }

  Result<bool> add_pattern(const std::string& path) {
    bool any = false;
    for (const auto& pattern : expand_braces(path, true)) {
      const auto matches = match(files_, pattern);
      if (!matches) return Error{kUnreadable + matches.error().message};
      for (const auto& [found, known] : *matches) {
        const auto stat = known ? Result<std::optional<net::FileStat>>(known) : files_.stat(found);
        if (!stat) return Error{kUnreadable + stat.error().message};
        if (!*stat) continue;
        any = true;
        if (auto added = add(found, **stat); !added) return added;
      }
    }
    if (any) return true;
    return Error{"Input Pattern " + shown_path(path) + " matches 0 files; check the pattern"};
  }

  Result<bool> add(const std::string& path, const net::FileStat& stat) {
    if (!stat.directory) return add_file(path, stat.size);
    const auto entries = files_.list(path);
    if (!entries)
      return Error{kUnreadable + entries.error().message +
                   "; check the permissions of the directory"};
    for (const auto& entry : *entries) {
      if (hidden(entry.name)) continue;
      const std::string inner = path + "/" + entry.name;
      if (entry.stat.directory && !recursive_)
        return Error{"Input path is not a file: " + shown_path(inner) +
                     "; directories in it are read with --conf " +
                     std::string(conf::kInputDirRecursive.spec.name) + "=true, or by a pattern"};
      if (auto added = add(inner, entry.stat); !added) return added;
    }
    return true;
  }

  Result<bool> add_file(const std::string& path, int64_t size) {
    // Tasks would try in vain, again and again. A pipe and a device can't be opened either.
    if (const auto opened = opens(path); !opened)
      return Error{kUnreadable + opened.error().message +
                   "; give the user of driver and executors a regular file to read"};
    all_.push_back({path, size});
    return true;
  }

  /// Of a store one object stands for those beside it: each would cost a round trip. Of a web
  /// server stat() has read the first byte.
  Result<bool> opens(const std::string& path) {
    const net::Place place = net::place_of(path);
    if (place == net::Place::Web || (place == net::Place::Store && store_opened_)) return true;
    store_opened_ = place == net::Place::Store;
    const auto opened = files_.open(path);
    return opened ? Result<bool>(true) : opened.error();
  }

  net::Files& files_;
  const bool recursive_;
  std::vector<InputFile> all_;
  bool store_opened_ = false;
};

Result<std::string> store_path(const std::string& named) {
  const std::string root = root_of(named);
  if (root.ends_with("//"))
    return Error{"Path " + named + " names no bucket: it must be s3a://BUCKET/KEY"};
  std::string key =
      std::filesystem::path("/" + named.substr(root.size())).lexically_normal().native();
  while (key.ends_with('/')) key.pop_back();
  return root + key;
}

}  // namespace

Result<std::string> file_path(const std::string& named) {
  const net::Place place = net::place_of(named);
  if (place == net::Place::Store) return store_path(named);
  if (place == net::Place::Web) return named;
  std::string local = named;
  const size_t colon = named.find(':');
  if (colon != std::string::npos && named.find('/') > colon) {
    if (named.substr(0, colon) != "file") {
      return Error{"No FileSystem for scheme \"" + named.substr(0, colon) + "\" of " + named +
                   ": only file:, s3a:, s3:, http: and https: are there"};
    }
    local = conf::without_this_host(std::string_view(named).substr(colon + 1));
    while (local.starts_with("//")) local.erase(0, 1);
  }
  if (local.empty())
    return Error{"Can not create a Path from an empty string: name a file or a directory"};
  std::string whole = std::filesystem::absolute(local).lexically_normal().native();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::string url_of(const std::string& path) {
  return net::place_of(path) == net::Place::Disk ? "file:" + path : path;
}

std::string shown_path(const std::string& path) {
  return net::place_of(path) == net::Place::Web ? net::shown_url(path) : url_of(path);
}

Result<std::vector<InputFile>> list_inputs(net::Files& files, const std::string& paths,
                                           Listing listing) {
  InputList list(files, listing.recursive);
  for (const auto& named : split_list(paths)) {
    if (auto added = list.add_named(named); !added) return added.error();
  }
  for (const auto& file : list.all())
    if (!listing.as_they_are && !net::unreadable_suffix(file.path).empty())
      return Error{"Input path is compressed: " + shown_path(file.path) +
                   "; uncompress it first, of compressed "
                   "files only .gz, .zst and .deflate are read"};
  return std::move(list.all());
}

std::vector<InputFile> inputs_of(Runtime& runtime, const std::string& paths, bool as_they_are) {
  return or_throw(list_inputs(
      runtime.files(), paths,
      {.as_they_are = as_they_are, .recursive = runtime.conf().get(conf::kInputDirRecursive)}));
}

std::vector<InputSplit> split_inputs(const std::vector<InputFile>& files, int32_t min_partitions) {
  int64_t total = 0;
  for (const auto& file : files) total += std::max<int64_t>(file.size, 0);
  const int64_t goal = total / std::max(min_partitions, 1);
  const int64_t size = std::max<int64_t>(1, std::min(goal, kMaxSplit));
  std::vector<InputSplit> splits;
  for (const auto& file : files) {
    if (file.size < 0 || net::compression_of(file.path) != net::Compression::None) {
      splits.push_back({file.path, 0, kToTheEnd});
      continue;
    }
    int64_t left = file.size;
    for (; static_cast<double>(left) / static_cast<double>(size) > kSlop; left -= size) {
      splits.push_back({file.path, file.size - left, size});
    }
    if (left > 0 || file.size == 0) splits.push_back({file.path, file.size - left, left});
  }
  return splits;
}

std::vector<InputSplit> splits_of(Runtime& runtime, const std::string& paths,
                                  int32_t min_partitions, bool as_they_are) {
  std::vector<InputFile> files = inputs_of(runtime, paths, as_they_are);
  if (runtime.conf().get(conf::kHadoopRddIgnoreEmptySplits))
    std::erase_if(files, [](const InputFile& file) { return file.size == 0; });
  return split_inputs(files, min_partitions);
}

}  // namespace tinderbox::core
