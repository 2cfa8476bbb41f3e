#include "core/plan/job.hpp"

#include <algorithm>

namespace tinderbox::core {

std::vector<std::string> job_tags(const std::map<std::string, std::string>& properties) {
  std::vector<std::string> tags;
  const auto found = properties.find(kJobTags);
  if (found == properties.end()) return tags;
  const std::string& text = found->second;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    if (end > start) tags.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return tags;
}

}  // namespace tinderbox::core
