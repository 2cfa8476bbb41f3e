// wordcount IN [OUT]: how often each word occurs.
#include <cstdio>
#include <span>
#include <stdexcept>

#include "core/api/tinderbox.hpp"

namespace tinderbox::cmd {
namespace {

constexpr int64_t kShown = 20;
using Count = std::pair<std::string_view, int64_t>;

int run_wordcount(Context& context, std::span<const std::string> args) {
  if (args.empty() || args.size() > 2)
    throw std::invalid_argument("wordcount takes IN [OUT], but got " + std::to_string(args.size()) +
                                " arguments");
  auto counts =
      context.text_file(args[0])
          .flat_map<std::string_view>([](std::string_view line, auto& emit) { words(line, emit); })
          .map([](std::string_view word) { return Count(word, 1); })
          .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  if (args.size() == 2) {
    counts
        .map([](const Count& c) { return std::string(c.first) + "\t" + std::to_string(c.second); })
        .save_as_text_file(args[1]);
    return 0;
  }
  // Most frequent first, then by word.
  const auto most = counts.take_ordered(kShown, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto& [word, n] : most)
    std::printf("%s\t%lld\n", word.c_str(), static_cast<long long>(n));
  return 0;
}

TINDERBOX_APPLICATION(wordcount, "count words: IN [OUT]", run_wordcount);

}  // namespace
}  // namespace tinderbox::cmd
