// YAML: what kubectl reads and writes, and what hostile files hold.
#include "conf/sources/yaml.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "conf/error.hpp"
#include "tests/pch.hpp"

using namespace tinderbox::conf;
using Catch::Matchers::Contains;
using Json = nlohmann::json;

TEST_CASE("plain scalars mean what YAML's core schema says, quoted ones are text") {
  const Json v = parse_yaml(R"({a: 1, b: "1", c: true, d: 'true', e: ~, f: 1.5, g: 100m, h: -3,
    i: 0x10, j: "", k: null, l: 1e3, m: .5, n: 2026-11-23, o: yes})");
  CHECK(v == Json{{"a", 1},
                  {"b", "1"},
                  {"c", true},
                  {"d", "true"},
                  {"e", nullptr},
                  {"f", 1.5},
                  {"g", "100m"},
                  {"h", -3},
                  {"i", "0x10"},
                  {"j", ""},
                  {"k", nullptr},
                  {"l", 1000.0},
                  {"m", 0.5},
                  {"n", "2026-11-23"},
                  {"o", "yes"}});
  CHECK(parse_yaml("") == Json());
  CHECK(parse_yaml("a: &x {b: 1}\nc: *x") == Json{{"a", {{"b", 1}}}, {"c", {{"b", 1}}}});
  CHECK(parse_yaml("first: 1\n---\nsecond: 2") == Json{{"first", 1}});
}

TEST_CASE("malformed YAML is refused with its place") {
  CHECK_THROWS_WITH(parse_yaml("a: [1"), Contains("line 1"));
  CHECK_THROWS_WITH(parse_yaml("a: 1\n b: 2\n"), Contains("line 2"));
  CHECK_THROWS_WITH(parse_yaml("a: 1\na: 2"), Contains("the key 'a' stands twice in line 2"));
  CHECK_THROWS_WITH(parse_yaml("{[1]: 2}"), Contains("a key that is no text"));
  CHECK_THROWS_WITH(parse_yaml(std::string(2 << 20, 'x')), Contains("larger than 1 MiB"));
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) laughs += (k ? ", " : "") + last;
    laughs += "]\n";
  }
  CHECK_THROWS_WITH(parse_yaml(laughs), Contains("more than 100000 values"));
  CHECK_THROWS_AS(parse_yaml(std::string(100000, '[')), Error);
}

TEST_CASE("what is written is read back, also by readers of YAML 1.1") {
  for (const char* text :
       {"no",           "On",   "y",   "1",     "1.5",        "true", "~",     "",
        "0x1f",         "1:30", "+1",  "-",     "2026-11-23", "a: b", "# x",   "tab\there",
        "line\nline\n", "x\n",  "\nx", " lead", "trail ",     "'q'",  "\"q\"", "{a}",
        "[a]",          "*a",   "&a",  "!a",    "%a",         "@a",   "`a",    "a\r\nb",
        "emoji ☃"}) {
    INFO(text);
    const Json value = {{"k", text}, {text, "v"}};
    CHECK(parse_yaml(to_yaml(value)) == value);
  }
  CHECK(to_yaml({{"b", 1}, {"a", {1, "no"}}}) == "a:\n  - 1\n  - \"no\"\nb: 1\n");
  CHECK(to_yaml({{"e", Json::object()}, {"l", Json::array()}}) == "e: {}\nl: []\n");
}

TEST_CASE("random values survive a round trip, random bytes end in an error or a value") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::function<Json(int)> any = [&](int depth) -> Json {
    switch (random() % (depth > 3 ? 4 : 6)) {
      case 0:
        return static_cast<int64_t>(random()) - (1 << 30);
      case 1:
        return random() % 2 == 0;
      case 2:
        return nullptr;
      case 3: {
        std::string text;
        for (size_t n = random() % 12; n > 0; --n) text += static_cast<char>(' ' + random() % 95);
        return text;
      }
      case 4: {
        Json all = Json::array();
        for (size_t n = random() % 4; n > 0; --n) all.push_back(any(depth + 1));
        return all;
      }
      default: {
        Json all = Json::object();
        for (size_t n = random() % 4; n > 0; --n)
          all["k" + std::to_string(random() % 9)] = any(depth + 1);
        return all;
      }
    }
  };
  for (int i = 0; i < 500; ++i) {
    const Json value = {{"v", any(0)}};
    INFO(value.dump());
    CHECK(parse_yaml(to_yaml(value)) == value);
  }
  for (int i = 0; i < 3000; ++i) {
    std::string bytes;
    const std::string alphabet = "a1:-[]{}&*!|>'\"%@`#,? \n\t~";
    for (size_t n = random() % 40; n > 0; --n) bytes += alphabet[random() % alphabet.size()];
    try {
      parse_yaml(bytes);
    } catch (const Error&) {
    }
  }
}
