#include "core/api/runtime/application.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

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

}  // namespace tinderbox
