// The configuration of one process: immutable layers, typed reading, and where each value is from.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/error.hpp"
#include "conf/key.hpp"

namespace tinderbox::conf {

/// Where a value came from, lowest first.
enum class Source : uint8_t { kDefault, kEnvironment, kFile, kConf, kOption, kSet };

struct Entry {
  std::string value;
  Source source = Source::kSet;
  std::string detail;  // the option, file or variable
  bool operator==(const Entry&) const = default;
};
using Entries = std::map<std::string, Entry, std::less<>>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// `--executor-memory`, `file x.conf`, `environment SPARK_EXECUTOR_MEMORY`, `default`.
std::string show_origin(const Entry& entry);

/// Explicitly set values over the catalogue's defaults. A value type; never changes once built.
class Conf {
 public:
  Conf() = default;
  explicit Conf(Entries entries) : entries_(std::move(entries)) {}
  static Conf of(const Pairs& pairs);

  /// The value of `key`: set under its name, under its older name, its fallback's, its default.
  /// Errors: conf::Error `K should be int, but was V` and the like.
  template <class T>
  T get(const Key<T>& key) const {
    const std::optional<Found> found = resolve(key.spec);
    if constexpr (Key<T>::kOptional) {
      if (!found) return std::nullopt;
      return convert<typename T::value_type>(*found);
    } else {
      return convert<T>(*found);
    }
  }
  /// The value set under exactly this name, without defaults.
  std::optional<std::string> find(std::string_view name) const;
  /// True when the key itself or its older name is set (fallback and default don't count).
  bool has(const KeySpec& key) const;
  template <class T>
  bool has(const Key<T>& key) const {
    return has(key.spec);
  }
  /// All values that were set, by name.
  const Entries& all() const { return entries_; }
  /// The same without origins, as sent to another process.
  Pairs pairs() const;
  /// All that starts with `prefix`, the prefix cut off (`spark.executorEnv.`).
  Pairs with_prefix(std::string_view prefix) const;

  /// A copy in which `name` has this value.
  Conf with(std::string_view name, std::string_view value, Source source = Source::kSet,
            std::string_view detail = {}) const;
  template <class T>
  Conf with(const Key<T>& key, std::string_view value) const {
    return with(key.spec.name, value);
  }
  Conf without(std::string_view name) const;
  /// Converts every value of the catalogue's keys once, so that bad ones are found at start, and
  /// those that nothing could run with. Errors: as get().
  void check() const;

 private:
  void check_ranges() const;
  struct Found {
    std::string_view name;
    std::string_view text;
    Unit unit;
  };
  std::optional<Found> resolve(const KeySpec& key) const;
  template <class T>
  static T convert(const Found& found);

  Entries entries_;
};

template <>
bool Conf::convert<bool>(const Found&);
template <>
int Conf::convert<int>(const Found&);
template <>
int64_t Conf::convert<int64_t>(const Found&);
template <>
double Conf::convert<double>(const Found&);
template <>
std::string Conf::convert<std::string>(const Found&);
template <>
std::vector<std::string> Conf::convert<std::vector<std::string>>(const Found&);
template <>
Secret Conf::convert<Secret>(const Found&);
template <>
Duration Conf::convert<Duration>(const Found&);

/// Collects values in any order; a higher source beats a lower one, in one source the last wins.
class Layers {
 public:
  Layers& add(Source source, std::string_view name, std::string_view value,
              std::string_view detail = {});
  /// Every pair of a properties or TOML file. Keys that are not ours are left out and named in
  /// warnings(). Errors: conf::Error when `text` is malformed.
  Layers& add_file(std::string_view path, std::string_view text);
  /// `K=V` of --conf. Errors: conf::Error without `=`.
  Layers& add_conf(std::string_view argument);
  Conf build() const { return Conf(entries_); }
  /// One line each, without "Warning: ".
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool ours(std::string_view name);
  Entries entries_;
  std::vector<std::string> warnings_;
};

}  // namespace tinderbox::conf
