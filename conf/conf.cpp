// Layers, typed reading, origins.
#include "conf/conf.hpp"

#include "conf/keys.hpp"
#include "conf/sources/files.hpp"
#include "conf/values/codec.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view type, std::string_view value) {
  throw Error(std::string(name) + " should be " + std::string(type) + ", but was " +
              std::string(value));
}

template <class T>
T checked(std::optional<T> value, std::string_view name, std::string_view type,
          std::string_view text) {
  if (!value) refuse(name, type, text);
  return *value;
}

}  // namespace

std::string show_origin(const Entry& entry) {
  switch (entry.source) {
    case Source::kDefault:
      return "default";
    case Source::kEnvironment:
      return "environment " + entry.detail;
    case Source::kFile:
      return "file " + entry.detail;
    case Source::kConf:
      return "--conf";
    case Source::kOption:
      return entry.detail;
    case Source::kSet:
      return entry.detail.empty() ? "set" : entry.detail;
  }
  return {};
}

Conf Conf::of(const Pairs& pairs) {
  Entries entries;
  for (const auto& [name, value] : pairs) entries[name] = Entry{value, Source::kSet, {}};
  return Conf(std::move(entries));
}

std::optional<std::string> Conf::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return {};
  return found->second.value;
}

bool Conf::has(const KeySpec& key) const {
  return entries_.contains(key.name) || (!key.old_name.empty() && entries_.contains(key.old_name));
}

Pairs Conf::pairs() const { return with_prefix({}); }

Pairs Conf::with_prefix(std::string_view prefix) const {
  Pairs out;
  for (auto at = entries_.lower_bound(prefix);
       at != entries_.end() && at->first.starts_with(prefix); ++at)
    out.emplace_back(at->first.substr(prefix.size()), at->second.value);
  return out;
}

Conf Conf::with(std::string_view name, std::string_view value, Source source,
                std::string_view detail) const {
  Conf copy = *this;
  copy.entries_[std::string(name)] = Entry{std::string(value), source, std::string(detail)};
  return copy;
}

Conf Conf::without(std::string_view name) const {
  Conf copy = *this;
  if (const auto found = copy.entries_.find(name); found != copy.entries_.end())
    copy.entries_.erase(found);
  return copy;
}

std::optional<Conf::Found> Conf::resolve(const KeySpec& key) const {
  for (std::string_view name : {key.name, key.old_name})
    if (const auto found = entries_.find(name); !name.empty() && found != entries_.end())
      return Found{found->first, found->second.value, key.unit};
  if (key.fallback) return resolve(*key.fallback);
  if (key.default_text) return Found{key.name, *key.default_text, key.unit};
  return {};
}

void Conf::check() const {
  if (get(kAuthenticate))
    throw Error(
        "spark.authenticate=true: connections cannot be authenticated yet; remove the "
        "setting and keep the ports on a network that you trust");
  for (const auto& [name, entry] : entries_) {
    const KeySpec* key = find_key(name);
    if (!key) continue;
    const bool variable = entry.source == Source::kEnvironment;  // what its user knows it by
    const Found found{variable ? std::string_view(entry.detail) : name, entry.value, key->unit};
    switch (key->type) {
      case Type::kBool:
        convert<bool>(found);
        break;
      case Type::kInt:
        convert<int>(found);
        break;
      case Type::kDouble:
        convert<double>(found);
        break;
      case Type::kLong:
      case Type::kSize:
        convert<int64_t>(found);
        break;
      case Type::kTime:
        convert<Duration>(found);
        break;
      case Type::kString:
      case Type::kList:
      case Type::kSecret:
        break;
    }
  }
  check_ranges();
}

