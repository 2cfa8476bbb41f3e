// logistic_regression POINTS ITERATIONS: weights that tell the labels 0 and 1 apart; POINTS has a
// line `LABEL X1 X2 …` a point. Gradient descent from weights of 0 by the mean of the gradients.
#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

using Numbers = std::vector<double>;  // of a point: its label, a 1 for the bias, its coordinates

static Numbers parse_point(std::string_view line) {
  Numbers numbers;
  tinderbox::words(line, [&](std::string_view word) {
    double x = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), x).ptr != word.data() + word.size())
      throw std::invalid_argument("'" + std::string(line) + "' is no point: LABEL X1 X2 ...");
    numbers.push_back(x);
    if (numbers.size() == 1) numbers.push_back(1);
    return true;
  });
  return numbers;
}

/// What a point adds to the gradient of the log likelihood.
static Numbers add_gradient(Numbers sum, const Numbers& weights, const Numbers& point) {
  double z = 0;
  for (size_t i = 0; i < weights.size(); ++i) z += weights[i] * point[i + 1];
  const double off = point[0] - 1 / (1 + std::exp(-z));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += off * point[i + 1];
  return sum;
}

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  const std::string usage = "logistic_regression takes POINTS ITERATIONS";
  if (args.size() != 2) throw std::invalid_argument(usage);
  const int64_t iterations = tinderbox::positive_argument(args[1], usage);
  const auto points =
      context.text_file(args[0]).map([](std::string_view line) { return parse_point(line); });
  points.cache();
  const auto n = static_cast<double>(points.count());
  Numbers weights(points.first().size() - 1);
  for (int64_t i = 0; i < iterations; ++i) {
    auto seen = tinderbox::capture(context.broadcast(weights),
                                   [](const auto& weights, Numbers sum, const Numbers& point) {
                                     return add_gradient(std::move(sum), *weights, point);
                                   });
    auto both = [](Numbers a, const Numbers& b) {
      for (size_t k = 0; k < a.size(); ++k) a[k] += b[k];
      return a;
    };
    const Numbers gradient = points.tree_aggregate(Numbers(weights.size()), seen, both);
    for (size_t k = 0; k < weights.size(); ++k) weights[k] += gradient[k] / n;
  }
  std::cout << std::setprecision(12);
  for (const double w : weights) std::cout << w << "\n";
  return 0;
}
TINDERBOX_APPLICATION(logistic_regression, "weights by gradient descent: POINTS ITERATIONS", run);
