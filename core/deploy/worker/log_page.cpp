// Pages of what executors and drivers wrote.
#include "core/deploy/worker/log_page.hpp"

#include <algorithm>
#include <charconv>

#include "core/deploy/pages.hpp"

namespace tinderbox::core {
namespace {

constexpr int64_t kDefaultBytes = 100 << 10, kMostBytes = 1 << 20;

struct Want {
  std::string query;      // names the log: all parameters but offset and byteLength
  std::string directory;  // below the work directory
  std::string type;
  std::optional<int64_t> offset;
  int64_t length = kDefaultBytes;
};

struct Piece {
  std::string path;
  int64_t from = 0, to = 0, size = 0;
  Bytes bytes;
};

/// One part of a path, never one that leads elsewhere.
bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' &&
         text.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             "0123456789-_.") == std::string_view::npos;
}

Result<std::optional<int64_t>> number(const net::HttpRequest& request, const std::string& name) {
  const std::string text = request.parameter(name);
  if (text.empty()) return std::optional<int64_t>();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return Error{name + " must be a number of bytes, not '" + text + "'"};
  return std::optional(value);
}

Result<Want> want_of(const net::HttpRequest& request) {
  const std::string app = request.parameter("appId"), executor = request.parameter("executorId");
  const std::string driver = request.parameter("driverId");
  Want want;
  want.type = request.parameter("logType");
  if (is_name(app) && is_name(executor) && driver.empty()) {
    want.directory = app + "/" + executor;
    want.query = "appId=" + app + "&executorId=" + executor + "&logType=" + want.type;
  } else if (is_name(driver) && app.empty() && executor.empty()) {
    want.directory = driver;
    want.query = "driverId=" + driver + "&logType=" + want.type;
  } else {
    return Error{"Request must specify either application or driver identifiers"};
  }
  if (want.type != "stdout" && want.type != "stderr")
    return Error{"Log type must be stdout or stderr, not '" + want.type + "'"};
  const auto offset = number(request, "offset"), length = number(request, "byteLength");
  if (!offset) return offset.error();
  if (!length) return length.error();
  want.offset = *offset;
  want.length = std::min(length->value_or(kDefaultBytes), kMostBytes);
  return want;
}

Result<Piece> read_piece(net::Files& files, const std::string& work_dir, const Want& want) {
  Piece piece;
  piece.path = work_dir + "/" + want.directory + "/" + want.type;
  auto file = files.open(piece.path);
  if (!file) return file.error();
  piece.size = (*file)->size();
  piece.from = std::min(want.offset.value_or(piece.size - want.length), piece.size);
  piece.from = std::max<int64_t>(piece.from, 0);
  piece.to = std::min(piece.from + want.length, piece.size);
  piece.bytes.resize(static_cast<size_t>(piece.to - piece.from));
  const auto got = (*file)->read_at(piece.from, piece.bytes.data(), piece.bytes.size());
  if (!got) return got.error();
  piece.bytes.resize(*got);
  return piece;
}

std::string range_line(const Piece& p, const std::string& of) {
  return "Bytes " + std::to_string(p.from) + "-" + std::to_string(p.to) + " of " +
         std::to_string(p.size) + of;
}

net::HttpAnswer text_answer(int status, std::string text) {
  net::HttpAnswer answer;
  answer.status = status;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::move(text);
  return answer;
}

template <class Show>
net::HttpHandler handler(net::Files& files, std::string work_dir, Show show) {
  return [&files, work_dir = std::move(work_dir), show](const net::HttpRequest& request) {
    const auto want = want_of(request);
    if (!want) return text_answer(400, "Error: " + want.error().message + "\n");
    auto piece = read_piece(files, work_dir, *want);
    if (!piece) return text_answer(404, "Error: " + piece.error().message + "\n");
    return show(*want, *piece);
  };
}

net::HttpAnswer show_page(const Want& want, const Piece& piece) {
  LogView view;
  view.title = want.type + " of " + want.directory;
  view.range = range_line(piece, "");
  view.text = piece.bytes;
  const std::string base = "/logPage/?" + want.query + "&byteLength=" + std::to_string(want.length);
  if (piece.from > 0)
    view.earlier =
        base + "&offset=" + std::to_string(std::max<int64_t>(piece.from - want.length, 0));
  if (piece.to < piece.size) view.later = base + "&offset=" + std::to_string(piece.to);
  net::HttpAnswer answer;
  answer.body = log_view_page(view);
  return answer;
}

}  // namespace

net::HttpHandler log_text(net::Files& files, std::string work_dir) {
  return handler(files, std::move(work_dir), [](const Want&, const Piece& piece) {
    return text_answer(200,
                       "==== " + range_line(piece, " of " + piece.path) + " ====\n" + piece.bytes);
  });
}

net::HttpHandler log_page(net::Files& files, std::string work_dir) {
  return handler(files, std::move(work_dir), &show_page);
}

}  // namespace tinderbox::core
