// pi [SLICES]: estimates pi by random points in a square.
#include <cstdio>
#include <span>
#include <stdexcept>

#include "core/api/tinderbox.hpp"

namespace tinderbox::cmd {
namespace {

constexpr int64_t kPointsASlice = 100000;

int run_pi(Context& context, std::span<const std::string> args) {
  if (args.size() > 1) {
    throw std::invalid_argument("pi takes [SLICES], but got " + std::to_string(args.size()) +
                                " arguments");
  }
  const auto slices =
      static_cast<int32_t>(args.empty() ? 2 : positive_argument(args[0], "pi takes [SLICES]"));
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
