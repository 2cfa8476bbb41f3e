// Input of tasks that wait, fetched before they begin: two processes over real sockets, and a
// driver that the test plays.
#include "core/executor/task_services.hpp"

#include <thread>

#include "core/shuffle/blocks/map_status.hpp"
#include "core/shuffle/blocks/wants.hpp"
#include "core/storage/map_outputs/map_output_group.hpp"
#include "tests/core/executor/shuffle_process.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

/// The first letter of each output's block that reducer `r` reads, in the order of the maps; "!"
/// for one that can't be had, "?" for one that is missing.
std::string read(ShuffleProcess& p, const MapOutputs& all, int32_t r) {
  const std::atomic<bool> killed{false};
  const std::vector<BlockWant> wants = shuffle_wants(all, {all.shuffle, r}, *p.services).blocks;
  const auto stream = p.services->fetch(wants, killed);
  std::string text(all.statuses.size(), '?');
  const auto put = [&](const MapOutputOf& output, const Result<std::string_view>& bytes) {
    const bool whole = bytes && bytes->ends_with(std::to_string(r));
    text.at(static_cast<size_t>(output.map_index)) = whole ? bytes->front() : '!';
  };
  while (std::optional<FetchedBlock> block = stream->next()) {
    const BlockWant& want = wants[block->index];
    if (!block->bytes) CHECK(block->bytes.error().message.find(want.block) != std::string::npos);
    const auto bytes = block->bytes ? Result<std::string_view>(block->bytes->view())
                                    : Result<std::string_view>(block->bytes.error());
    if (want.group.empty()) put(want.output, bytes);
    GroupReader group(bytes ? *bytes : std::string_view());
    for (const MapOutputOf& output : want.group) put(output, bytes ? group.next() : bytes);
  }
  return text;
}

/// Waits until the room for what goes ahead is `bytes`.
void wait_for_room(ShuffleProcess& p, int64_t bytes) {
  while (p.transfer->room_ahead() != bytes) std::this_thread::yield();
}

constexpr int64_t kRoom = 20'000;
/// What a block of `write` has, which is less than its status says: it shows whether it came.
constexpr int64_t kSize = 100;
/// What it takes of the room; what two of them do that come as one group.
constexpr int64_t kWeight = BlocksAhead::weight_of(kSize);
constexpr int64_t kPairWeight = BlocksAhead::weight_of(2 * (kSize + 4));
Bytes content(char letter) { return Bytes(kSize - 1, letter); }

}  // namespace

TEST_CASE("small outputs say that they are in memory, and are asked for there", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0);
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
  CHECK(wants.blocks[1].output.map_index == 1);
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
    ShuffleProcess a(files, "1", 0), b(files, "2", kRoom);
    const MapOutputs all =
        outputs({a.write(1, content('x')), b.write(2, content('y')), a.write(3, content('z'))});
    const std::vector<ShuffleRead> reads = {{ShuffleId{1}, 0}, {ShuffleId{1}, 2}};
    if (!known) b.services->expect(7, reads);
    b.services->on_driver_message(ToExecutor{all});
    if (known) b.services->expect(7, reads);
    wait_for_room(b, kRoom - 2 * kPairWeight);  // those of its own process need none
    a.transfer->stop();
    CHECK(read(b, all, 0) == "xyz");
    CHECK(read(b, all, 0) == "!y!");  // each goes to one reader
    CHECK(read(b, all, 1) == "!y!");  // nobody expected it
    CHECK(b.transfer->room_ahead() == kRoom - kPairWeight);
    if (stage_ends)
      b.services->forget_program(7);
    else
      b.services->on_driver_message(ToExecutor{RemoveShuffle{ShuffleId{1}}});
    CHECK(b.transfer->room_ahead() == kRoom);
    CHECK(read(b, all, 2) == (stage_ends ? "!y!" : "!!!"));
  }
}

TEST_CASE("blocks of its own, however many, take no room from those of others", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", kRoom);
  std::vector<MapStatus> statuses{a.write(1, content('x'))};
  for (int64_t own = 2; own * kSize <= kRoom; ++own) statuses.push_back(b.write(own, content('y')));
  const MapOutputs all = outputs(std::move(statuses));
  const std::vector<BlockWant> wants = wants_of_others(all, {all.shuffle, 0}, *b.services);
  REQUIRE(wants.size() == 1);
  CHECK(wants[0].block == "shuffle_1_1_0");
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {{ShuffleId{1}, 0}, {ShuffleId{1}, 1}});
  wait_for_room(b, kRoom - 2 * kWeight);
  a.transfer->stop();
  CHECK(read(b, all, 1).front() == 'x');
}

