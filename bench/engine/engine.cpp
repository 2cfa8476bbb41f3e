// The cases of docs/benchmarks.md for tinderbox: engine FOLDER CASE [ROUNDS=3]. The same jobs as
// engine.scala; prints `CASE CHECK SECONDS` of the best round. FOLDER has what engine.sh made.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tinderbox.hpp>

namespace {

using tinderbox::Context;
using Edge = std::pair<int32_t, int32_t>;
using Rank = std::pair<int32_t, double>;
/// How many records an answer has, and a sum over all of them.
using Total = std::pair<int64_t, int64_t>;

constexpr auto kBoth = [](Total a, const Total& b) {
  return Total(a.first + b.first, a.second + b.second);
};
std::string answer(const Total& total) {
  return std::to_string(total.first) + "/" + std::to_string(total.second);
}

std::string word_count(Context& context, const std::string& folder) {
  const auto counts = context.text_file(folder + "/text.txt")
                          .flat_map<std::string_view>([](std::string_view line, auto& emit) {
                            tinderbox::words(line, emit);
                          })
                          .map([](std::string_view word) { return std::pair(word, int64_t{1}); })
                          .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  return answer(counts.aggregate(
      Total(),
      [](Total sum, const auto& word) { return Total(sum.first + 1, sum.second + word.second); },
      kBoth));
}

std::string group(Context& context, const std::string&) {
  const auto sums = context.range(0, 100'000'000)
                        .map([](int64_t x) { return std::pair(x % 1'000'000, x); })
                        .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  return answer(sums.aggregate(
      Total(),
      [](Total all, const auto& sum) {
        return Total(all.first + 1, all.second + sum.second * (sum.first % 1000));
      },
      kBoth));
}

/// A partition's first and last key, its records, the sum of three bytes of each.
struct Part {
  std::string first, last;
  int64_t records = 0, bytes = 0;
};

std::string sort_files(Context& context, const std::string& path, int32_t partitions) {
  const auto sorted =
      context.text_file(path)
          .map([](std::string_view line) { return std::pair(line.substr(0, 10), line); })
          .sort_by_key(true, partitions);
  const auto parts = sorted
                         .map_partitions<Part>([](auto& records, auto& emit) {
                           Part part;
                           records.for_each([&](const auto& record) {
                             const auto& [key, line] = record;
                             if (key < part.last) throw std::runtime_error("out of order");
                             if (part.records++ == 0) part.first = key;
                             part.last = key;
                             part.bytes += line[12] + line[50] + line[97];
                           });
                           if (part.records > 0) emit(part);
                         })
                         .collect();
  Part all;
  for (const Part& part : parts) {
    if (part.first < all.last) throw std::runtime_error("partitions out of order");
    all.last = part.last;
    all.records += part.records;
    all.bytes += part.bytes;
  }
  return answer({all.records, all.bytes});
}

std::string sort(Context& context, const std::string& folder) {
  return sort_files(context, folder + "/records.txt", 0);
}

// So few partitions that none fits in memory.
std::string big_sort(Context& context, const std::string& folder) {
  return sort_files(context, folder + "/big", 16);
}

std::string page_rank(Context& context, const std::string& folder) {
  const auto links = context.text_file(folder + "/edges.txt")
                         .map([](std::string_view line) {
                           Edge edge;
                           const char* end = line.data() + line.size();
                           const char* at = std::from_chars(line.data(), end, edge.first).ptr;
                           std::from_chars(at + 1, end, edge.second);
                           return edge;
                         })
                         .group_by_key();
  links.cache();
  auto ranks = links.map_values([](const auto&) { return 1.0; });
  for (int i = 0; i < 10; ++i) {
    ranks = links.join(ranks)
                .values()
                .flat_map<Rank>([](const auto& page, auto& emit) {
                  const auto& [targets, rank] = page;
                  const double share = rank / static_cast<double>(targets.size());
                  for (const int32_t target : targets) emit(Rank(target, share));
                })
                .reduce_by_key([](double a, double b) { return a + b; })
                .map_values([](double sum) { return 0.15 + 0.85 * sum; });
  }
  const double sum = ranks.values().sum();
  links.unpersist();
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", sum);
  return text;
}

std::string shuffle(Context& context, const std::string&) {
  const auto groups = context.range(0, 200, 1, 200)
                          .flat_map<Edge>([](int64_t p, auto& emit) {
                            for (int32_t i = 0; i < 200; ++i)
                              emit(Edge(i, static_cast<int32_t>(p)));
                          })
                          .group_by_key(200);
  return answer(groups.aggregate(
      Total(),
      [](Total sum, const auto& group) {
        const auto& values = group.second;
        return Total(sum.first + 1, std::accumulate(values.begin(), values.end(), sum.second));
      },
      kBoth));
}

const std::map<std::string, std::function<std::string(Context&, const std::string&)>> kCases = {
    {"word_count", word_count}, {"group", group},         {"sort", sort},
    {"big_sort", big_sort},     {"page_rank", page_rank}, {"shuffle", shuffle},
};

int run(Context& context, std::span<const std::string> args) {
  if (args.size() < 2 || !kCases.contains(args[1]))
    throw std::invalid_argument(
        "engine takes FOLDER word_count|group|sort|big_sort|page_rank|shuffle");
  const int rounds = args.size() > 2 ? std::stoi(args[2]) : 3;
  double best = 1e9;
  std::string check;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    check = kCases.at(args[1])(context, args[0]);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  std::printf("%s %s %.4f\n", args[1].c_str(), check.c_str(), best);
  return 0;
}

}  // namespace

TINDERBOX_APPLICATION(engine, "the cases of docs/benchmarks.md: FOLDER CASE [ROUNDS]", run);
