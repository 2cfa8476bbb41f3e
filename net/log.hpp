// The only writer to stderr: one line a record, and a status line (progress) below them on a
// terminal.
#pragma once

#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/types.hpp"

namespace tinderbox::net {

/// Same order as the levels of a machine's Log effect.
enum class Level : uint8_t { Debug, Info, Warn, Error };

/// Writes `yy/MM/dd HH:mm:ss.mmm LEVEL component: text` (local time). Line breaks and control
/// characters in `text` are shown as escapes. A stderr that accepts nothing for 100 ms loses the
/// line; the number of lost lines is written when it accepts again. Thread: any.
void log(Level level, std::string_view component, std::string_view text);
/// What of a message of many lines is worth one: the first, and what it announces by a `:` or `=`
/// at its end.
std::string one_line(std::string_view text);
/// Whether log() would write; asked before an expensive text is put together. Thread: any.
bool log_enabled(Level level);

/// Whether the `nth` of equal events is worth a line: the first eight, then each power of two, so
/// that whoever causes them cannot fill a disk.
constexpr bool worth_a_line(uint64_t nth) { return nth <= 8 || std::has_single_bit(nth); }

/// Spark's names: ALL TRACE DEBUG INFO WARN ERROR FATAL OFF, in any case. INFO until set.
/// Errors: another name. Source: Spark SparkContext.setLogLevel. Thread: any.
Result<std::string> set_log_level(std::string_view name);

/// Applied to each text before it is written, so that secrets don't reach the log. Thread: any.
using Redaction = std::function<std::string(std::string_view)>;
void set_log_redaction(Redaction redaction);

/// Bytes for a person that are no log record (usage, the one line of an error). Thread: any.
void write_error(std::string_view text);

/// Shows `line` (no line break) below the log and replaces the one before; log records keep it
/// last. Empty: clears it. Skipped while stderr accepts nothing. Unit: a byte a column. Thread:
/// any.
void show_status_line(std::string_view line);

}  // namespace tinderbox::net
