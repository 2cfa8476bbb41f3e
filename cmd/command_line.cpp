#include "cmd/command_line.hpp"

#include <CLI/CLI.hpp>

#include "core/status/exit_codes.hpp"
#include "net/log.hpp"

namespace tinderbox::cmd {

struct CommandLine::Parser {
  Parser(const std::string& role, const std::string& about) : app(about, "tinderbox " + role) {}
  CLI::App app;
};

namespace {

const CLI::Validator kPositive(
    [](std::string& text) {
      int64_t value = 0;
      if (CLI::detail::lexical_cast(text, value) && value > 0) return std::string();
      return "'" + text + "' is not a whole number above 0";
    },
    "POSITIVE");

CLI::Option* declare(CLI::App& app, const std::string& names, bool* flag, const std::string& help) {
  return app.add_flag(names, *flag, help);
}

CLI::Option* declare(CLI::App& app, const std::string& names, std::vector<std::string>* values,
                     const std::string& help) {
  CLI::Option* option = app.add_option(names, *values, help);
  // An option takes one word each time; what follows is an operand.
  return names.starts_with('-') ? option->allow_extra_args(false) : option;
}

template <class T>
CLI::Option* declare(CLI::App& app, const std::string& names, T* value, const std::string& help) {
  CLI::Option* option = app.add_option(names, *value, help);
  return names.starts_with('-') ? option->take_last() : option;
}

}  // namespace

CommandLine::CommandLine(const std::string& role, const std::string& about)
    : parser_(std::make_unique<Parser>(role, about)) {}

CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string& names, Target target, const std::string& help,
                         Rule rule) {
  CLI::Option* option =
      std::visit([&](auto* value) { return declare(parser_->app, names, value, help); }, target);
  if (rule == Rule::Required || rule == Rule::RequiredPositive) option->required();
  if (rule == Rule::Positive || rule == Rule::RequiredPositive) option->check(kPositive);
  if (rule == Rule::Hidden) option->group("");
}

void CommandLine::long_help_only() { parser_->app.set_help_flag("--help", "this text"); }

void CommandLine::footer(const std::string& text) { parser_->app.footer(text); }

std::optional<int> CommandLine::parse(Args args) {
  std::vector<std::string> words(args.rbegin(), args.rend());  // CLI11 wants them reversed
  CLI::App& app = parser_->app;
  try {
    app.parse(words);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    net::write_error(app.help());
    return core::kExitOk;
  } catch (const CLI::ParseError& e) {
    net::write_error("Error: " + std::string(e.what()) + "; " + app.get_name() +
                     " --help tells more\n");
    return core::kExitFailure;
  }
}

}  // namespace tinderbox::cmd
