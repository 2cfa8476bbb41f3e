// Input of tasks that wait, fetched before they begin: two processes over real sockets, and a
// driver that the test plays.
#include "core/executor/task_services.hpp"

#include <thread>

#include "core/shuffle/map_status.hpp"
#include "core/shuffle/wants.hpp"
#include "tests/core/storage/transfer/block_process.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using tinderbox::core::test::BlockProcess;
using namespace std::chrono_literals;

namespace {

struct NoDriver : DriverLink {
  void send(ToDriver) override {}
};

struct AheadProcess : BlockProcess {
  NoDriver driver;
  std::unique_ptr<ExecutorServices> services;

  AheadProcess(tinderbox::test::FakeFiles& files, const std::string& name, int64_t max_ahead)
      : BlockProcess(files, name, "host", 1000, [&](BlockTransferOptions& options) {
          options.client.max_retries = 0;
          options.max_ahead = max_ahead;
        }) {
    ExecutorServicesOptions so;
    so.self = id;
    services = std::make_unique<ExecutorServices>(so, *blocks, *transfer, driver);
  }
  /// A map output of shuffle 1: `content`, for each of three reducers with its number.
  MapStatus write(int64_t map_id, const std::string& content) {
    auto output = services->map_output(ShuffleId{1}, map_id, 0, 3);
    for (int32_t r = 0; r < 3; ++r) REQUIRE(output->append(r, content + std::to_string(r)));
    auto status = output->commit();
    REQUIRE(status);
    return *status;
  }
};

MapOutputs outputs(std::vector<MapStatus> statuses) {
  MapOutputs m;
  m.shuffle = ShuffleId{1};
  m.epoch = 0;
  for (MapStatus& status : statuses) m.statuses.emplace_back(std::move(status));
  return m;
}

/// The first letter of each block that reducer `r` reads, in the order of the maps; "!" for one
/// that can't be had.
std::string read(AheadProcess& p, const MapOutputs& all, int32_t r) {
  const std::atomic<bool> killed{false};
  const std::vector<BlockWant> wants = shuffle_wants(all, {all.shuffle, r}, *p.services).blocks;
  const auto stream = p.services->fetch(wants, killed);
  std::string text(wants.size(), '?');
  while (std::optional<FetchedBlock> block = stream->next()) {
    const bool whole = block->bytes && block->bytes->view().ends_with(std::to_string(r));
    text[block->index] = whole ? block->bytes->view()[0] : '!';
    if (!block->bytes)
      CHECK(block->bytes.error().message.find(wants[block->index].block) != std::string::npos);
  }
  return text;
}

/// Waits until the room for what goes ahead is `bytes`.
void wait_for_room(AheadProcess& p, int64_t bytes) {
  while (p.transfer->room_ahead() != bytes) std::this_thread::yield();
}

constexpr int64_t kRoom = 10'000;
/// What a block of `write` has, which is less than its status says: it shows whether it came.
constexpr int64_t kSize = 100;
Bytes content(char letter) { return Bytes(kSize - 1, letter); }

}  // namespace

TEST_CASE("small outputs say that they are in memory, and are asked for there", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess a(files, "1", 0);
  const MapStatus small = a.write(1, "a"), large = a.write(2, Bytes(2000, 'b'));
  CHECK(small.in_memory);
  CHECK_FALSE(large.in_memory);
  const ShuffleRead one{ShuffleId{1}, 1};
  const ShuffleWants wants = shuffle_wants(outputs({small, large}), one, *a.services);
  CHECK(wants.complete);
  REQUIRE(wants.blocks.size() == 2);
  CHECK(wants.blocks[0].in_memory);
  CHECK_FALSE(wants.blocks[1].in_memory);
  CHECK(wants.blocks[1].block == "shuffle_1_2_1");
  CHECK(wants.blocks[1].map_index == 1);
  MapOutputs missing = outputs({small});
  missing.statuses.emplace_back();
  CHECK_FALSE(shuffle_wants(missing, one, *a.services).complete);
}

