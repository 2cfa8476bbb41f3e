// Block transfer between processes, over real sockets.
#include "core/storage/transfer/block_transfer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "net/wire/codec.hpp"
#include "tests/core/storage/payload_fixture.hpp"
#include "tests/core/storage/transfer/block_process.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

constexpr int64_t kMebibyte = 1 << 20;
constexpr int64_t kMostHeld = 4;  // blocks of that size, for one peer
constexpr int64_t kOutputs = 64;

struct Process : BlockProcess {
  tinderbox::test::FakeFiles& files;

  Process(tinderbox::test::FakeFiles& shared, const std::string& name, const std::string& host,
          std::optional<int64_t> max_disk = {}, const conf::Conf& conf = {},
          int64_t without_file = 0)
      : BlockProcess(shared, name, host, 8,
                     [&](BlockTransferOptions& options) {
                       options.read_host_local = block_transfer_options(conf).read_host_local;
                       options.client.retry_wait = 1ms;
                       options.client.max_in_flight = 3 << 20;
                       options.server.max_held = kMostHeld * kMebibyte;
                       options.client.to_memory = block_transfer_options(conf).client.to_memory;
                       options.client.without_file = without_file;
                       options.max_disk = max_disk;
                     }),
        files(shared) {}
  void write(int64_t map, const std::string& bytes) {
    auto output = blocks->map_outputs().open(ShuffleId{1}, map, 1);
    REQUIRE(output->append(0, bytes));
    REQUIRE(output->commit());
  }
};

std::map<size_t, std::string> drain(BlockStream& stream) {
  std::map<size_t, std::string> all;
  while (std::optional<FetchedBlock> block = stream.next())
    all[block->index] =
        block->bytes ? std::string(block->bytes->view()) : "error: " + block->bytes.error().message;
  return all;
}

BlockWant want(const Process& from, std::string block, int64_t size = 1) {
  return {.from = from.id, .block = std::move(block), .size = size};
}

/// Writes that many map outputs of a mebibyte into files.
std::vector<BlockWant> large_outputs(Process& of) {
  std::vector<BlockWant> wants;
  for (int64_t map = 0; map < kOutputs; ++map) {
    of.write(map, std::string(kMebibyte, static_cast<char>(map)));
    wants.push_back(want(of, "shuffle_1_" + std::to_string(map) + "_0", kMebibyte));
  }
  return wants;
}
bool are_large_outputs(const std::map<size_t, std::string>& got) {
  for (const auto& [map, bytes] : got)
    if (bytes != std::string(kMebibyte, static_cast<char>(map))) return false;
  return got.size() == kOutputs;
}

/// A port of this host where connections are taken, and nobody says anything.
struct SilentPort {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string address;

  SilentPort() {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&a), size) == 0);
    REQUIRE(::listen(fd, 16) == 0);
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) == 0);
    address = "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
  }
  ~SilentPort() { ::close(fd); }
};

/// Asks a process for blocks and grants it credit as a test says, on the test's thread.
struct StingyPeer {
  std::unique_ptr<net::PollLoop> loop = net::make_poll_loop();
  std::unique_ptr<net::SocketEndpoint> endpoint = net::make_socket_endpoint(*loop);
  PeerId peer = 0;
  int64_t got = 0, awaited = 0;  // bytes

  explicit StingyPeer(const Process& process) {
    endpoint->handle({[this](PeerId, net::Packet&& packet) {
                        const Result<FromBlocks> message = net::decode<FromBlocks>(packet);
                        if (!message || message->index() != 0) return loop->stop();
                        for (const BlockChunk& chunk : std::get<BlockChunks>(*message).chunks)
                          got += static_cast<int64_t>(chunk.bytes.size());
                        if (got >= awaited) loop->stop();
                      },
                      [this](PeerId) { loop->stop(); }});
    const Result<PeerId> connected = endpoint->connect(process.id.address);
    REQUIRE(connected);
    peer = *connected;
  }
  void send(ToBlocks message) { endpoint->send(peer, net::encode(message)); }
  void await(int64_t bytes) {
    awaited = bytes;
    if (got < bytes) loop->run();
    CHECK(got == bytes);
  }
};

}  // namespace

