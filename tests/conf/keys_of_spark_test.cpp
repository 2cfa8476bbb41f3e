// The page on Spark's keys: each is in one list, and what the page names is there.
#include <fstream>
#include <sstream>

#include "conf/keys.hpp"
#include "conf/known_keys.hpp"
#include "tests/pch.hpp"

using namespace tinderbox::conf;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A string constant that goes on in the next line is one.
std::string joined(std::string text) {
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; ++at) {
    const size_t next = text.find_first_not_of(" \n", at + 1);
    if (next != std::string::npos && text[next] == '"' && text.find('\n', at) < next)
      text.erase(at, next - at + 1);
  }
  return text;
}

/// What stands in backticks, in order.
std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const size_t end = text.find('`', at + 1);
    REQUIRE(end != std::string::npos);
    all.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return all;
}

/// Names and patterns of one list.
struct List {
  std::set<std::string> names;
  std::vector<std::string> beginnings;
  explicit List(const std::string& text) {
    for (const std::string& q : quoted(text)) {
      if (!q.starts_with("spark.")) continue;
      if (q.ends_with('*'))
        beginnings.push_back(q.substr(0, q.size() - 1));
      else
        CHECK(names.insert(q).second);
    }
  }
  bool begins(std::string_view key) const {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](const std::string& b) { return key.starts_with(b); });
  }
};

struct Page {
  std::string text = text_of("docs/keys-of-spark.md");
  std::string honoured = text.substr(0, text.find("## Without meaning"));
  List with{honoured}, without{text.substr(honoured.size())};

  /// In which lists a key is: by its whole name, else by a pattern.
  std::string lists(std::string_view key) const {
    const std::string k(key);
    const bool exact = with.names.contains(k) || without.names.contains(k);
    std::string found =
        exact ? (with.names.contains(k) ? "honoured " : "") : (with.begins(key) ? "honoured " : "");
    return found + ((exact ? without.names.contains(k) : without.begins(key)) ? "without " : "");
  }
};

std::vector<std::string_view> known() {
  std::vector<std::string_view> all(spark_names().begin(), spark_names().end());
  all.insert(all.end(), key_families().begin(), key_families().end());
  return all;
}

/// `FILE`, or `FILE`: NAME; NAME; `FILE`: NAME …
void check_tests(std::string text) {
  std::string source;
  for (text += "; "; !text.empty();) {
    const size_t end = text.find("; ");
    std::string name = text.substr(0, end);
    text.erase(0, end + 2);
    if (name.starts_with('`')) {
      const size_t file_end = name.find('`', 1);
      source = joined(text_of(name.substr(1, file_end - 1)));
      CHECK_FALSE(source.empty());
      name.erase(0, std::min(name.size(), file_end + 3));
    }
    INFO(name);
    CHECK(source.find(name) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("every key of Spark is in one list: honoured, or without meaning and why") {
  const Page page;
  REQUIRE(page.text.find("## Without meaning") != std::string::npos);
  for (const std::string_view key : known()) {
    INFO(key);
    const std::string lists = page.lists(key);
    CHECK((lists == "honoured " || lists == "without "));
    if (find_key(key)) CHECK(lists == "honoured ");
  }
}

TEST_CASE("the page on Spark's keys names no other keys") {
  const Page page;
  for (const List* list : {&page.with, &page.without}) {
    for (const std::string& name : list->names) {
      INFO(name);
      const auto all = known();
      // Of Hadoop's keys only those that are here are known by their whole names.
      CHECK((find_key(name) || std::find(all.begin(), all.end(), name) != all.end()));
    }
    for (const std::string& beginning : list->beginnings) {
      INFO(beginning);
      const auto all = known();
      CHECK(std::any_of(all.begin(), all.end(),
                        [&](std::string_view key) { return key.starts_with(beginning); }));
    }
  }
}

TEST_CASE("the tests that the page on Spark's keys names are there") {
  const Page page;
  std::istringstream lines(page.honoured);
  size_t tests = 0;
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("`tests/");
    if (!line.starts_with("| `spark.") || at == std::string::npos) continue;
    INFO(line);
    check_tests(line.substr(at, line.rfind(" |") - at));
    ++tests;
  }
  CHECK(tests > 50);
}
