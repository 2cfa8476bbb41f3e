// A role's command line: options bound to variables, --help from one place, misuse told in one
// line. CLI11 is behind it and in its source only, for it is heavy to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cmd/roles/roles.hpp"

namespace tinderbox::cmd {

class CommandLine {
 public:
  /// What an option is stored to; a bool is a flag, a vector takes the option's every occurrence,
  /// all else the last one. Must live until parse().
  using Target = std::variant<std::string*, std::vector<std::string>*, int*, int64_t*, uint64_t*,
                              std::optional<int>*, bool*>;
  enum class Rule { Optional, Required, Positive, RequiredPositive, Hidden };

  CommandLine(const std::string& role, const std::string& about);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// `names`: as "-h,--host", or one word without a dash for operands.
  void option(const std::string& names, Target target, const std::string& help,
              Rule rule = Rule::Optional);
  /// --help alone shows the help; -h is free for another option.
  void long_help_only();
  /// Text below the options.
  void footer(const std::string& text);
  /// Exit code when the role should end: --help (0), or a misuse, told on stderr (1).
  std::optional<int> parse(Args args);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tinderbox::cmd
