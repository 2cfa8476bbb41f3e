#include "core/deploy/calendar.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace tinderbox::core {
namespace {

struct Fields {
  int year = 0;
  unsigned month = 0, day = 0, weekday = 0;
  int hour = 0, minute = 0, second = 0;
};

Fields fields_of(Time t, const Zone& zone) {
  using namespace std::chrono;
  auto local = floor<seconds>(t.time_since_epoch()) + seconds(zone.offset_seconds);
  auto days_part = floor<days>(local);
  year_month_day date{sys_days(days_part)};
  hh_mm_ss clock{local - days_part};
  return {int(date.year()),
          unsigned(date.month()),
          unsigned(date.day()),
          weekday(sys_days(days_part)).c_encoding(),
          int(clock.hours().count()),
          int(clock.minutes().count()),
          int(clock.seconds().count())};
}

template <class... Args>
std::string print(const char* format, Args... args) {
  std::array<char, 96> text;
  int n = std::snprintf(text.data(), text.size(), format, args...);
  return std::string(text.data(), static_cast<size_t>(n));
}

/// Width of `%0Nd` at `at`, 0 for `%d`; -1 when there is no number's place. `end`: after it.
int number_width(std::string_view pattern, size_t at, size_t& end) {
  size_t i = at + 1;
  int width = 0;
  while (i < pattern.size() && pattern[i] >= '0' && pattern[i] <= '9' && width < 32)
    width = width * 10 + (pattern[i++] - '0');
  if (i >= pattern.size() || pattern[i] != 'd') return -1;
  end = i + 1;
  return width;
}

std::string padded(const std::variant<std::string, int64_t>& value, int width) {
  if (auto* text = std::get_if<std::string>(&value)) return *text;
  return print("%0*" PRId64, width, std::get<int64_t>(value));
}

}  // namespace

std::string compact_date(Time t, const Zone& zone) {
  Fields f = fields_of(t, zone);
  return print("%04d%02u%02u%02d%02d%02d", f.year, f.month, f.day, f.hour, f.minute, f.second);
}

std::string page_date(Time t, const Zone& zone) {
  Fields f = fields_of(t, zone);
  return print("%04d/%02u/%02u %02d:%02d:%02d", f.year, f.month, f.day, f.hour, f.minute, f.second);
}

std::string java_date(Time t, const Zone& zone) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  Fields f = fields_of(t, zone);
  return print("%s %s %02u %02d:%02d:%02d ", kDays[f.weekday % 7], kMonths[(f.month - 1) % 12],
               f.day, f.hour, f.minute, f.second) +
         zone.name + print(" %d", f.year);
}

std::string show_duration(Duration d) {
  double seconds = static_cast<double>(d.count()) / 1e6;
  if (seconds < 0.1) return print("%.0f ms", seconds * 1e3);
  if (seconds < 1) return print("%.1f s", seconds);
  if (seconds < 60) return print("%.0f s", seconds);
  double minutes = seconds / 60;
  if (minutes < 10) return print("%.1f min", minutes);
  if (minutes < 60) return print("%.0f min", minutes);
  return print("%.1f h", minutes / 60);
}

std::string fill_pattern(std::string_view pattern,
                         std::span<const std::variant<std::string, int64_t>> values) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern.size();) {
    size_t end = i + 2;
    bool place = pattern[i] == '%' && i + 1 < pattern.size() && next < values.size();
    int width = place && pattern[i + 1] != 's' ? number_width(pattern, i, end) : 0;
    if (!place || width < 0) {
      out += pattern[i++];
      continue;
    }
    out += padded(values[next++], width);
    i = end;
  }
  return out;
}

}  // namespace tinderbox::core
