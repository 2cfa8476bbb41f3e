// Misspelt keys.
#include "conf/suggest.hpp"

#include <algorithm>
#include <numeric>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "conf/known_keys.hpp"

namespace tinderbox::conf {
namespace {

/// Case does not count as a mistake of its own when looking for the key that was meant.
std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// How many edits a name of this length may be away: short names are near to everything.
int tolerance(size_t length) { return length < 14 ? 1 : length < 24 ? 2 : 3; }

bool in_family(std::string_view key) {
  return std::any_of(key_families().begin(), key_families().end(),
                     [&](std::string_view family) { return key.starts_with(family); });
}

constexpr std::string_view kResourceParts[] = {"amount", "discoveryScript", "vendor"};

/// `spark.worker.resource.gpu.amount` → `amount`; none: no key of a custom resource.
std::optional<std::string_view> resource_part(std::string_view key) {
  for (std::string_view family : {"spark.driver.resource.", "spark.executor.resource.",
                                  "spark.task.resource.", "spark.worker.resource."})
    if (key.starts_with(family) && key.find('.', family.size()) != key.npos)
      return key.substr(key.rfind('.') + 1);
  return {};
}

bool is_resource_part(std::string_view part) {
  return std::find(std::begin(kResourceParts), std::end(kResourceParts), part) !=
         std::end(kResourceParts);
}

/// The nearest of names that it looks at.
class Nearest {
 public:
  Nearest(std::string_view wanted, int most) : wanted_(folded(wanted)), distance_(most + 1) {}
  void consider(std::string_view name) {
    const size_t gap =
        name.size() > wanted_.size() ? name.size() - wanted_.size() : wanted_.size() - name.size();
    if (gap >= static_cast<size_t>(distance_)) return;
    const int distance = edit_distance(wanted_, folded(name));
    if (distance < distance_) distance_ = distance, best_ = name;
  }
  std::optional<std::string_view> best() const { return best_; }

 private:
  std::string wanted_;
  int distance_;
  std::optional<std::string_view> best_;
};

std::optional<std::string> nearest_part(std::string_view key, std::string_view part) {
  Nearest nearest(part, 2);
  for (std::string_view known : kResourceParts) nearest.consider(known);
  if (!nearest.best()) return {};
  return std::string(key.substr(0, key.size() - part.size())) + std::string(*nearest.best());
}

std::vector<std::string> segments(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : folded(name))
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// Too far away by letters, but of the same words: in another order (spark.max.cores), one left out
/// (tinderbox.launchAhead), the last one cut short (spark.executor.mem).
bool same_words(const std::vector<std::string>& wanted, std::string_view name) {
  const std::vector<std::string> known = segments(name);
  if (std::is_permutation(wanted.begin(), wanted.end(), known.begin(), known.end())) return true;
  if (known.size() == wanted.size())
    return std::equal(wanted.begin(), wanted.end() - 1, known.begin()) &&
           wanted.back().size() >= 3 && known.back().starts_with(wanted.back());
  if (known.size() != wanted.size() + 1 || wanted.size() < 2) return false;
  auto at = wanted.begin();
  for (const std::string& part : known)
    if (at != wanted.end() && *at == part) ++at;
  return at == wanted.end();
}

std::string unknown_key(const std::string& name, const Entry& entry,
                        const std::optional<std::string>& meant, std::string_view otherwise) {
  return "Unknown config property: " + name + " (" + show_origin(entry) + "); " +
         (meant ? "did you mean " + *meant + "?" : std::string(otherwise));
}

}  // namespace

bool is_known(std::string_view key) {
  if (find_key(key)) return true;
  const auto names = spark_names();
  if (std::find(names.begin(), names.end(), key) != names.end()) return true;
  const std::optional<std::string_view> part = resource_part(key);
  return part ? is_resource_part(*part) : in_family(key);
}

int edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> before(width), previous(width), row(width);
  std::iota(previous.begin(), previous.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[b.size()];
}

std::optional<std::string> nearest_key(std::string_view key) {
  if (is_known(key)) return {};
  if (const auto part = resource_part(key)) return nearest_part(key, *part);
  Nearest nearest(key, tolerance(key.size()));
  for (const KeySpec* known : catalogue()) nearest.consider(known->name);
  for (std::string_view name : spark_names()) nearest.consider(name);
  if (nearest.best()) return std::string(*nearest.best());
  const std::vector<std::string> wanted = segments(key);
  for (const KeySpec* known : catalogue())
    if (same_words(wanted, known->name)) return std::string(known->name);
  return {};
}

std::vector<std::string> misspelling_warnings(const Conf& conf) {
  std::vector<std::string> lines;
  for (const auto& [name, entry] : conf.all()) {
    if (is_known(name)) continue;
    const auto meant = nearest_key(name);
    if (meant || name.starts_with("tinderbox."))
      lines.push_back(unknown_key(name, entry, meant, "it has no effect"));
  }
  return lines;
}

void refuse_unknown_keys(const Conf& conf, std::string_view prefix) {
  for (const auto& [name, entry] : conf.all())
    if (name.starts_with(prefix) && !is_known(name))
      throw Error(unknown_key(name, entry, nearest_key(name), "Spark has no such key"));
}

}  // namespace tinderbox::conf
