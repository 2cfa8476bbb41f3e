// What task bodies reach, with a driver that the test plays.
#include "core/executor/task_services.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/executor/executor_service.hpp"
#include "core/shuffle/blocks/map_status.hpp"
#include "tests/core/storage/fake_files.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

/// The driver as the test plays it: what it was asked, and waiting for that.
class FakeDriver : public DriverLink {
 public:
  void send(ToDriver message) override {
    std::lock_guard lock(mutex_);
    asked_.push_back(std::move(message));
    changed_.notify_all();
  }
  /// Waits for message number `n`, from 0.
  ToDriver asked(size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asked_.size() > n; });
    return asked_[n];
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return asked_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ToDriver> asked_;
};

/// One process with blocks, transfer and services.
struct ServingProcess {
  FakeDriver driver;
  std::vector<BlockUpdate> told;
  std::mutex told_mutex;
  std::unique_ptr<BlockManager> blocks;
  std::unique_ptr<BlockTransfer> transfer;
  std::unique_ptr<ExecutorServices> services;
  BlockManagerId id;

  ServingProcess(tinderbox::test::FakeFiles& files, const std::string& name,
                 const ServingProcess* at_driver, Duration ask_timeout = {},
                 int64_t max_message_size = 0) {
    auto opened =
        BlockManager::open(files,
                           {.local_dirs = {"/d", "/e"},
                            .unique_name = name,
                            .memory = 64 << 20,
                            .sub_directories = 64,
                            .map_outputs = {.max_in_memory_output = 8, .max_memory = 1 << 20}},
                           [this](std::vector<BlockUpdate> updates) {
                             std::lock_guard lock(told_mutex);
                             told.insert(told.end(), updates.begin(), updates.end());
                           });
    blocks = std::move(*opened);
    BlockTransferOptions options = block_transfer_options(conf::Conf{});
    options.self = {ExecutorId{name}, "host" + name, ""};
    options.listen.host = "127.0.0.1";
    options.client.retry_wait = 1ms;
    auto started = BlockTransfer::start(options, *blocks);
    REQUIRE(started);
    transfer = std::move(*started);
    id = {ExecutorId{name}, "host" + name, "127.0.0.1:" + std::to_string(transfer->port())};
    ExecutorServicesOptions so;
    so.self = id;
    if (at_driver) so.driver = at_driver->id;
    so.properties = {{"spark.app.name", "test"}};
    so.broadcast_piece_size = 1000;
    so.seed = 5;
    so.ask_timeout = ask_timeout;
    so.max_message_size = max_message_size;
    services = std::make_unique<ExecutorServices>(so, *blocks, *transfer, driver);
  }
  size_t pieces_told() {
    std::lock_guard lock(told_mutex);
    return told.size();
  }
};

MapOutputs outputs(int32_t shuffle, int64_t epoch, size_t maps) {
  MapOutputs m;
  m.shuffle = ShuffleId{shuffle};
  m.epoch = epoch;
  m.statuses.resize(maps);
  return m;
}
std::string spell(const Result<Payload>& bytes) {
  return bytes ? std::string(bytes->view()) : "error: " + bytes.error().message;
}

}  // namespace

TEST_CASE("settings of what task bodies reach, and of heartbeats", "[task_services]") {
  const ExecutorServicesOptions usual = executor_services_options({}),
                                services = executor_services_options(
                                    conf::Conf::of({{"spark.broadcast.blockSize", "7k"},
                                                    {"spark.rpc.askTimeout", "7s"},
                                                    {"spark.rpc.message.maxSize", "7"}}));
  CHECK(usual.broadcast_piece_size == 4 << 20);
  CHECK(usual.ask_timeout == 120s);
  CHECK(services.broadcast_piece_size == 7 << 10);
  CHECK(services.ask_timeout == 7s);
  CHECK(usual.max_message_size == 128 << 20);
  CHECK(services.max_message_size == 7 << 20);
  const ServicesBuilt calm = services_built({}), hasty = services_built(conf::Conf::of(
                                                     {{"spark.executor.heartbeatInterval", "7s"},
                                                      {"spark.executor.heartbeat.maxFailures", "7"},
                                                      {"spark.rpc.message.maxSize", "7"}}));
  CHECK(calm.heartbeat_interval == 10s);
  CHECK(calm.heartbeat_max_failures == 60);
  CHECK(hasty.heartbeat_interval == 7s);
  CHECK(hasty.heartbeat_max_failures == 7);
  CHECK(calm.max_message_size == 128 << 20);
  CHECK(hasty.max_message_size == 7 << 20);
}

