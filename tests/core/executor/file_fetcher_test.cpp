// The thread that fetches files beside an executor's loop.
#include "core/executor/file_fetcher.hpp"

#include "tests/core/executor/running_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

TEST_CASE("shipped files are fetched in order beside their owner, whatever becomes of them",
          "[file_fetcher]") {
  Gate server, done;
  std::vector<std::string> log;  // the fetching thread's, until `done`
  FileFetcher fetcher(
      [&](const AddFiles& what, const std::atomic<bool>&) -> Result<bool> {
        server.pass();
        log.push_back(what.files.at(0));
        if (what.files.at(0) == "bad") return Error{"none"};
        return true;
      },
      [&](Result<bool> got) {
        log.push_back(got ? "got" : got.error().message);
        if (log.size() == 4) done.open();
      });
  fetcher.add({{"bad"}, {}});
  fetcher.add({{"good"}, {}});
  server.open();
  done.pass();
  CHECK(log == std::vector<std::string>{"bad", "none", "good", "got"});
}

TEST_CASE("the stop waits no longer than it may for a fetch that is deaf", "[file_fetcher]") {
  Gate begun, server;
  std::atomic<int> fetches{0};
  FileFetcher fetcher(
      [&](const AddFiles&, const std::atomic<bool>&) -> Result<bool> {
        ++fetches;
        begun.open();
        server.pass();
        return true;
      },
      [](Result<bool>) {});
  fetcher.add({{"a"}, {}});
  fetcher.add({{"b"}, {}});
  begun.pass();
  CHECK_FALSE(fetcher.stop_within(std::chrono::milliseconds(1)));
  server.open();
  CHECK(fetcher.stop_within(std::chrono::minutes(1)));
  CHECK(fetches == 1);
}
