// How persisted partitions are computed, kept and read, over the real stores.
#include <future>

#include "core/api/steps/narrow/narrow.hpp"
#include "tests/core/api/steps/stored_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::tests;

namespace {

constexpr int kEmitted = 64;  // records of 1 MiB

/// What a whole partition that is emitted in one batch leaves in memory at most.
struct Emitting {
  static inline StoredServices* services = nullptr;
  static inline int64_t peak = 0;
  static std::string record(int i) {
    return std::string(static_cast<size_t>(kMiB), static_cast<char>('a' + i % 26));
  }
  static auto emit() {
    return [](int32_t, Partition<std::string>&, Emitter<std::string>& out) {
      for (int i = 0; i < kEmitted; ++i) {
        peak = std::max(peak, i * kMiB - services->all_files.appended.load());
        out(record(i));
      }
    };
  }
};

/// How many of the emitted records come back as they were.
int scan_emitted(StoredServices& services, const StorageLevel& level) {
  Emitting::services = &services;
  services.all_files.appended = 0;
  Emitting::peak = 0;
  PartitionsNode<std::string, decltype(Emitting::emit()), std::string> node(Emitting::emit());
  node.id = RddId{2};
  node.storage_bits = pack_level(level);
  node.dependencies = {NarrowDependency{.parent = std::make_shared<Records>(1, StorageLevel{})}};
  Reader reader(services);
  int n = 0;
  const auto cursor = open_partition<std::string>(node, 0, reader.context);
  drive<std::string>(*cursor, reader.context, [&](std::string&& record) {
    n += record == Emitting::record(n) ? 1 : 0;
    return true;
  });
  return n;
}

}  // namespace

TEST_CASE("of an Rdd that does not fit the first partitions stay: a second scan reads them",
          "[storage]") {
  StoredServices services(16 * kMiB);
  const Records records(1, kMemoryOnly);  // 2 MiB a partition
  Reader reader(services);
  for (int scan = 0; scan < 2; ++scan) {
    records.computed = 0;
    for (int32_t p = 0; p < 20; ++p) CHECK(reader.count(records, p) == records.count);
  }
  CHECK(records.computed >= 12);
  CHECK(records.computed <= 14);
}

TEST_CASE("partitions of another Rdd make room for what is kept next", "[storage]") {
  StoredServices services(16 * kMiB);
  const Records old(1, kMemoryOnly), fresh(2, kMemoryOnly);
  Reader reader(services);
  for (int32_t p = 0; p < 20; ++p) CHECK(reader.count(old, p) == old.count);
  for (int32_t p = 0; p < 4; ++p) CHECK(reader.count(fresh, p) == fresh.count);
  fresh.computed = 0;
  for (int32_t p = 0; p < 4; ++p) CHECK(reader.count(fresh, p) == fresh.count);
  CHECK(fresh.computed == 0);
}

TEST_CASE("a batch that is a whole partition overruns what there is room for by little",
          "[storage]") {
  StoredServices services(16 * kMiB);
  const bool disk = GENERATE(false, true);
  CHECK(scan_emitted(services, {.disk = disk, .memory = true}) == kEmitted);
  CHECK(Emitting::peak >= 12 * kMiB);
  CHECK(Emitting::peak <= (16 + 6) * kMiB);
  CHECK(services.all_files.path_of("temp_unrolled").empty());
  CHECK(services.memory().use().execution == 0);
  // With disk it is there, in a file; without it is computed again.
  CHECK(services.blocks->contains("rdd_2_0") == disk);
  Emitting::peak = 0;
  CHECK(scan_emitted(services, {.disk = disk, .memory = true}) == kEmitted);
  CHECK((Emitting::peak == 0) == disk);
}

TEST_CASE("a partition whose file is damaged before it is stored is not read", "[storage]") {
  StoredServices services(16 * kMiB);
  services.all_files.damage = "temp_unrolled";
  CHECK_THROWS_WITH(scan_emitted(services, {.disk = true, .memory = true}),
                    Catch::StartsWith("cannot store a partition: ") &&
                        Catch::EndsWith("is corrupted due to DISK_ISSUE"));
  CHECK_FALSE(services.blocks->contains("rdd_2_0"));
  CHECK(services.all_files.path_of("temp_unrolled").empty());
}