TEST_CASE("settings of block transfer", "[block_transfer]") {
  const BlockClientOptions usual = block_transfer_options({}).client,
                           client = block_transfer_options(
                                        conf::Conf::of(
                                            {{"spark.reducer.maxSizeInFlight", "7m"},
                                             {"spark.reducer.maxReqsInFlight", "8"},
                                             {"spark.reducer.maxBlocksInFlightPerAddress", "9"},
                                             {"spark.shuffle.io.maxRetries", "10"},
                                             {"spark.shuffle.io.retryWait", "11s"},
                                             {"spark.shuffle.io.connectionTimeout", "12s"}}))
                                        .client;
  CHECK(usual.max_in_flight == 48 << 20);
  CHECK(usual.silence == 120s);
  CHECK(client.max_in_flight == 7 << 20);
  CHECK(client.max_requests == 8);
  CHECK(client.max_per_address == 9);
  CHECK(client.max_retries == 10);
  CHECK(client.retry_wait == 11s);
  CHECK(client.silence == 12s);
  CHECK(usual.to_memory == 200 << 20);
  CHECK(usual.max_open < block_transfer_options({}).server.max_streams);
}

TEST_CASE("blocks that are too large for memory come through files of which nothing stays",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  const conf::Conf conf =
      conf::Conf::of({{"spark.network.maxRemoteBlockSizeFetchToMem", "2000000b"}});
  Process a(files, "1", "hosta"), b(files, "2", "hostb", {}, conf);
  const std::atomic<bool> killed{false};
  std::vector<BlockWant> wants;
  std::vector<std::string> contents;
  for (const int size : {1'000'000, 2'000'000, 2'000'001, 7'654'321}) {
    contents.emplace_back(static_cast<size_t>(size), static_cast<char>('a' + wants.size()));
    contents.back().append("end");
    const std::string name = "rdd_1_" + std::to_string(wants.size());
    REQUIRE(a.blocks->put(name, {.memory = true}, text(contents.back()), false));
    wants.push_back(want(a, name, size));
  }
  auto all = drain(*b.transfer->fetch(wants, killed));
  REQUIRE(all.size() == contents.size());
  for (size_t p = 0; p < contents.size(); ++p) CHECK((all[p] == contents[p]));
  CHECK(files.files.empty());
  files.capacity = 1 << 20;
  all = drain(*b.transfer->fetch(wants, killed));
  CHECK((all[0] == contents[0]));
  for (size_t p = 1; p < contents.size(); ++p) {
    const std::string error = all[p].substr(0, 1000);
    CHECK_THAT(error, Catch::StartsWith("error: the reader's own disk failed") &&
                          Catch::EndsWith("No space left on device"));
  }
  CHECK(files.files.empty());
}

TEST_CASE("blocks whose files cannot be written or read come to memory, up to a size",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  const conf::Conf conf =
      conf::Conf::of({{"spark.network.maxRemoteBlockSizeFetchToMem", "2000000b"}});
  Process a(files, "1", "hosta"), b(files, "2", "hostb", {}, conf, 5'000'000);
  const std::atomic<bool> killed{false};
  std::vector<BlockWant> wants;
  for (const int64_t size : {5'000'000, 5'000'001}) {
    const std::string name = "rdd_1_" + std::to_string(wants.size());
    const std::string bytes(static_cast<size_t>(size), 'x');
    REQUIRE(a.blocks->put(name, {.memory = true}, text(bytes), false));
    wants.push_back(want(a, name, size));
  }
  const std::string how = GENERATE("full at once", "full at its end", "refuse", "tear", "damage");
  CAPTURE(how);
  if (how == "full at once") files.capacity = 1 << 20;
  if (how == "full at its end") files.capacity = 4'999'999;
  if (how == "refuse") files.refuse = "fetched_";
  if (how == "tear") files.tear = "fetched_";
  if (how == "damage") files.damage = "fetched_";
  auto all = drain(*b.transfer->fetch(wants, killed));
  CHECK((all[0] == std::string(5'000'000, 'x')));
  CHECK_THAT(all[1].substr(0, 1000), Catch::StartsWith("error: the reader's own disk failed"));
  CHECK(files.files.empty());
}

