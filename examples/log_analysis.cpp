// log_analysis LOG: what web servers' logs in the common format say: answers by status, the busiest
// clients by bytes, the longest answer of each path; other lines are counted.
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

struct Request {
  std::string client, path;
  int32_t status = 0;
  int64_t bytes = 0;
};

/// `client - user [time] "GET /path HTTP/1.1" status bytes`; nothing when it is another line.
static std::optional<Request> parse_request(std::string_view line) {
  const size_t open = line.find('"'), close = line.rfind('"');
  if (open == std::string_view::npos || close == open) return std::nullopt;
  std::vector<std::string_view> before, asked, after;
  auto split = [](std::string_view text, std::vector<std::string_view>& into) {
    tinderbox::words(text, [&](std::string_view word) { return into.push_back(word), true; });
  };
  split(line.substr(0, open), before);
  split(line.substr(open + 1, close - open - 1), asked);
  split(line.substr(close + 1), after);
  if (before.empty() || asked.size() != 3 || after.size() != 2) return std::nullopt;
  Request r{std::string(before[0]), std::string(asked[1])};
  auto number = [](std::string_view text, auto& into) {
    return std::from_chars(text.data(), text.data() + text.size(), into).ptr ==
           text.data() + text.size();
  };
  if (!number(after[0], r.status)) return std::nullopt;
  if (after[1] != "-" && !number(after[1], r.bytes)) return std::nullopt;
  return r;
}

static int run(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 1) throw std::invalid_argument("log_analysis takes LOG");
  const auto strange = context.long_accumulator("strange lines");
  const auto requests = context.text_file(args[0]).flat_map<Request>(
      tinderbox::capture(strange, [](const auto& strange, std::string_view line, auto& emit) {
        auto request = parse_request(line);
        if (!request) return strange.add(1);
        emit(std::move(*request));
      }));
  requests.cache();
  std::cout << requests.count() << " requests, " << strange.value() << " strange lines\n";
  const auto add = [](int64_t a, int64_t b) { return a + b; };
  for (const auto& [status, n] :
       requests.map([](const Request& r) { return r.status; }).count_by_value())
    std::cout << "status " << status << ": " << n << "\n";
  auto bytes = requests.map([](const Request& r) { return std::pair(r.client, r.bytes); })
                   .reduce_by_key(add)
                   .take_ordered(3, [](const auto& a, const auto& b) {
                     return std::tie(b.second, a.first) < std::tie(a.second, b.first);
                   });
  for (const auto& [client, n] : bytes) std::cout << "client " << client << ": " << n << " bytes\n";
  auto longest = requests.map([](const Request& r) { return std::pair(r.path, r.bytes); })
                     .reduce_by_key([](int64_t a, int64_t b) { return std::max(a, b); })
                     .sort_by_key()
                     .collect();
  for (const auto& [path, n] : longest) std::cout << "path " << path << ": " << n << "\n";
  return 0;
}
TINDERBOX_APPLICATION(log_analysis, "what a web server's log says: LOG", run);