TEST_CASE("B11 one question for each shuffle and epoch; a newer epoch clears the answers",
          "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  std::vector<std::thread> askers;
  std::atomic<int> got{0};
  for (int i = 0; i < 4; ++i)
    askers.emplace_back([&] {
      const Result<MapOutputsPtr> all = p.services->map_outputs(ShuffleId{1}, 3);
      if (all && (*all)->statuses.size() == 2) ++got;
    });
  CHECK(std::get<MapOutputsRequest>(p.driver.asked(0)).shuffle == ShuffleId{1});
  CHECK(p.services->on_driver_message(outputs(1, 3, 2)));
  for (std::thread& asker : askers) asker.join();
  CHECK(got == 4);
  CHECK(p.driver.count() == 1);
  CHECK(p.services->map_outputs(ShuffleId{1}, 2));  // an older task uses the newer answer
  CHECK(p.driver.count() == 1);

  std::thread newer([&] {
    const Result<MapOutputsPtr> all = p.services->map_outputs(ShuffleId{1}, 4);
    CHECK((*all)->statuses.size() == 5);
  });
  p.driver.asked(1);
  p.services->on_driver_message(outputs(1, 3, 2));  // from before the loss: asked again
  p.driver.asked(2);
  p.services->on_driver_message(outputs(1, 4, 5));
  newer.join();
  CHECK(p.driver.count() == 3);
}

TEST_CASE("outputs that are told before a task asks are asked for no more", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr, 1ms);
  CHECK(p.services->on_driver_message(outputs(1, 3, 2)));
  const Result<MapOutputsPtr> told = p.services->map_outputs(ShuffleId{1}, 3);
  REQUIRE(told);
  CHECK((*told)->statuses.size() == 2);
  CHECK(p.driver.count() == 0);
  CHECK(!p.services->map_outputs(ShuffleId{1}, 4));  // out of date for a later task: asks, in vain
  CHECK(p.driver.count() == 1);
}

TEST_CASE("a kill, the driver's loss and its silence end a wait for it", "[task_services]") {
  tinderbox::test::FakeFiles files;
  SECTION("kill") {
    ServingProcess p(files, "1", nullptr);
    TaskContext context;
    std::thread killer([&] {
      p.driver.asked(0);
      context.killed = true;
      p.services->interrupt();
    });
    TaskContext::set_current(&context);
    const auto all = p.services->map_outputs(ShuffleId{1}, 1);
    TaskContext::set_current(nullptr);
    killer.join();
    REQUIRE(!all);
    CHECK(all.error().message ==
          "cannot learn where the outputs of shuffle 1 are: the task was killed");
  }
  SECTION("loss") {
    ServingProcess p(files, "1", nullptr);
    std::thread loser([&] {
      p.driver.asked(0);
      p.services->stop("the driver is gone");
    });
    CHECK(!p.services->may_commit({0, StageId{1}, 0, 2, 3, TaskId{7}}));
    loser.join();
    CHECK(!p.services->map_outputs(ShuffleId{1}, 1));
  }
  SECTION("silence") {
    ServingProcess p(files, "1", nullptr, 1ms);
    CHECK(!p.services->map_outputs(ShuffleId{1}, 1));
    CHECK(!p.services->may_commit({0, StageId{1}, 0, 2, 3, TaskId{7}}));
  }
}

TEST_CASE("permission to commit is the driver's", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  for (const bool allowed : {true, false}) {
    const size_t n = p.driver.count();
    std::thread driver([&] {
      const auto ask = std::get<AskPermissionToCommit>(p.driver.asked(n));
      CHECK(ask.task == TaskId{7});
      CHECK(ask.partition == 2);
      CHECK(ask.attempt == 3);
      p.services->on_driver_message(CommitAnswer{ask.request + 100, !allowed});
      p.services->on_driver_message(CommitAnswer{ask.request, allowed});
    });
    CHECK(p.services->may_commit({0, StageId{1}, 0, 2, 3, TaskId{7}}) == allowed);
    driver.join();
  }
}

