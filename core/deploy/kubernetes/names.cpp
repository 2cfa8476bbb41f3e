#include "core/deploy/kubernetes/names.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/str_format.h>
#include <xxhash.h>

#include <algorithm>

#include "conf/values/units.hpp"

namespace tinderbox::core::kubernetes {
namespace {

bool is_alnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

bool is_dns_letter(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) ||
         absl::ascii_isdigit(static_cast<unsigned char>(c));
}

std::string hash8(std::string_view text) {
  return absl::StrFormat("%08x", static_cast<uint32_t>(XXH3_64bits(text.data(), text.size())));
}

}  // namespace

std::string bounded_name(std::string_view stem, std::string_view suffix, size_t limit) {
  if (stem.size() + suffix.size() <= limit) return std::string(stem) + std::string(suffix);
  const std::string hash = "-" + hash8(stem);
  std::string_view kept = stem.substr(0, limit - suffix.size() - hash.size());
  while (kept.ends_with('-') || kept.ends_with('.')) kept.remove_suffix(1);
  return std::string(kept) + hash + std::string(suffix);
}

std::string dns_name(std::string_view text) {
  std::string out;
  for (const char c : conf::trimmed(text)) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    if (is_dns_letter(lower))
      out += lower;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  if (!out.empty() && absl::ascii_isdigit(static_cast<unsigned char>(out[0]))) out[0] = 'x';
  return out;
}

std::string volume_name(std::string_view object) {
  const bool fits = std::all_of(object.begin(), object.end(),
                                [](char c) { return is_dns_letter(c) || c == '-'; });
  // Dots become dashes: a hash tells such names apart.
  const std::string stem = fits ? std::string(object) : dns_name(object) + "-" + hash8(object);
  return bounded_name(stem, "-volume", kLongestLabel);
}

std::string resource_prefix(std::string_view app_name, std::string_view unique) {
  std::string stem = dns_name(app_name);
  while (stem.ends_with('-')) stem.pop_back();
  if (stem.empty()) stem = "spark";
  return bounded_name(stem, "-" + std::string(unique), kLongestOwnPrefix);
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : conf::trimmed(text)) {
    const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
    if (is_dns_letter(lower) || lower == '.')
      out += lower;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  out.resize(std::min(out.size(), kLongestLabel));
  while (!out.empty() && !is_alnum(out.back())) out.pop_back();
  while (!out.empty() && !is_alnum(out.front())) out.erase(0, 1);
  return out;
}

std::string unique_id(uint64_t random, int64_t now_ms) {
  return absl::StrFormat("%06x%x", random & 0xffffff, static_cast<uint64_t>(now_ms) & 0xffffffffff);
}

std::string executor_host_name(std::string_view pod_name) {
  if (pod_name.size() > kLongestLabel) pod_name.remove_prefix(pod_name.size() - kLongestLabel);
  while (!pod_name.empty() && !is_alnum(pod_name.front())) pod_name.remove_prefix(1);
  std::string out;
  // A template's name may have dots, which a host name may not.
  for (const char c : pod_name)
    out += is_alnum(c) ? absl::ascii_tolower(static_cast<unsigned char>(c)) : '-';
  return out;
}

bool is_pod_name_prefix(std::string_view text) {
  if (text.empty() || text.size() > kLongestPrefix) return false;
  const auto fits = [](char c) { return is_dns_letter(c) || c == '-' || c == '.'; };
  return is_dns_letter(text.front()) && is_dns_letter(text.back()) &&
         std::all_of(text.begin(), text.end(), fits) && text.find("..") == std::string_view::npos &&
         text.find(".-") == std::string_view::npos && text.find("-.") == std::string_view::npos;
}

}  // namespace tinderbox::core::kubernetes
