#include "core/api/input/text.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
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

TEST_CASE("numbers as text are Java's", "[text]") {
  const auto text = [](auto value) {
    Bytes out;
    tinderbox::core::append_text(out, value);
    return out;
  };
  CHECK(text(0.1f) == "0.1");
  CHECK(text(std::vector{0.1f, 16777216.0f}) == "[0.1, 1.6777216E7]");
  CHECK(text(3.4028235e38f) == "3.4028235E38");
  CHECK(text(1.4e-45f) == "1.4E-45");
  CHECK(text(3.0) == "3.0");
  CHECK(text(-0.0) == "-0.0");
  CHECK(text(0.001) == "0.001");
  CHECK(text(0.00099) == "9.9E-4");
  CHECK(text(9999999.0) == "9999999.0");
  CHECK(text(1234567.875) == "1234567.875");
  CHECK(text(1e7) == "1.0E7");
  CHECK(text(1e10) == "1.0E10");
  CHECK(text(-1.5e-10) == "-1.5E-10");
  CHECK(text(1e100) == "1.0E100");
  CHECK(text(4.9e-324) == "4.9E-324");
  CHECK(text(1.7976931348623157e308) == "1.7976931348623157E308");
  CHECK(text(std::nan("")) == "NaN");
  CHECK(text(std::numeric_limits<double>::infinity()) == "Infinity");
  CHECK(text(-std::numeric_limits<float>::infinity()) == "-Infinity");
}
