// Block transfer of a process without network, used by many threads.
#include "core/storage/transfer/block_transfer.hpp"

#include <deque>
#include <thread>

#include "tests/core/storage/fake_files.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

TEST_CASE("who fetches is told once, whatever stops at the same time", "[block_transfer]") {
  constexpr int kRounds = 500, kThreads = 4, kFetches = 50;
  tinderbox::test::FakeFiles files;
  auto blocks = BlockManager::open(files, {.local_dirs = {"/d"}, .unique_name = "1"}, {});
  REQUIRE(blocks);
  BlockTransferOptions options;
  options.network = false;
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    BlockTransfer transfer(options, **blocks);
    std::deque<std::atomic<int>> told(kThreads * kFetches);
    std::atomic<int> begun{0};
    const auto fetch = [&](size_t first) {
      for (size_t i = first; i < first + kFetches; ++i) {
        ++begun;
        transfer.fetch_async({.from = {ExecutorId{"2"}, "host", "host:1"}, .block = "rdd_1_0"},
                             [&, i](const Result<Payload>&) { ++told[i]; });
      }
    };
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) threads.emplace_back(fetch, t * kFetches);
    while (begun < kThreads * kFetches / 4) std::this_thread::yield();
    transfer.stop();
    for (std::thread& thread : threads) thread.join();
    for (const std::atomic<int>& times : told) wrong += times != 1;
  }
  CHECK(wrong == 0);
}