TEST_CASE("blocks come from another process, whatever their size", "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), b(files, "2", "hostb");
  const std::atomic<bool> killed{false};
  std::vector<BlockWant> wants;
  std::vector<std::string> contents;
  for (int p = 0; p < 30; ++p) {
    contents.emplace_back(static_cast<size_t>(p) * 100'000, static_cast<char>('a' + p % 26));
    const std::string name = "rdd_1_" + std::to_string(p);
    REQUIRE(a.blocks->put(name, {.memory = true}, text(contents.back()), false));
    wants.push_back(want(a, name, p * 100'000));
  }
  wants.push_back(want(a, "rdd_1_99"));
  wants.push_back(want(b, "rdd_1_0"));
  REQUIRE(b.blocks->put("rdd_1_0", {.memory = true}, text("own"), false));
  auto all = drain(*b.transfer->fetch(wants, killed));
  REQUIRE(all.size() == 32);
  for (size_t p = 0; p < 30; ++p) CHECK((all[p] == contents[p]));
  CHECK(all[30] == "error: cannot fetch rdd_1_99 from " + a.id.address + ": rdd_1_99 is not here");
  CHECK(all[31] == "own");
  CHECK(drain(*b.transfer->fetch({}, killed)).empty());
}

TEST_CASE("map outputs of the same host are read from files, or asked for when in memory",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "host"), b(files, "2", "host");
  const std::atomic<bool> killed{false};
  a.write(7, "large enough for a file");
  a.write(8, "small");
  b.transfer->set_local_dirs(a.id.executor, a.blocks->local_dirs());
  const auto fetch = [&] {
    return drain(*b.transfer->fetch({want(a, "shuffle_1_7_0"), want(a, "shuffle_1_8_0")}, killed));
  };
  CHECK(fetch() == std::map<size_t, std::string>{{0, "large enough for a file"}, {1, "small"}});
  CHECK(b.transfer->fetch({want(a, "shuffle_1_7_0")}, killed)->next()->local);
  CHECK_FALSE(b.transfer->fetch({want(a, "shuffle_1_8_0")}, killed)->next()->local);
  CHECK(a.transfer->fetch({want(a, "shuffle_1_8_0")}, killed)->next()->local);
  files.flip("0.data", 2);
  CHECK(fetch()[0].find("corrupted due to DISK_ISSUE") != std::string::npos);
  // Its owner gone, the file can still be read; what was in its memory is lost.
  files.flip("0.data", 2);
  a.transfer->stop();
  auto all = fetch();
  CHECK(all[0] == "large enough for a file");
  CHECK(
      all[1].starts_with("error: cannot fetch shuffle_1_8_0 from " + a.id.address + " in 4 tries"));
}

TEST_CASE("map outputs of the same host come over the socket where files are not to be read",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "host");
  Process b(files, "2", "host", {}, conf::Conf{}.with("spark.shuffle.readHostLocalDisk", "false"));
  const std::atomic<bool> killed{false};
  a.write(7, "large enough for a file");
  b.transfer->set_local_dirs(a.id.executor, a.blocks->local_dirs());
  const auto fetch = [&] {
    return drain(*b.transfer->fetch({want(a, "shuffle_1_7_0")}, killed))[0];
  };
  CHECK(fetch() == "large enough for a file");
  a.transfer->stop();  // the file is there still
  CHECK(fetch().starts_with("error: cannot fetch shuffle_1_7_0 from " + a.id.address));
}

TEST_CASE("a kill, and a stop, end a stream that waits", "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), b(files, "2", "hostb");
  a.transfer->stop();
  const std::vector<BlockWant> wants = {want(a, "rdd_1_0"), want(a, "rdd_1_1")};
  for (const bool by_kill : {true, false}) {
    std::atomic<bool> killed{false};
    auto stream = b.transfer->fetch(wants, killed);
    std::thread other([&] {
      if (by_kill) {
        killed = true;
        b.transfer->interrupt();
      } else {
        b.transfer->stop();
      }
    });
    std::optional<FetchedBlock> block = stream->next();
    other.join();
    REQUIRE(block);
    CHECK(!block->bytes);
    while (stream->next()) CHECK(!by_kill);
  }
  std::atomic<bool> killed{false};
  CHECK(drain(*b.transfer->fetch(wants, killed)).at(0).starts_with("error: "));
}

TEST_CASE("a peer that takes connections and says nothing is given up after some tries",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  const auto hasty = [](BlockTransferOptions& options) {
    options.client.silence = 50ms;
    options.client.retry_wait = 1ms;
  };
  BlockProcess b(files, "2", "hostb", 8, hasty);
  // One does not even greet; the other's process is stuck.
  const SilentPort silent;
  const auto loop = net::make_poll_loop();
  const auto stuck = net::make_socket_endpoint(*loop);
  const Result<int> port = stuck->listen({"127.0.0.1"});
  REQUIRE(port);
  const std::atomic<bool> killed{false};
  for (const std::string& address : {silent.address, "127.0.0.1:" + std::to_string(*port)}) {
    const BlockManagerId from{ExecutorId{"1"}, "hosta", address};
    const std::vector<BlockWant> wants = {BlockWant{.from = from, .block = "rdd_1_0"},
                                          BlockWant{.from = from, .block = "rdd_1_1"}};
    const std::string why = " from " + address + " in 4 tries: it was silent for too long";
    CHECK(drain(*b.transfer->fetch(wants, killed)) ==
          std::map<size_t, std::string>{{0, "error: cannot fetch rdd_1_0" + why},
                                        {1, "error: cannot fetch rdd_1_1" + why}});
  }
}

TEST_CASE("a reader that takes nothing holds up no others, of its process or of another one",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), b(files, "2", "hostb"), c(files, "3", "hostc");
  const std::vector<BlockWant> wants = large_outputs(a);
  const std::atomic<bool> killed{false};
  const auto stuck = b.transfer->fetch(wants, killed);
  CHECK(are_large_outputs(drain(*c.transfer->fetch(wants, killed))));
  CHECK((drain(*b.transfer->fetch({wants[7]}, killed))[0] == std::string(kMebibyte, '\7')));
  // Of what the reader wants only what may be in flight was read.
  CHECK(files.bytes_read(".data") == (kOutputs + 1 + 3) * kMebibyte);
  CHECK(are_large_outputs(drain(*stuck)));
}

