// Records by very many parts: what their buffers take is bounded, and counted.
#include "core/shuffle/spilling/spilled_parts.hpp"

#include "core/storage/stores/memory_pool.hpp"
#include "tests/core/api/local_runtime.hpp"
#include "tests/core/storage/fake_files.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using tests::LocalRuntime;

namespace {

constexpr int64_t kFree = 1 << 20;  // of a step

struct Parts {
  Parts(const char* memory, int32_t parts)
      : runtime(1, conf::Conf::of({{"spark.executor.memory", memory}})),
        bound(std::max<int64_t>(16 << 20, 768 * int64_t{parts})) {
    task.services = &runtime.services;
    spilled.emplace(task, parts, "temp_local", PieceFormat{});
  }
  void add(int32_t part, size_t bytes) {
    spilled->buffer(part).append(bytes, static_cast<char>(part));
    spilled->added(part);
    added += static_cast<int64_t>(bytes);
  }
  int64_t in_buffers() {
    int64_t sum = 0;
    for (int32_t part = 0; part < spilled->size(); ++part)
      sum += static_cast<int64_t>(spilled->buffer(part).capacity());
    return sum;
  }
  int64_t counted() { return runtime.services.memory().use().execution + kFree; }
  /// Bytes of all parts, each of them checked.
  int64_t read() {
    int64_t sum = 0;
    for (int32_t part = 0; part < spilled->size(); ++part) {
      SpilledReader reader(*spilled, part);
      while (const auto records = reader.next()) {
        sum += static_cast<int64_t>(records->size());
        CHECK(records->find_first_not_of(static_cast<char>(part)) == std::string_view::npos);
      }
    }
    return sum;
  }
  LocalRuntime runtime;
  const int64_t bound;
  TaskContext task;
  std::optional<SpilledParts> spilled;
  int64_t added = 0;
};

}  // namespace

TEST_CASE("buffers of very many parts take little memory, and all of it is counted", "[spill]") {
  for (const int32_t parts : {32, 1000, 10000, 40000}) {
    CAPTURE(parts);
    Parts p("4g", parts);
    for (int32_t part = 0; part < parts; ++part) p.add(part, 10);
    CHECK(p.in_buffers() <= p.bound);
    CHECK(p.counted() >= p.in_buffers());
    for (int round = 0; round < 12; ++round)
      for (int32_t part = 0; part < parts; ++part) p.add(part, 100);
    p.add(7, 3 << 20);  // its buffer had to grow
    CHECK(p.in_buffers() <= p.bound);
    CHECK(p.counted() >= std::max(p.in_buffers(), p.added));
    p.spilled->finish();
    CHECK(p.task.metrics.memory_spilled == 0);
    CHECK(p.read() == p.added);
    p.spilled.reset();
    CHECK(p.runtime.services.memory().use().execution == 0);
  }
}

TEST_CASE("very many parts of a task without memory are written in runs", "[spill]") {
  constexpr int32_t kParts = 10000;
  Parts p("512k", kParts);
  for (int round = 0; round < 40; ++round)
    for (int32_t part = 0; part < kParts; ++part) p.add(part, 100);
  CHECK(p.in_buffers() <= 768 * int64_t{kParts});
  CHECK(p.task.metrics.disk_spilled > p.added / 2);
  p.spilled->finish();
  CHECK(p.read() == p.added);
}

TEST_CASE("of what was spilled one run of a part, or one piece of it, is in sight at a time",
          "[spill]") {
  constexpr int32_t kParts = 2;
  constexpr int kRuns = 5, kRecords = 20000, kRecord = 100;
  tinderbox::test::FakeFiles disk;
  Parts p("4g", kParts);
  p.runtime.services.disk = &disk;
  disk.directories.insert(p.runtime.services.directory);
  for (int run = 0; run < kRuns; ++run) {
    for (int32_t at = 0; at < kParts * kRecords; ++at) p.add(at % kParts, kRecord);
    p.spilled->spill();
  }
  p.spilled->finish();
  int runs = 0;
  int64_t longest = 0;
  p.spilled->take(0, [&](const Payload& pieces) {
    ++runs;
    longest = std::max(longest, static_cast<int64_t>(pieces.size()));
    CHECK(disk.viewed() == static_cast<int64_t>(pieces.size()));
  });
  CHECK(runs == kRuns);
  CHECK(disk.most_viewed() == longest);
  CHECK(disk.viewed() == 0);
  SpilledReader reader(*p.spilled, 1);
  int64_t most = 0, read = 0;
  while (const auto records = reader.next()) {
    most = std::max(most, disk.viewed());
    read += static_cast<int64_t>(records->size());
  }
  CHECK(read == int64_t{kRuns} * kRecords * kRecord);
  CHECK(most > 0);
  CHECK(most < longest / 4);
}
