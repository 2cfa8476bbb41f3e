// A world of files and variables that a test names, and submit's parsing in it.
#pragma once

#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conf/submit/submit_options.hpp"

namespace tinderbox::conf::test {

using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

/// A world with these files and variables only.
inline Surroundings world(Files files = {}, Environment environment = {}) {
  return {.environment = std::move(environment),
          .directory = "/cwd",
          .self = "/bin/tinderbox",
          .now_ms = 1700000000000,
          .read =
              [files = std::move(files)](const std::string& path) {
                const auto found = files.find(path);
                if (found == files.end()) return FileText{};
                if (found->second == "<dir>") return FileText{FileText::Kind::kDirectory, {}, {}};
                return FileText{FileText::Kind::kRegular, found->second, {}};
              },
          .list =
              [](const std::string& folder) {
                return folder == "/cwd" ? Words{"a.zip", "b.zip"} : Words{};
              }};
}

inline SubmitRequest parse(const Words& args, const Surroundings& in = world()) {
  return parse_submit(args, in);
}

/// The value of a property, "-" when it is not set.
inline std::string value(const SubmitRequest& request, const std::string& key) {
  return request.conf.find(key).value_or("-");
}

/// Properties and their values.
inline void check_values(const SubmitRequest& request, const Pairs& want) {
  for (const auto& [key, text] : want) {
    INFO(key);
    CHECK(value(request, key) == text);
  }
}

/// The words of one line.
inline Words words(const std::string& line) {
  Words out;
  std::string word;
  for (char c : line + " ") {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      out.push_back(std::exchange(word, {}));
  }
  return out;
}

}  // namespace tinderbox::conf::test
