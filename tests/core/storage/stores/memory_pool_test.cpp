// How tasks and blocks share memory.
#include "core/storage/stores/memory_pool.hpp"

#include <thread>
#include <vector>

#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

const std::atomic<bool> kAlive{false};
constexpr TaskId kA{1}, kB{2}, kC{3};

}  // namespace

TEST_CASE("a task alone gets all that blocks don't have, then nothing", "[storage]") {
  MemoryPool pool(1000, 500);
  REQUIRE(pool.take_storage(300));
  CHECK(pool.acquire(kA, 600, kAlive) == 600);
  CHECK(pool.acquire(kA, 600, kAlive) == 100);
  CHECK(pool.acquire(kA, 1, kAlive) == 0);
  CHECK(pool.free() == 0);
  pool.release(kA, 200);
  CHECK(pool.free() == 200);
  CHECK(pool.acquire(kA, 600, kAlive) == 200);
}

TEST_CASE("each of n tasks gets at most 1/n, and what a task gives back is the others'",
          "[storage]") {
  MemoryPool pool(1200, 0);
  CHECK(pool.acquire(kA, 10, kAlive) == 10);
  CHECK(pool.acquire(kB, 5000, kAlive) == 600);
  CHECK(pool.acquire(kA, 5000, kAlive) == 590);
  CHECK(pool.acquire(kB, 1, kAlive) == 0);
  pool.release(kA, 600);
  CHECK(pool.acquire(kB, 5000, kAlive) == 600);
}

TEST_CASE("a task that others leave too little waits until one gives back", "[storage]") {
  MemoryPool pool(1000, 0);
  CHECK(pool.acquire(kA, 1000, kAlive) == 1000);
  std::atomic<int64_t> given{-1};
  std::thread second([&] { given = pool.acquire(kB, 400, kAlive); });
  CHECK(given == -1);
  pool.release(kA, 500);
  second.join();
  CHECK(given == 400);
}

TEST_CASE("a task may give back all it has while it waits for more in another thread",
          "[storage]") {
  MemoryPool pool(1000, 0);
  CHECK(pool.acquire(kA, 100, kAlive) == 100);
  CHECK(pool.take_storage(900));
  int evictions = 0;
  pool.on_shortage([&](int64_t, tinderbox::RddId) {
    if (evictions++ == 0) pool.release(kA, 100);
    pool.give_storage(500);
  });
  CHECK(pool.acquire(kA, 200, kAlive) == 200);
  CHECK(pool.use().execution == 200);
}

TEST_CASE("a killed task does not wait", "[storage]") {
  MemoryPool pool(1000, 0);
  CHECK(pool.acquire(kA, 1000, kAlive) == 1000);
  std::atomic<bool> killed{false};
  std::thread second([&] { CHECK(pool.acquire(kB, 400, killed) == 0); });
  killed = true;
  pool.interrupt();
  second.join();
  CHECK(pool.use().execution == 1000);
}

TEST_CASE("tasks throw blocks out until these have their region left; blocks never do",
          "[storage]") {
  MemoryPool pool(1000, 400);
  std::vector<int64_t> asked;
  pool.on_shortage([&](int64_t bytes, RddId) {
    asked.push_back(bytes);
    pool.give_storage(bytes);
  });
  REQUIRE(pool.take_storage(900));
  CHECK(pool.acquire(kA, 100, kAlive) == 100);
  CHECK(asked.empty());
  CHECK(pool.acquire(kA, 300, kAlive) == 300);
  CHECK(pool.acquire(kA, 300, kAlive) == 200);
  CHECK(asked == std::vector<int64_t>{300, 200});
  CHECK(pool.use().storage == 400);
  CHECK_FALSE(pool.take_storage(1));
  CHECK(pool.use().execution == 600);
}

TEST_CASE("blocks that are thrown out for tasks go to disk as their levels say", "[storage]") {
  Store s;  // 100 bytes
  CHECK(s.put("rdd_1_0", kMemoryAndDisk, 40));
  CHECK(s.put("rdd_2_0", kMemoryOnly, 40));
  CHECK(s.blocks->memory().acquire(kA, 60, kAlive) == 60);
  CHECK(s.get("rdd_1_0") == "x40");
  CHECK(s.get("rdd_2_0") == "x40");
  CHECK(s.news() == std::vector<std::string>{"rdd_1_0 memory", "rdd_2_0 memory", "rdd_1_0 disk"});
  CHECK(s.blocks->memory().use().storage == 40);
  // What tasks hold is not for blocks: the next one goes past memory.
  CHECK(s.put("rdd_3_0", kMemoryAndDisk, 50));
  CHECK(s.news() == std::vector<std::string>{"rdd_3_0 disk"});
  CHECK_FALSE(s.put("rdd_4_0", kMemoryOnly, 60));
  s.blocks->memory().release(kA, 60);
  CHECK(s.put("rdd_4_0", kMemoryOnly, 60));
}

TEST_CASE("many threads: nothing is given twice, nothing is lost", "[storage]") {
  MemoryPool pool(10000, 3000);
  pool.on_shortage([](int64_t, RddId) {});
  std::vector<std::thread> threads;
  std::atomic<bool> over{false};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      const TaskId task{t};
      for (int i = 0; i < 300; ++i) {
        const int64_t given = pool.acquire(task, 500 + i, kAlive);
        const MemoryPool::Use use = pool.use();
        if (use.execution + use.storage > pool.size()) over = true;
        pool.release(task, given);
        if (pool.take_storage(100)) pool.give_storage(100);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(over);
  CHECK(pool.free() == pool.size());
  CHECK(pool.acquire(kC, 20000, kAlive) == 10000);
}
