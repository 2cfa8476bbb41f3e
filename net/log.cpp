// spdlog formats; the sink writes with a bound on how long it waits.
#include "net/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <memory>
#include <mutex>

#define SPDLOG_NO_THREAD_ID
#define SPDLOG_LEVEL_NAMES \
  { "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF" }
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

namespace tinderbox::net {
namespace {

constexpr int kPatienceMs = 100;
// A pipe that polls writable takes this much without blocking (PIPE_BUF).
constexpr size_t kChunk = 4096;

/// Whether stderr takes a chunk now; waits for it at most `ms`.
bool writable(int ms) {
  pollfd p{STDERR_FILENO, POLLOUT, 0};
  int n;
  do n = ::poll(&p, 1, ms);
  while (n < 0 && errno == EINTR);
  return n > 0 && (p.revents & POLLOUT) != 0;
}

/// False: nothing, or only a part, could be written in time.
bool write_all(std::string_view text, int ms) {
  while (!text.empty()) {
    if (!writable(ms)) return false;
    ssize_t n = ::write(STDERR_FILENO, text.data(), std::min(text.size(), kChunk));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void write(std::string_view text) {
    std::lock_guard<std::mutex> lock(mutex_);
    put(text);
  }

  void status(std::string_view line) {
    std::lock_guard<std::mutex> lock(mutex_);
    if ((line.empty() && status_.empty()) || !writable(0)) return;
    size_t rest = status_.size() > line.size() ? status_.size() - line.size() : 0;
    write_all("\r" + std::string(line) + std::string(rest, ' ') + "\r", 0);
    status_ = line;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    line_.clear();
    formatter_->format(record, line_);
    put({line_.data(), line_.size()});
  }
  void flush_() override {}

 private:
  std::string erase() const {
    return status_.empty() ? "" : "\r" + std::string(status_.size(), ' ') + "\r";
  }

  void put(std::string_view text) {
    // After one wait in vain the next lines don't wait again: whoever logs must not be held up.
    if (!writable(stuck_ ? 0 : kPatienceMs)) {
      stuck_ = true;
      ++lost_;
      return;
    }
    stuck_ = false;
    std::string all = erase();
    if (lost_ > 0) all += std::to_string(lost_) + " log lines were lost: stderr was not read\n";
    all += text;
    if (!status_.empty()) all += status_ + "\r";
    lost_ = 0;
    stuck_ = !write_all(all, kPatienceMs);
  }

  spdlog::memory_buf_t line_;
  std::string status_;
  bool stuck_ = false;
  uint64_t lost_ = 0;
};

struct Logger {
  StderrSink sink;
  std::atomic<int> threshold{spdlog::level::info};
  std::mutex mutex;  // guards redaction
  std::shared_ptr<const Redaction> redaction;
  Logger() {
    sink.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%C/%m/%d %H:%M:%S.%e %l %n: %v", spdlog::pattern_time_type::local));
  }
};

/// Never destroyed: threads may log while the process ends.
Logger& logger() {
  static Logger* const it = new Logger;
  return *it;
}

spdlog::level::level_enum level_of(Level level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level) + spdlog::level::debug);
}

std::string escaped(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += c;
    else if (u < 0x20 || u == 0x7f)
      (((out += "\\x") += kHex[u >> 4]) += kHex[u & 15]);
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (;;) {
    const size_t end = text.find('\n');
    line += text.substr(0, end);
    if (end == std::string_view::npos || !(line.ends_with(':') || line.ends_with('='))) return line;
    if (line.ends_with(':')) line += ' ';
    text.remove_prefix(end + 1);
  }
}

bool log_enabled(Level level) {
  return level_of(level) >= logger().threshold.load(std::memory_order_relaxed);
}

void log(Level level, std::string_view component, std::string_view text) {
  if (!log_enabled(level)) return;
  Logger& l = logger();
  std::shared_ptr<const Redaction> redaction;
  {
    std::lock_guard<std::mutex> lock(l.mutex);
    redaction = l.redaction;
  }
  std::string line = escaped(redaction ? (*redaction)(text) : std::string(text));
  l.sink.log(spdlog::details::log_msg(spdlog::string_view_t(component.data(), component.size()),
                                      level_of(level), line));
}

Result<std::string> set_log_level(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  static constexpr std::pair<const char*, spdlog::level::level_enum> kNames[] = {
      {"ALL", spdlog::level::trace},      {"TRACE", spdlog::level::trace},
      {"DEBUG", spdlog::level::debug},    {"INFO", spdlog::level::info},
      {"WARN", spdlog::level::warn},      {"ERROR", spdlog::level::err},
      {"FATAL", spdlog::level::critical}, {"OFF", spdlog::level::off}};
  for (auto& [known, level] : kNames) {
    if (upper != known) continue;
    logger().threshold = level;
    return upper;
  }
  return Error{"log level '" + std::string(name) +
               "' is unknown: use ALL, TRACE, DEBUG, INFO, WARN, ERROR, FATAL or OFF"};
}

void set_log_redaction(Redaction redaction) {
  auto shared = redaction ? std::make_shared<const Redaction>(std::move(redaction)) : nullptr;
  std::lock_guard<std::mutex> lock(logger().mutex);
  logger().redaction = std::move(shared);
}

void write_error(std::string_view text) { logger().sink.write(text); }

void show_status_line(std::string_view line) { logger().sink.status(line); }

}  // namespace tinderbox::net