void Conf::check_ranges() const {
  const auto must = [&](const KeySpec& key, bool is, const char* be) {
    if (!is)
      throw Error(std::string(key.name) + " must be " + be + ", but is " +
                  std::string(resolve(key)->text));
  };
  const auto positive = [&](const auto& key) { must(key.spec, get(key) > 0, "positive"); };
  must(kWorkerTimeout.spec, get(kWorkerTimeout) > Duration{0}, "positive");
  must(kExecutorHeartbeatInterval.spec, get(kExecutorHeartbeatInterval) > Duration{0}, "positive");
  for (const Key<int>* key : {&kDeployDefaultCores, &kTaskMaxFailures, &kReducerMaxReqsInFlight,
                              &kReducerMaxBlocksPerAddress})
    positive(*key);
  for (const Key<int64_t>* key :
       {&kRpcMessageMaxSize, &kReducerMaxSizeInFlight, &kBroadcastBlockSize})
    positive(*key);
  must(kRpcMessageMaxSize.spec, get(kRpcMessageMaxSize) <= int64_t{2047} << 20, "at most 2047 MiB");
  must(kCompressionCodec.spec, parse_codec(get(kCompressionCodec)).has_value(),
       "lz4 or zstd, the codecs that are here");
  must(kDefaultParallelism.spec, get(kDefaultParallelism).value_or(1) > 0, "positive");
  must(kTaskLaunchAhead.spec, get(kTaskLaunchAhead) >= 0, "at least 0");
  const double share = get(kMemoryFraction);
  must(kMemoryFraction.spec, share > 0 && share <= 1, "above 0 and at most 1");
  const double of_blocks = get(kMemoryStorageFraction);
  must(kMemoryStorageFraction.spec, of_blocks >= 0 && of_blocks < 1, "at least 0 and below 1");
}

template <>
bool Conf::convert<bool>(const Found& f) {
  return checked(parse_bool(f.text), f.name, "boolean", f.text);
}
template <>
int Conf::convert<int>(const Found& f) {
  return checked(parse_int(f.text), f.name, "int", f.text);
}
template <>
int64_t Conf::convert<int64_t>(const Found& f) {
  if (f.unit == Unit::kNone) return checked(parse_int64(f.text), f.name, "long", f.text);
  try {
    return parse_size(f.text, f.unit);
  } catch (const Error& error) {
    refuse(f.name, "a size", std::string(f.text) + ": " + error.what());
  }
}
template <>
double Conf::convert<double>(const Found& f) {
  return checked(parse_double(f.text), f.name, "double", f.text);
}
template <>
std::string Conf::convert<std::string>(const Found& f) {
  return std::string(f.text);
}
template <>
std::vector<std::string> Conf::convert<std::vector<std::string>>(const Found& f) {
  return parse_list(f.text);
}
template <>
Secret Conf::convert<Secret>(const Found& f) {
  return Secret(std::string(f.text));
}
template <>
Duration Conf::convert<Duration>(const Found& f) {
  try {
    return parse_time(f.text, f.unit);
  } catch (const Error& error) {
    refuse(f.name, "a time", std::string(f.text) + ": " + error.what());
  }
}

Layers& Layers::add(Source source, std::string_view name, std::string_view value,
                    std::string_view detail) {
  Entry& entry =
      entries_.try_emplace(std::string(name), Entry{{}, Source::kDefault, {}}).first->second;
  if (source >= entry.source) entry = Entry{std::string(value), source, std::string(detail)};
  return *this;
}

bool Layers::ours(std::string_view name) {
  if (name.starts_with("spark.") || name.starts_with("tinderbox.")) return true;
  warnings_.push_back("Ignoring non-Spark config property: " + std::string(name));
  return false;
}

Layers& Layers::add_file(std::string_view path, std::string_view text) {
  for (const auto& [name, value] : parse_file(path, text))
    if (ours(name)) add(Source::kFile, name, value, path);
  return *this;
}

Layers& Layers::add_conf(std::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos)
    throw Error("Invalid argument to --conf: " + std::string(argument));
  const std::string_view name = argument.substr(0, equals);
  if (ours(name))
    add(Source::kConf, name, trim_except_newlines(argument.substr(equals + 1)), "--conf");
  return *this;
}

}  // namespace tinderbox::conf
