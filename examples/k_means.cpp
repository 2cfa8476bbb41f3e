// k_means POINTS K: the centres of K clusters; POINTS has a line of numbers a point. Begins with
// the first K points and goes on until no centre moves (Lloyd's algorithm).
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

using Point = std::vector<double>;
using Sum = std::pair<Point, int64_t>;  // of points, and how many
constexpr int kMostRounds = 100;
constexpr double kStandsStill = 1e-9;

static Point parse_point(std::string_view line) {
  Point point;
  tinderbox::words(line, [&](std::string_view word) {
    double x = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), x);
    if (error != std::errc() || end != word.data() + word.size())
      throw std::invalid_argument("'" + std::string(line) + "' is no point: numbers are expected");
    point.push_back(x);
    return true;
  });
  return point;
}

static double squared_distance(const Point& a, const Point& b) {
  if (a.size() != b.size()) throw std::invalid_argument("points of different lengths");
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

static int32_t nearest(const std::vector<Point>& centres, const Point& point) {
  size_t best = 0;
  for (size_t i = 1; i < centres.size(); ++i)
    if (squared_distance(centres[i], point) < squared_distance(centres[best], point)) best = i;
  return static_cast<int32_t>(best);
}

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 2) throw std::invalid_argument("k_means takes POINTS K");
  const auto points =
      context.text_file(args[0]).map([](std::string_view line) { return parse_point(line); });
  points.cache();
  std::vector<Point> centres =
      points.take(tinderbox::positive_argument(args[1], "k_means takes POINTS K"));
  if (centres.empty()) throw std::invalid_argument(args[0] + " has no points");
  for (int round = 0; round < kMostRounds; ++round) {
    auto near =
        tinderbox::capture(context.broadcast(centres), [](const auto& centres, const Point& point) {
          return std::pair(nearest(*centres, point), Sum(point, 1));
        });
    auto add = [](Sum a, const Sum& b) {
      for (size_t i = 0; i < a.first.size(); ++i) a.first[i] += b.first[i];
      a.second += b.second;
      return a;
    };
    double moved = 0;
    for (auto& [i, sum] : points.map(near).reduce_by_key(add).collect()) {
      for (double& x : sum.first) x /= static_cast<double>(sum.second);
      Point& centre = centres[static_cast<size_t>(i)];
      moved += squared_distance(centre, sum.first);
      centre = sum.first;
    }
    if (moved < kStandsStill) break;
  }
  for (const Point& centre : centres) {
    for (size_t i = 0; i < centre.size(); ++i) std::cout << (i ? " " : "") << centre[i];
    std::cout << "\n";
  }
  return 0;
}
TINDERBOX_APPLICATION(k_means, "centres of clusters: POINTS K", run);
