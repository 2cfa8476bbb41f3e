#include "core/api/runtime/application.hpp"

#include <absl/strings/numbers.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace tinderbox {
namespace {

std::map<std::string_view, Application>& registered() {
  static std::map<std::string_view, Application> all;
  return all;
}

}  // namespace

bool register_application(const Application& application) {
  if (registered().emplace(application.name, application).second) return true;
  // Before main nobody could catch an exception.
  std::fprintf(stderr, "two applications are registered as '%s'\n",
               std::string(application.name).c_str());
  std::abort();
}

const Application* find_application(std::string_view name) {
  const auto found = registered().find(name);
  return found == registered().end() ? nullptr : &found->second;
}

std::vector<Application> applications() {
  std::vector<Application> all;
  for (const auto& [name, application] : registered()) all.push_back(application);
  return all;
}

int64_t positive_argument(const std::string& text, const std::string& usage, int64_t most) {
  int64_t n = 0;
  if (absl::SimpleAtoi(text, &n) && n >= 1 && n <= most) return n;
  throw std::invalid_argument(usage + ", a positive number, but got '" + text + "'");
}

}  // namespace tinderbox
