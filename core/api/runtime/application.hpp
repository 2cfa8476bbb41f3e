// The applications of this program. One line makes a function one of them:
//     TINDERBOX_APPLICATION(wordcount, "count words: IN [OUT]", run_wordcount);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tinderbox {

class Context;

/// Returns the exit code. Exceptions end the application with their message and exit code 1.
using ApplicationMain = int (*)(Context& context, std::span<const std::string> args);

struct Application {
  std::string_view name;  // what --class and run-example take
  std::string_view help;  // one line: what it does: ARGUMENTS
  ApplicationMain run;
};

/// Called before main by TINDERBOX_APPLICATION.
bool register_application(const Application& application);
/// Null: there is none of that name.
const Application* find_application(std::string_view name);
/// All of them, by name.
std::vector<Application> applications();

/// An argument as a number from 1 to `most`. Errors: std::invalid_argument, which begins with
/// `usage`, as "pi takes [SLICES]".
int64_t positive_argument(const std::string& text, const std::string& usage,
                          int64_t most = INT32_MAX);

}  // namespace tinderbox

#define TINDERBOX_APPLICATION(name, help, function)                 \
  [[maybe_unused]] static const bool tinderbox_application_##name = \
      ::tinderbox::register_application({#name, help, function})