TEST_CASE("a barrier is waited for longer than any other answer", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr, 1ms);
  std::thread driver([&] {
    const auto ask = std::get<BarrierSync>(p.driver.asked(0));
    CHECK(ask.message == "hello");
    // Its own time limit passes meanwhile.
    CHECK(!p.services->may_commit({0, StageId{1}, 0, 2, 3, TaskId{7}}));
    p.services->on_driver_message(BarrierReached{ask.request, "", {"hello", "world"}});
    const auto again = std::get<BarrierSync>(p.driver.asked(2));
    p.services->on_driver_message(BarrierReached{again.request, "too late", {}});
  });
  BarrierSync sync;
  sync.message = "hello";
  const auto met = p.services->barrier_sync(sync);
  REQUIRE(met);
  CHECK(*met == std::vector<std::string>{"hello", "world"});
  const auto failed = p.services->barrier_sync(sync);
  REQUIRE(!failed);
  CHECK(failed.error().message == "too late");
  driver.join();
}

TEST_CASE("a barrier is told nothing that the driver's socket would not take", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr, {}, 1 << 20);
  BarrierSync sync;
  sync.message.assign(2 << 20, 'x');
  const auto met = p.services->barrier_sync(sync);
  REQUIRE(!met);
  CHECK(met.error().message ==
        "the message of all_gather() has 2097152 bytes, too many for spark.rpc.message.maxSize "
        "(1048576 bytes)");
  CHECK(p.driver.count() == 0);
}

TEST_CASE("a killed task waits at no barrier", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  TaskContext context;
  std::thread task([&] {
    TaskContext::set_current(&context);
    const auto met = p.services->barrier_sync({});
    CHECK((!met && met.error().message == "the task was killed"));
    TaskContext::set_current(nullptr);
  });
  p.driver.asked(0);
  context.killed = true;
  p.services->interrupt();
  task.join();
}

TEST_CASE("a killed task waits for no partition that another computes", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  BlockLock first(p.services->block_locks(), "rdd_1_0");
  REQUIRE(first.try_take());
  std::atomic<bool> killed{false};
  std::thread task([&] {
    BlockLock second(p.services->block_locks(), "rdd_1_0");
    CHECK_FALSE(second.try_take());
    CHECK_FALSE(second.take(killed));
  });
  killed = true;
  p.services->interrupt();
  task.join();
}

TEST_CASE("a map output is written, its sizes are told, and it is fetched again",
          "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  auto writer = p.services->map_output(ShuffleId{1}, 7, 0, 3);
  REQUIRE(writer->append(0, "some bytes that need a file"));
  REQUIRE(writer->append(2, "x"));
  const Result<MapStatus> status = writer->commit();
  REQUIRE(status);
  CHECK(status->location == p.id);
  CHECK(status->map_id == 7);
  CHECK(size_for(status->sizes, 0) >= 27);
  CHECK(size_for(status->sizes, 1) == 0);
  CHECK(size_for(status->sizes, 2) == 1);
  const std::atomic<bool> killed{false};
  auto stream = p.services->fetch({{.from = p.id, .block = "shuffle_1_7_0"}}, killed);
  CHECK(spell(stream->next()->bytes) == "some bytes that need a file");
  CHECK(!stream->next());
  p.services->on_driver_message(RemoveShuffle{ShuffleId{1}});
  stream = p.services->fetch({{.from = p.id, .block = "shuffle_1_7_0"}}, killed);
  CHECK(spell(stream->next()->bytes) == "error: shuffle_1_7_0 is not here");
}

TEST_CASE("a cached block comes from a peer when it is not here", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  CHECK(a.services->put_block("rdd_1_0", {.memory = true}, Payload(Bytes("cached"))));
  CHECK(a.told.size() == 1);
  std::thread answers([&] {
    for (size_t n = 0; n < 2; ++n) {
      const auto ask = std::get<BlockLocationsRequest>(b.driver.asked(n));
      BlockLocations answer{ask.request, {{}}};
      if (ask.blocks[0] == "rdd_1_0") answer.locations = {{b.id, a.id}};
      b.services->on_driver_message(answer);
    }
  });
  const std::optional<Payload> found = b.services->get_block("rdd_1_0");
  REQUIRE(found);
  CHECK(found->view() == "cached");
  CHECK(!b.services->get_block("rdd_1_1"));
  answers.join();
  CHECK(a.services->get_block("rdd_1_0"));
  CHECK(a.driver.count() == 0);
}