TEST_CASE("records of a partition that has no room go to their reader, not to a file",
          "[storage]") {
  StoredServices services(4 * kMiB);
  Records records(1, kMemoryOnly);
  records.count = 200;  // 12.5 MiB
  Reader reader(services);
  CHECK(reader.count(records) == records.count);
  CHECK(services.all_files.appended == 0);
  CHECK_FALSE(services.blocks->contains("rdd_1_0"));
}

TEST_CASE("records that were not stored count as the task's memory until they are read",
          "[storage]") {
  StoredServices services(16 * kMiB);
  Records records(1, kMemoryOnly);
  const bool partial = GENERATE(false, true);
  if (partial) records.count = 400;  // 25 MiB: there is no room for all
  services.refuse = !partial;
  Reader reader(services);
  auto cursor = open_partition<std::string>(records, 0, reader.context);
  const int64_t held = services.memory().use().execution;
  CHECK(held >= (partial ? 14 : 1) * kMiB);
  size_t n = 0;
  drive<std::string>(*cursor, reader.context, [&](std::string&&) {
    ++n;
    if (n <= 16) CHECK(services.memory().use().execution == held);
    if (n == 399) CHECK(services.memory().use().execution == 0);
    return true;
  });
  CHECK(n == records.count);
  CHECK(services.memory().use().execution == 0);
}

TEST_CASE("a second task that wants the same partition waits for the first, then reads it",
          "[storage]") {
  StoredServices services(16 * kMiB);
  Records records(1, kMemoryOnly);
  const bool fails = GENERATE(false, true);
  // The first one goes on when the second one has found nothing.
  std::atomic<bool> begun{false};
  records.before = [&](size_t) {
    if (begun.exchange(true)) return;
    services.wait_for_asked(2);
    if (fails) throw std::runtime_error("its disk is gone");
  };
  auto first = std::async(std::launch::async, [&] { return Reader(services, 1).count(records); });
  services.wait_for_asked(1);
  CHECK(Reader(services, 2).count(records) == records.count);
  if (fails)
    CHECK_THROWS_AS(first.get(), std::runtime_error);
  else
    CHECK(first.get() == records.count);
  CHECK(records.computed == (fails ? 2 : 1));
}

TEST_CASE("a killed task does not wait for the one that computes its partition", "[storage]") {
  StoredServices services(16 * kMiB);
  Records records(1, kMemoryOnly);
  std::promise<void> door;
  std::atomic<bool> begun{false};
  records.before = [&, open = door.get_future().share()](size_t) {
    if (!begun.exchange(true)) open.wait();
  };
  auto first = std::async(std::launch::async, [&] { return Reader(services, 1).count(records); });
  services.wait_for_asked(1);
  Reader second(services, 2);
  auto waiting = std::async(std::launch::async, [&] { return second.count(records); });
  services.wait_for_asked(2);
  second.context.killed = true;
  services.block_locks().interrupt();
  CHECK_THROWS_AS(waiting.get(), TaskKilledException);
  door.set_value();
  CHECK(first.get() == records.count);
  CHECK(records.computed == 1);
}

TEST_CASE("what a killed task has of a partition is not kept as if it were all", "[storage]") {
  StoredServices services(16 * kMiB);
  const auto part = [](int32_t, Partition<std::string>&, Emitter<int>& out) {
    for (int i = 0; i < 5000; ++i) {
      if (i == 500) TaskContext::current()->killed = true;
      if (!out(i)) return;
    }
  };
  PartitionsNode<int, decltype(part), std::string> node(part);
  node.id = RddId{2};
  node.storage_bits = pack_level({.disk = true, .memory = true});
  node.dependencies = {NarrowDependency{.parent = std::make_shared<Records>(1, StorageLevel{})}};
  Reader reader(services);
  TaskContext::set_current(&reader.context);
  CHECK_THROWS_AS(open_partition<int>(node, 0, reader.context), TaskKilledException);
  node.storage_bits = 0;
  reader.context.killed = false;
  const auto cursor = open_partition<int>(node, 0, reader.context);
  CHECK_THROWS_AS(drive<int>(*cursor, reader.context, [](int) { return true; }),
                  TaskKilledException);
  TaskContext::set_current(nullptr);
  CHECK_FALSE(services.blocks->contains("rdd_2_0"));
}

TEST_CASE("a partition that only the disk keeps is read from there", "[storage]") {
  StoredServices services(16 * kMiB);
  Records records(1, {.disk = true});
  Reader reader(services);
  services.asked = 0;
  CHECK(reader.count(records) == records.count);
  CHECK(services.asked == 2);  // before it was computed, and after it was stored
  CHECK(records.computed == 1);
}
