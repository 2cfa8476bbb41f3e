// Moments as people read them, in a zone that is given: a machine knows no zone of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "net/types.hpp"

namespace tinderbox::core {

/// The local zone as the shell found it at start.
struct Zone {
  int32_t offset_seconds = 0;  // east of UTC
  std::string name = "UTC";
  bool operator==(const Zone&) const = default;
};

/// `20261121084647`, as in ids.
std::string compact_date(Time t, const Zone& zone);
/// `2026/11/21 08:46:47`, as on pages.
std::string page_date(Time t, const Zone& zone);
/// `Sat Nov 21 08:46:58 UTC 2026`. Source: java.util.Date.toString.
std::string java_date(Time t, const Zone& zone);
/// `4 s`, `1.2 min`, `3.4 h`. Source: Spark 4.3 UIUtils.formatDuration.
std::string show_duration(Duration d);

/// A printf pattern of `%s`, `%d` and `%0Nd` filled with `values`, for ids. What is not such a
/// place stays as it is; a place without a value stays too.
std::string fill_pattern(std::string_view pattern,
                         std::span<const std::variant<std::string, int64_t>> values);

}  // namespace tinderbox::core
