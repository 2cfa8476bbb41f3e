#include "core/api/input/text.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using tinderbox::words;

namespace {

/// Character by character.
std::vector<std::string> plain_words(std::string_view line) {
  std::vector<std::string> all;
  bool in_word = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
    if (!space && !in_word) all.emplace_back();
    if (!space) all.back() += c;
    in_word = !space;
  }
  return all;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> all;
  words(line, [&](std::string_view word) { all.emplace_back(word); });
  return all;
}

}  // namespace

TEST_CASE("words of lines of any length and any bytes are those of a plain loop", "[text]") {
  std::mt19937 random(42);
  for (size_t n = 0; n <= 300; ++n) {
    for (const uint32_t spaces_in_a_hundred : {0u, 2u, 20u, 50u, 98u, 100u}) {
      std::string line(n, '\0');  // its own memory, so that reading beyond it is noticed
      for (char& c : line)
        c = random() % 100 < spaces_in_a_hundred ? " \t\n\v\f\r"[random() % 6]
                                                 : static_cast<char>(random());
      INFO("length " << n << ", spaces " << spaces_in_a_hundred);
      REQUIRE(words_of(line) == plain_words(line));
    }
  }
}

TEST_CASE("every byte is white space or not as in the C locale", "[text]") {
  for (int c = 0; c < 256; ++c) {
    const std::string line = std::string("a") + static_cast<char>(c) + "b";
    INFO("byte " << c);
    CHECK(words_of(line) == plain_words(line));
  }
}

TEST_CASE("words ends when its receiver has enough", "[text]") {
  const std::string line = std::string(60, ' ') + "one two three" + std::string(60, ' ') + "four";
  for (size_t enough = 1; enough <= 5; ++enough) {
    std::vector<std::string> all;
    words(line, [&](std::string_view word) {
      all.emplace_back(word);
      return all.size() < enough;
    });
    CHECK(all.size() == std::min<size_t>(enough, 4));
  }
}