TEST_CASE("B26 a broadcast is fetched once a process, in pieces that are served on",
          "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  Bytes value(10'500, 'v');
  value[10'499] = 'z';
  REQUIRE(driver.services->create_broadcast(BroadcastId{4}, Payload(Bytes(value))));
  CHECK(driver.pieces_told() == 11);
  CHECK(spell(driver.services->broadcast(BroadcastId{4})) == value);

  const auto answer = [](ServingProcess& to, size_t n, const std::vector<BlockManagerId>& holders) {
    const auto ask = std::get<BlockLocationsRequest>(to.driver.asked(n));
    to.services->on_driver_message(BlockLocations{
        ask.request, std::vector<std::vector<BlockManagerId>>(ask.blocks.size(), holders)});
  };
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] { right += spell(a.services->broadcast(BroadcastId{4})) == value; });
  answer(a, 0, {driver.id});
  for (std::thread& reader : readers) reader.join();
  CHECK(right == 4);
  CHECK(a.driver.count() == 1);
  CHECK(a.pieces_told() == 11);

  // Damaged at the peer: every piece comes from the driver after all.
  a.blocks->remove_broadcast(BroadcastId{4});
  for (int piece = 0; piece < 11; ++piece)
    a.blocks->put("broadcast_4_piece" + std::to_string(piece), {.memory = true},
                  Payload(Bytes(piece == 10 ? 500 : 1000, '?')), false);
  std::thread other([&] { answer(b, 0, {a.id}); });
  CHECK(spell(b.services->broadcast(BroadcastId{4})) == value);
  other.join();

  // Removed everywhere: it can't be had any more.
  driver.services->on_driver_message(RemoveBroadcast{BroadcastId{4}});
  b.services->on_driver_message(RemoveBroadcast{BroadcastId{4}});
  CHECK(
      spell(b.services->broadcast(BroadcastId{4})).starts_with("error: Failed to get broadcast_4"));
  CHECK(spell(driver.services->broadcast(BroadcastId{4}))
            .starts_with("error: Failed to get broadcast_4"));
}

TEST_CASE("nothing stays of a broadcast that is removed while it is fetched", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess driver(files, "driver", nullptr), a(files, "1", &driver);
  const Bytes value(2500, 'v');
  for (const int64_t number : {4, 5}) {
    const BroadcastId id{number};
    const std::string name = "broadcast_" + std::to_string(number);
    const bool comes = number == 4;
    CAPTURE(comes);
    REQUIRE(driver.services->create_broadcast(id, Payload(Bytes(value))));
    const size_t asked = a.driver.count();
    std::thread removes([&] {
      const auto ask = std::get<BlockLocationsRequest>(a.driver.asked(asked));
      a.services->on_driver_message(RemoveBroadcast{id});
      if (!comes) driver.blocks->remove(name + "_piece2");
      a.services->on_driver_message(
          BlockLocations{ask.request, {{driver.id}, {driver.id}, {driver.id}}});
    });
    CHECK((spell(a.services->broadcast(id)) == value) == comes);  // its reader gets it
    removes.join();
    CHECK(a.blocks->state().empty());
    for (const char* block : {"", "_piece0", "_piece1"})
      CHECK_FALSE(a.blocks->contains(name + block));
    driver.services->on_driver_message(RemoveBroadcast{id});
    CHECK(spell(a.services->broadcast(id)).starts_with("error: Failed to get"));
  }
}

