// inverted_index OUT FILE…: for every word, the files and lines in which it stands.
#include <algorithm>
#include <stdexcept>
#include <tinderbox.hpp>

using Place = std::pair<std::string, int64_t>;  // file, line
using Entry = std::pair<std::string, Place>;

static int run_inverted_index(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() < 2) throw std::invalid_argument("inverted_index takes OUT FILE...");
  std::vector<tinderbox::Rdd<Entry>> entries;
  for (const std::string& file : args.subspan(1)) {
    // A lambda captures nothing: what it needs travels in capture() and is its first argument.
    auto places =
        tinderbox::capture(file, [](const std::string& file, const auto& numbered, auto& emit) {
          tinderbox::words(numbered.first, [&](std::string_view word) {
            return emit(Entry(word, Place(file, numbered.second + 1)));
          });
        });
    entries.push_back(context.text_file(file).zip_with_index().flat_map<Entry>(places));
  }
  context.union_all(entries)
      .distinct()
      .group_by_key()
      .sort_by_key()
      .map([](auto&& word) {
        auto [text, found] = word;
        std::sort(found.begin(), found.end());
        char between = '\t';
        for (const auto& [file, line] : found) {
          text += between + file + ":" + std::to_string(line);
          between = ' ';
        }
        return text;
      })
      .save_as_text_file(args[0]);
  return 0;
}

TINDERBOX_APPLICATION(inverted_index, "where each word stands: OUT FILE...", run_inverted_index);
