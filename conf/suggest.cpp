// Misspelt keys.
#include "conf/suggest.hpp"

#include <algorithm>
#include <numeric>

#include "conf/conf.hpp"
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

}  // namespace

bool is_known(std::string_view key) {
  if (find_key(key)) return true;
  const auto names = spark_names();
  if (std::find(names.begin(), names.end(), key) != names.end()) return true;
  return std::any_of(key_families().begin(), key_families().end(),
                     [&](std::string_view family) { return key.starts_with(family); });
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

std::optional<std::string_view> nearest_key(std::string_view key) {
  if (is_known(key)) return {};
  const std::string wanted = folded(key);
  std::optional<std::string_view> best;
  int best_distance = tolerance(key.size()) + 1;
  const auto consider = [&](std::string_view name) {
    const size_t gap =
        name.size() > wanted.size() ? name.size() - wanted.size() : wanted.size() - name.size();
    if (gap >= static_cast<size_t>(best_distance)) return;
    const int distance = edit_distance(wanted, folded(name));
    if (distance < best_distance) best_distance = distance, best = name;
  };
  for (const KeySpec* known : catalogue()) consider(known->name);
  for (std::string_view name : spark_names()) consider(name);
  return best;
}

std::vector<std::string> misspelling_warnings(const Conf& conf) {
  std::vector<std::string> lines;
  for (const auto& [name, entry] : conf.all()) {
    const bool ours = name.starts_with("tinderbox.");
    if (is_known(name)) continue;
    if (const auto meant = nearest_key(name))
      lines.push_back("Unknown config property: " + name + " (" + show_origin(entry) +
                      "); did you mean " + std::string(*meant) + "?");
    else if (ours)
      lines.push_back("Unknown config property: " + name + " (" + show_origin(entry) +
                      "); it has no effect");
  }
  return lines;
}

}  // namespace tinderbox::conf