TEST_CASE("of blocks for a peer that grants no credit few are read, and others get theirs",
          "[block_transfer]") {
  constexpr int64_t kCredit = 64 << 10;
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), c(files, "3", "hostc");
  const std::vector<BlockWant> wants = large_outputs(a);
  StingyPeer stingy(a);
  OpenBlocks open{.chunk = kCredit, .credit = kCredit};
  for (const BlockWant& one : wants) open.wishes.push_back({open.wishes.size(), one.block});
  stingy.send(open);
  stingy.await(kMostHeld * kCredit);
  const std::atomic<bool> killed{false};
  CHECK(are_large_outputs(drain(*c.transfer->fetch(wants, killed))));
  CHECK(files.bytes_read(".data") == (kOutputs + kMostHeld) * kMebibyte);
  for (const WishedBlock& wish : open.wishes) stingy.send(GrantCredit{wish.stream, kMebibyte});
  stingy.await(kOutputs * kMebibyte);
}

TEST_CASE("a single block is fetched without waiting", "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), b(files, "2", "hostb");
  REQUIRE(a.blocks->put("taskresult_4", {.memory = true}, text("result"), false));
  net::Mutex mutex;
  net::Condition arrived;
  std::vector<std::string> got;
  const auto keep = [&](Result<Payload> bytes) {
    net::Lock lock(mutex);
    got.push_back(bytes ? std::string(bytes->view()) : "error");
    arrived.notify_all();
  };
  b.transfer->fetch_async(want(a, "taskresult_4"), keep);
  b.transfer->fetch_async(want(a, "taskresult_5"), keep);
  {
    net::Lock lock(mutex);
    while (got.size() < 2) arrived.wait(lock);
    std::sort(got.begin(), got.end());
    CHECK(got == Lines{"error", "result"});
    got.clear();
  }
  b.transfer->stop();
  b.transfer->fetch_async(want(a, "taskresult_4"), keep);
  CHECK(got == Lines{"error"});
}