TEST_CASE("what many tasks of several stages will read comes, in however many requests",
          "[fetch_ahead]") {
  constexpr int32_t kReducers = 40;
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x'), kReducers)});
  std::vector<ShuffleRead> early, late;
  for (int32_t r = 0; r < kReducers; ++r) (r < 30 ? early : late).push_back({ShuffleId{1}, r});
  b.services->expect(7, early);
  b.services->expect(8, late);
  b.services->on_driver_message(ToExecutor{all});
  // Two digits from the tenth on.
  wait_for_room(b, kRoom - kReducers * kWeight - (kReducers - 10));
  a.transfer->stop();
  b.services->forget_program(8);
  for (int32_t r = 0; r < kReducers; ++r) CHECK(read(b, all, r) == (r < 30 ? "x" : "!"));
  CHECK(b.transfer->room_ahead() == kRoom);
}

TEST_CASE("adjacent partitions go ahead, and come, as one block of each output", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), c(files, "3", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x')), c.write(2, content('y'))});
  const ShuffleRead read{ShuffleId{1}, 0, 3};
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {read});
  wait_for_room(b, kRoom - 2 * BlocksAhead::weight_of(3 * kSize));
  a.transfer->stop();
  c.transfer->stop();
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
  ShuffleProcess gone(files, "1", 0), holder(files, "3", 0), b(files, "2", kRoom);
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
    if (epoch == 2) wait_for_room(b, kRoom - 2 * kWeight);
    CHECK(read(b, all, 1) == "x");
    b.services->forget_program(7);
  }
}

TEST_CASE("what can't be had ahead is no error until a task asks", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x')), b.write(2, content('y'))});
  a.transfer->stop();
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {{ShuffleId{1}, 0}});
  wait_for_room(b, kRoom);  // it was given up
  CHECK(read(b, all, 0) == "!y");
}

TEST_CASE("a missing output, or no room, leaves the rest to the task itself", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", 2 * kWeight);
  MapOutputs all = outputs({a.write(1, content('x'))});
  all.statuses.emplace_back();
  b.services->on_driver_message(ToExecutor{all});
  b.services->expect(7, {{ShuffleId{1}, 0}, {ShuffleId{1}, 1}, {ShuffleId{1}, 2}});
  wait_for_room(b, kWeight);  // two as large as it was said to be did not fit
  for (int32_t r = 0; r < 3; ++r) CHECK(read(b, all, r) == "x?");
  CHECK(b.transfer->room_ahead() == 2 * kWeight);
}

TEST_CASE("of what has no room only the first is passed over, whose task runs and asks by itself",
          "[fetch_ahead]") {
  struct Case {
    std::vector<ShuffleRead> reads;
    int64_t room = 0;
  };
  const int64_t room = kWeight + kSize;
  const ShuffleRead large{ShuffleId{1}, 0, 3}, small{ShuffleId{1}, 2};
  for (const Case& c : {Case{{large, small, small}, kSize}, Case{{small, large, small}, kSize},
                        Case{{large, large, small}, room}}) {
    tinderbox::test::FakeFiles files;
    ShuffleProcess a(files, "1", 0), b(files, "2", room);
    const MapOutputs all = outputs({a.write(1, content('x'))});
    b.services->on_driver_message(ToExecutor{all});
    b.services->expect(7, c.reads);
    wait_for_room(b, c.room);
    CHECK(read(b, all, 0) == "x");
  }
}

TEST_CASE("reads of a program that is over are forgotten", "[fetch_ahead]") {
  tinderbox::test::FakeFiles files;
  ShuffleProcess a(files, "1", 0), b(files, "2", kRoom);
  const MapOutputs all = outputs({a.write(1, content('x'))});
  b.services->expect(7, {{ShuffleId{1}, 0}});
  b.services->expect(8, {{ShuffleId{1}, 1}});
  b.services->forget_program(7);
  b.services->on_driver_message(ToExecutor{all});
  wait_for_room(b, kRoom - kWeight);
  a.transfer->stop();
  CHECK(read(b, all, 0) == "!");
  CHECK(read(b, all, 1) == "x");
}
