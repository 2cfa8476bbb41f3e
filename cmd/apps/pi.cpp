// pi [SLICES]: estimates pi by random points in a square.
#include <charconv>
#include <cstdio>
#include <span>
#include <stdexcept>

#include "core/api/tinderbox.hpp"

namespace tinderbox::cmd {
namespace {

constexpr int64_t kPointsASlice = 100000;

int32_t parse_slices(const std::string& text) {
  int32_t slices = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slices);
  if (error != std::errc() || end != text.data() + text.size() || slices < 1) {
    throw std::invalid_argument("pi takes [SLICES], a positive number, but got '" + text + "'");
  }
  return slices;
}

int run_pi(Context& context, std::span<const std::string> args) {
  if (args.size() > 1) {
    throw std::invalid_argument("pi takes [SLICES], but got " + std::to_string(args.size()) +
                                " arguments");
  }
  const int32_t slices = args.empty() ? 2 : parse_slices(args[0]);
  const int64_t points = kPointsASlice * slices;
  const int64_t inside = context.range(0, points, 1, slices)
                             .map_partitions_with_index<int64_t>(
                                 [](int32_t slice, Partition<int64_t>& in, auto& emit) {
                                   core::Random random(42, slice);
                                   int64_t hits = 0;
                                   in.for_each([&](int64_t) {
                                     const double x = random.unit() * 2 - 1,
                                                  y = random.unit() * 2 - 1;
                                     hits += x * x + y * y <= 1;
                                   });
                                   emit(hits);
                                 })
                             .sum();
  std::printf("Pi is roughly %.6f\n",
              4.0 * static_cast<double>(inside) / static_cast<double>(points));
  return 0;
}

TINDERBOX_APPLICATION(pi, "estimate pi: [SLICES]", run_pi);

}  // namespace
}  // namespace tinderbox::cmd
