// net/log over a stderr that the test replaces by a file or a pipe.
#include "net/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <regex>
#include <thread>

using namespace tinderbox;

namespace {

/// While it lives, stderr is a pipe whose bytes take() returns.
class CapturedStderr {
 public:
  CapturedStderr() : saved_(dup(STDERR_FILENO)) {
    REQUIRE(pipe2(pipe_, O_CLOEXEC) == 0);
    dup2(pipe_[1], STDERR_FILENO);
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
  }
  ~CapturedStderr() {
    dup2(saved_, STDERR_FILENO);
    for (int fd : {saved_, pipe_[0], pipe_[1]}) close(fd);
  }
  std::string take() {
    std::string all;
    char part[4096];
    for (ssize_t n; (n = read(pipe_[0], part, sizeof part)) > 0;) all.append(part, n);
    return all;
  }
  size_t fill() {
    size_t total = 0;
    std::string block(4096, 'x');
    fcntl(pipe_[1], F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = write(pipe_[1], block.data(), block.size())) > 0;) total += n;
    fcntl(pipe_[1], F_SETFL, 0);
    return total;
  }

 private:
  int saved_;
  int pipe_[2];
};

}  // namespace

TEST_CASE("a record is one line with time, level and component") {
  CapturedStderr captured;
  net::log(net::Level::Warn, "Master", "worker w1 lost\nand\x1b[31m more");
  std::string line = captured.take();
  CAPTURE(line);
  CHECK(std::regex_match(line, std::regex(R"(\d\d/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3} WARN Master: )"
                                          R"(worker w1 lost\\nand\\x1b\[31m more\n)")));
}

TEST_CASE("the log level has Spark's names and keeps what is below it out") {
  CapturedStderr captured;
  REQUIRE(net::set_log_level("warn"));
  net::log(net::Level::Info, "x", "no");
  CHECK_FALSE(net::log_enabled(net::Level::Info));
  net::log(net::Level::Error, "x", "yes");
  REQUIRE(net::set_log_level("OFF"));
  net::log(net::Level::Error, "x", "no");
  REQUIRE(net::set_log_level("ALL"));
  net::log(net::Level::Debug, "x", "all");
  Result<std::string> bad = net::set_log_level("LOUD");
  REQUIRE(net::set_log_level("INFO"));
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find("'LOUD' is unknown: use ALL,") != std::string::npos);
  std::string text = captured.take();
  CHECK(text.find("no") == std::string::npos);
  CHECK(text.find("ERROR x: yes\n") != std::string::npos);
  CHECK(text.find("DEBUG x: all\n") != std::string::npos);
}

TEST_CASE("U14 redaction is applied before a record is written") {
  CapturedStderr captured;
  net::set_log_redaction([](std::string_view t) {
    return std::regex_replace(std::string(t), std::regex("secret=\\w+"), "secret=*");
  });
  net::log(net::Level::Info, "x", "conf secret=abc");
  net::set_log_redaction({});
  CHECK(captured.take().find("conf secret=*\n") != std::string::npos);
}

TEST_CASE("a status line stays below the records and can be cleared") {
  CapturedStderr captured;
  net::show_status_line("[Stage 0:=>]");
  CHECK(captured.take() == "\r[Stage 0:=>]\r");
  net::show_status_line("[Stage 1:>]");
  CHECK(captured.take() == "\r[Stage 1:>] \r");
  net::write_error("line\n");
  CHECK(captured.take() == "\r           \rline\n[Stage 1:>]\r");
  net::show_status_line("");
  CHECK(captured.take() == "\r           \r");
  net::show_status_line("");
  CHECK(captured.take().empty());
}

TEST_CASE("one line of many: the first, and what it announces") {
  CHECK(net::one_line("") == "");
  CHECK(net::one_line("all of it") == "all of it");
  CHECK(net::one_line("first\nsecond") == "first");
  CHECK(net::one_line("why:\nthis\nstack") == "why: this");
  CHECK(net::one_line("why:\nFetchFailed(x, message=\ngone\n)") ==
        "why: FetchFailed(x, message=gone");
  CHECK(net::one_line("why:\n") == "why: ");
  CHECK(net::one_line("why:") == "why:");
}

TEST_CASE("a stderr that nobody reads loses lines, not time, and says so later") {
  CapturedStderr captured;
  captured.fill();
  for (int i = 0; i < 1000; ++i) net::log(net::Level::Info, "x", "lost");
  captured.take();
  net::log(net::Level::Info, "x", "back");
  std::string text = captured.take();
  CHECK(text.starts_with("1000 log lines were lost: stderr was not read\n"));
  CHECK(text.ends_with("INFO x: back\n"));
}

TEST_CASE("records of many threads don't mix") {
  CapturedStderr captured;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 50; ++i) net::log(net::Level::Info, "t", std::string(60, char('a' + t)));
    });
  for (auto& t : threads) t.join();
  std::string text = captured.take();
  std::regex line(R"(.{22}INFO t: (a{60}|b{60}|c{60}|d{60}))");
  size_t lines = 0;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1, ++lines)
    CHECK(std::regex_match(text.substr(at, end - at), line));
  CHECK(lines == 200);
}