TEST_CASE("pieces come from peers while the driver does not have them any more",
          "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess driver(files, "driver", nullptr), a(files, "1", &driver), b(files, "2", &driver);
  const Bytes value(2500, 'v');
  REQUIRE(driver.services->create_broadcast(BroadcastId{4}, Payload(Bytes(value))));
  for (int piece = 0; piece < 3; ++piece) {
    const std::string block = "broadcast_4_piece" + std::to_string(piece);
    a.blocks->put(block, {.memory = true}, *driver.blocks->get(block), false);
    driver.blocks->remove(block);
  }
  std::thread answers([&] {
    const auto ask = std::get<BlockLocationsRequest>(b.driver.asked(0));
    b.services->on_driver_message(BlockLocations{ask.request, {{a.id}, {a.id}, {a.id}}});
  });
  CHECK(spell(b.services->broadcast(BroadcastId{4})) == value);
  answers.join();
}

TEST_CASE("pieces of a broadcast leave the memory while its value is held", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess driver(files, "driver", nullptr), a(files, "1", &driver);
  const BroadcastId id{4};
  const Bytes value(2500, 'v');
  REQUIRE(driver.services->create_broadcast(id, Payload(Bytes(value))));
  std::thread answers([&] {
    const auto ask = std::get<BlockLocationsRequest>(a.driver.asked(0));
    a.services->on_driver_message(
        BlockLocations{ask.request, {{driver.id}, {driver.id}, {driver.id}}});
  });
  const Result<Payload> held = a.services->broadcast(id);
  answers.join();
  REQUIRE(spell(held) == value);
  for (ServingProcess* p : {&a, &driver}) {
    CHECK(p->blocks->memory().use().storage > 2500);
    const Payload all(Bytes(64 << 20, 'x'));
    // ZeroMQ's thread lets go of what it sent a moment after that arrived.
    for (int i = 0; i < 1000 && !p->blocks->put("rdd_1_0", {.memory = true}, all, false); ++i)
      std::this_thread::yield();
    CHECK(p->blocks->memory().use().storage == 64 << 20);
    CHECK(spell(p->services->broadcast(id)) == value);
  }
  CHECK(a.driver.count() == 1);
}

TEST_CASE("a broadcast whose fetch throws is fetched again by the next one that wants it",
          "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  constexpr uint64_t kTooLarge = uint64_t{1} << 63;
  const BroadcastHeader header{kTooLarge, kTooLarge, {0}};
  REQUIRE(p.blocks->put("broadcast_5", {.memory = true}, Payload(header.encode()), false));
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_AS(p.services->broadcast(BroadcastId{5}), std::bad_alloc);
}

TEST_CASE("properties, temporary directories, removals, other messages", "[task_services]") {
  tinderbox::test::FakeFiles files;
  ServingProcess p(files, "1", nullptr);
  CHECK(p.services->property("spark.app.name") == "test");
  CHECK(!p.services->property("spark.other"));
  CHECK(*p.services->temp_directory() == "/d/blockmgr-1/temp");
  CHECK(*p.services->temp_directory() == "/e/blockmgr-1/temp");
  CHECK(*p.services->temp_directory() == "/d/blockmgr-1/temp");
  CHECK(p.services->executor_id() == ExecutorId{"1"});
  CHECK(p.services->put_block("rdd_1_0", {.disk = true}, Payload(Bytes("x"))));
  CHECK(p.services->put_block("taskresult_3", {.disk = true}, Payload(Bytes("x"))));
  CHECK(p.services->on_driver_message(RemoveRdd{RddId{1}}));
  CHECK(p.services->on_driver_message(RemoveBlocks{{"taskresult_3"}}));
  CHECK(files.files.empty());
  CHECK(!p.services->on_driver_message(StopExecutor{}));
}

TEST_CASE("a broadcast's header is read back, and a damaged one is refused", "[task_services]") {
  for (const uint64_t size : {0, 1, 999, 1000, 1001, 2500}) {
    CAPTURE(size);
    const BroadcastHeader header{size, 1000, std::vector<uint64_t>((size + 999) / 1000, 77)};
    const Bytes bytes = header.encode();
    CHECK(*BroadcastHeader::decode(bytes) == header);
    CHECK(!BroadcastHeader::decode(bytes + "x"));
    CHECK(!BroadcastHeader::decode(bytes + "12345678"));
    for (size_t n = 0; n < bytes.size(); ++n)
      CHECK(!BroadcastHeader::decode(std::string_view(bytes).substr(0, n)));
  }
  CHECK(!BroadcastHeader::decode(std::string(3, '\0')));
}