TEST_CASE(
    "what tasks will read is there before they ask, be it expected before or after it is "
    "known where it lies",
    "[fetch_ahead]") {
  for (const auto& [known, stage_ends] :
       {std::pair(false, true), std::pair(true, true), std::pair(true, false)}) {
    CAPTURE(known, stage_ends);
    tinderbox::test::FakeFiles files;
    AheadProcess a(files, "1", 0), b(files, "2", kRoom);
    const MapOutputs all =
        outputs({a.write(1, content('x')), b.write(2, content('y')), a.write(3, content('z'))});
    const std::vector<ShuffleRead> reads = {{ShuffleId{1}, 0}, {ShuffleId{1}, 2}};
    if (!known) b.services->expect(7, reads);
    b.services->on_driver_message(ToExecutor{all});
    if (known) b.services->expect(7, reads);
    wait_for_room(b, kRoom - 4 * kSize);  // those of its own process need none
    a.transfer->stop();
    CHECK(read(b, all, 0) == "xyz");
    CHECK(read(b, all, 0) == "!y!");  // each goes to one reader
    CHECK(read(b, all, 1) == "!y!");  // nobody expected it
    CHECK(b.transfer->room_ahead() == kRoom - 2 * kSize);
    if (stage_ends)
      b.services->forget_program(7);
    else
      b.services->on_driver_message(ToExecutor{RemoveShuffle{ShuffleId{1}}});
    CHECK(b.transfer->room_ahead() == kRoom);
    CHECK(read(b, all, 2) == (stage_ends ? "!y!" : "!!!"));
  }
}

TEST_CASE("adjacent partitions go ahead, and come, as one block of each output", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x')), a.write(2, content('y'))});
  const ShuffleRead read{ShuffleId{1}, 0, 3};
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {read});
  wait_for_room(b, kRoom - 2 * 3 * kSize);
  a.transfer->stop();
  const std::vector<BlockWant> wants = shuffle_wants(all, read, *b.services).blocks;
  REQUIRE(wants.size() == 2);
  CHECK(wants[1].block == "shuffle_1_2_0_3");
  const std::atomic<bool> killed{false};
  const auto stream = b.services->fetch(wants, killed);
  std::map<size_t, Bytes> came;
  while (std::optional<FetchedBlock> block = stream->next()) {
    REQUIRE(block->bytes);
    came[block->index] = Bytes(block->bytes->view());
  }
  CHECK(came.at(0) == content('x') + "0" + content('x') + "1" + content('x') + "2");
  CHECK(came.at(1) == content('y') + "0" + content('y') + "1" + content('y') + "2");
}

TEST_CASE(
    "an output that moved is asked for at its new place, also when it was expected at its old",
    "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess gone(files, "1", 0), holder(files, "3", 0), b(files, "2", kRoom);
  MapOutputs all = outputs({gone.write(1, content('x'))});
  (void)holder.write(1, content('x'));
  gone.transfer->stop();
  b.services->on_driver_message(ToExecutor{all});
  TaskContext task;
  for (const int64_t epoch : {0, 2}) {
    CAPTURE(
        epoch);  // 0: the stage is from before it moved; 2: what is known is from before the stage
    task.epoch = epoch;
    TaskContext::set_current(&task);
    b.services->expect(7, {{ShuffleId{1}, 0}, {ShuffleId{1}, 1}});
    TaskContext::set_current(nullptr);
    all.epoch = std::max<int64_t>(epoch, 1);
    all.statuses[0]->location = holder.id;
    CHECK(read(b, all, 0) == "x");
    b.services->on_driver_message(ToExecutor{all});
    if (epoch == 2) wait_for_room(b, kRoom - 2 * kSize);
    CHECK(read(b, all, 1) == "x");
    b.services->forget_program(7);
  }
}

TEST_CASE("what can't be had ahead is no error until a task asks", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x')), b.write(2, content('y'))});
  a.transfer->stop();
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {{ShuffleId{1}, 0}});
  wait_for_room(b, kRoom);  // it was given up
  CHECK(read(b, all, 0) == "!y");
}

TEST_CASE("a missing output, or no room, leaves the rest to the task itself", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess a(files, "1", 0), b(files, "2", 2 * kSize);
  MapOutputs all = outputs({a.write(1, content('x'))});
  all.statuses.emplace_back();
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {{ShuffleId{1}, 0}, {ShuffleId{1}, 1}, {ShuffleId{1}, 2}});
  wait_for_room(b, kSize);  // two as large as it was said to be did not fit
  for (int32_t r = 0; r < 3; ++r) CHECK(read(b, all, r) == "x");
  CHECK(b.transfer->room_ahead() == 2 * kSize);
}

TEST_CASE("reads of a program that is over are forgotten", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  AheadProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x'))});
  b.services->expect(7, {{ShuffleId{1}, 0}});
  b.services->expect(8, {{ShuffleId{1}, 1}});
  b.services->forget_program(7);
  b.services->on_driver_message(ToExecutor{all});
  wait_for_room(b, kRoom - kSize);
  a.transfer->stop();
  CHECK(read(b, all, 0) == "!");
  CHECK(read(b, all, 1) == "x");
}