TEST_CASE("blocks are taken over from another process and served as one's own",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), b(files, "2", "hostb");
  const std::string large(100'000, 'z');
  auto output = a.blocks->map_outputs().open(ShuffleId{1}, 7, 3);
  REQUIRE(output->append(0, "first"));
  REQUIRE(output->append(2, large));
  REQUIRE(output->commit());
  a.write(8, "small");
  REQUIRE(a.blocks->put("rdd_1_0", {.memory = true}, text("cached"), false));
  net::Mutex mutex;
  net::Condition came;
  const auto take = [&](Process& by, const std::string& block) {
    std::optional<BlockTaken> got;
    by.transfer->take(TakeBlock{1, a.id, block, true, false}, [&](BlockTaken taken) {
      net::Lock lock(mutex);
      got = std::move(taken);
      came.notify_all();
    });
    net::Lock lock(mutex);
    while (!got) came.wait(lock);
    return got->taken ? "taken" : got->reason;
  };
  const auto read = [&](const Process& from, const std::string& block) {
    const Result<Payload> bytes = from.blocks->read(block);
    return bytes ? std::string(bytes->view()) : bytes.error().message;
  };
  for (const char* block : {"shuffle_1_7_0.data", "shuffle_1_8_0.data", "rdd_1_0"})
    CHECK(take(b, block) == "taken");
  a.transfer->stop();
  CHECK(read(b, "shuffle_1_7_0") == "first");
  CHECK(read(b, "shuffle_1_7_1").empty());
  CHECK((read(b, "shuffle_1_7_0_3") == "first" + large));
  CHECK(read(b, "shuffle_1_8_0") == "small");
  CHECK(read(b, "rdd_1_0") == "cached");
  CHECK(b.blocks->map_outputs().disk_used() == 100'005);
  b.blocks->remove_shuffle(ShuffleId{1});
  CHECK(b.blocks->map_outputs().disk_used() == 0);
  CHECK(take(b, "rdd_9_9").starts_with("cannot fetch rdd_9_9"));
}

TEST_CASE("an executor with too many map outputs on disk takes no others", "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta"), full(files, "2", "hostb", 20);
  a.write(7, "large enough for a file");
  full.write(8, "large enough for a file");
  net::Mutex mutex;
  net::Condition came;
  std::optional<BlockTaken> got;
  full.transfer->take(TakeBlock{1, a.id, "shuffle_1_7_0.data", false, true}, [&](BlockTaken taken) {
    net::Lock lock(mutex);
    got = std::move(taken);
    came.notify_all();
  });
  net::Lock lock(mutex);
  while (!got) came.wait(lock);
  CHECK_FALSE(got->taken);
  CHECK(got->reason ==
        "it has 23 bytes of map outputs on disk, more than "
        "spark.storage.decommission.shuffleBlocks.maxDiskSize");
}

TEST_CASE("what turns out to be in memory is asked for beside what came before it",
          "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "host"), b(files, "2", "host");
  const std::atomic<bool> killed{false};
  a.write(7, "first");
  a.write(8, "second");
  b.transfer->set_local_dirs(a.id.executor, a.blocks->local_dirs());
  // Each fits into what may be in flight, both together do not.
  BlockWant asked = want(a, "shuffle_1_7_0", 2 << 20);
  asked.in_memory = true;
  const auto stream = b.transfer->fetch({asked, want(a, "shuffle_1_8_0", 2 << 20)}, killed);
  drain(*b.transfer->fetch({asked}, killed));  // comes after the stream's first block
  CHECK(drain(*stream) == std::map<size_t, std::string>{{0, "first"}, {1, "second"}});
}

TEST_CASE("without network only one's own blocks can be had", "[block_transfer]") {
  tinderbox::test::FakeFiles files;
  Process a(files, "1", "hosta");
  BlockTransferOptions options = block_transfer_options(conf::Conf{});
  options.self = a.id;
  options.network = false;
  auto local = BlockTransfer::start(options, *a.blocks);
  REQUIRE(local);
  CHECK((*local)->port() == 0);
  REQUIRE(a.blocks->put("rdd_1_0", {.memory = true}, text("own"), false));
  const std::atomic<bool> killed{false};
  BlockWant elsewhere = want(a, "rdd_1_0");
  elsewhere.from.executor = ExecutorId{"9"};
  elsewhere.from.host = "elsewhere";
  auto all = drain(*(*local)->fetch({want(a, "rdd_1_0"), elsewhere}, killed));
  CHECK(all[0] == "own");
  CHECK(all[1] == "error: cannot fetch rdd_1_0: this process has no block transfer");
}
