#include <iostream>
#include <tinderbox.hpp>

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 1) throw std::invalid_argument("word_count takes IN");
  auto counts = context.text_file(args[0])
                    .flat_map<std::string_view>(
                        [](std::string_view line, auto& emit) { tinderbox::words(line, emit); })
                    .map([](std::string_view word) { return std::pair(word, int64_t{1}); })
                    .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  auto more = [](const auto& a, const auto& b) { return a.second > b.second; };
  for (const auto& [word, n] : counts.take_ordered(10, more)) std::cout << n << " " << word << "\n";
  return 0;
}
TINDERBOX_APPLICATION(word_count, "the ten most frequent words: IN", run);
