// The block server and client in virtual time, then both over real sockets.
#include "core/storage/block_transfer.hpp"

#include <xxhash.h>

#include <queue>
#include <thread>

#include "core/storage/block_client.hpp"
#include "core/storage/block_server.hpp"
#include "tests/pch.hpp"
#include "tests/storage/fake_files.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace std::chrono_literals;

namespace {

Payload text(std::string bytes) { return Payload(std::move(bytes)); }

// ---- a server by itself ---------------------------------------------------------------

/// Feeds a server and answers its reads from a table at once.
struct Serving {
  BlockServer server;
  std::map<std::string, Payload> blocks;
  std::vector<std::string> reads;
  std::vector<PeerId> dropped;
  std::map<PeerId, std::vector<FromBlocks>> sent;

  explicit Serving(BlockServerOptions options = small()) : server(std::move(options)) {}
  static BlockServerOptions small() {
    return {.app = {},
            .min_chunk = 4,
            .max_chunk = 16,
            .max_credit = 64,
            .max_held = 100,
            .max_streams = 10};
  }
  void feed(BlockServer::Event event) {
    std::deque<BlockServer::Event> waiting{std::move(event)};
    while (!waiting.empty()) {
      BlockServer::Effects out;
      server.on(waiting.front(), {}, out);
      waiting.pop_front();
      for (BlockServer::Effect& effect : out)
        std::visit(overloaded{
                       [&](Send<FromBlocks>& e) { sent[e.to].push_back(std::move(e.message)); },
                       [&](ReadBlock& e) {
                         reads.push_back(e.block);
                         const auto it = blocks.find(e.block);
                         waiting.emplace_back(BlockReady{
                             e.ticket, it == blocks.end() ? Result<Payload>(Error{"not here"})
                                                          : Result<Payload>(it->second)});
                       },
                       [&](Disconnect& e) { dropped.push_back(e.peer); },
                   },
                   effect);
    }
  }
  void open(PeerId from, uint64_t stream, const std::string& block, int64_t chunk, int64_t credit) {
    OpenBlock m{.who = {}, .stream = stream, .block = block};
    m.chunk = chunk;
    m.credit = credit;
    feed(Received<ToBlocks>{from, m});
  }
  /// What `peer` got, chunks as offset:bytes; and forgets it.
  std::vector<std::string> got(PeerId peer) {
    std::vector<std::string> lines;
    for (const FromBlocks& m : sent[peer])
      std::visit(overloaded{
                     [&](const BlockChunk& c) {
                       CHECK(c.checksum == XXH3_64bits(c.bytes.view().data(), c.bytes.size()));
                       lines.push_back(std::to_string(c.offset) + "/" + std::to_string(c.total) +
                                       ":" + std::string(c.bytes.view()));
                     },
                     [&](const BlockMissing& m) { lines.push_back("missing: " + m.reason); },
                 },
                 m);
    sent[peer].clear();
    return lines;
  }
};
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a block comes in chunks, each with its checksum", "[block_server]") {
  Serving s;
  s.blocks["rdd_1_0"] = text("0123456789");
  s.open(1, 5, "rdd_1_0", 4, 64);
  CHECK(s.got(1) == Lines{"0/10:0123", "4/10:4567", "8/10:89"});
  CHECK(s.server.streams() == 0);
  CHECK(s.server.held(1) == 0);
}

TEST_CASE("ranges, empty blocks and what is not there", "[block_server]") {
  struct Case {
    const char* block;
    int64_t offset, length;
    Lines want;
  };
  const Case cases[] = {
      {"rdd_1_0", 2, 3, {"0/3:234"}},
      {"rdd_1_0", 8, -1, {"0/2:89"}},
      {"rdd_1_0", 10, -1, {"0/0:"}},
      {"rdd_1_1", 0, -1, {"0/0:"}},
      {"rdd_1_0", 8, 3, {"missing: rdd_1_0 has only 10 bytes, 3 from 8 on were asked for"}},
      {"rdd_1_0", 11, -1, {"missing: rdd_1_0 has only 10 bytes, all from 11 on were asked for"}},
      {"rdd_1_0", -1, 3, {"missing: rdd_1_0 has only 10 bytes, 3 from -1 on were asked for"}},
      {"rdd_9_9", 0, -1, {"missing: not here"}},
  };
  for (const Case& c : cases) {
    Serving s;
    s.blocks["rdd_1_0"] = text("0123456789");
    s.blocks["rdd_1_1"] = text("");
    OpenBlock m{.who = {}, .stream = 1, .block = c.block};
    m.offset = c.offset;
    m.length = c.length;
    s.feed(Received<ToBlocks>{1, m});
    CHECK(s.got(1) == c.want);
    CHECK(s.server.streams() == 0);
  }
}

TEST_CASE("a slow reader gets no more than its credit, and others are not stalled by it",
          "[block_server]") {
  Serving s;
  s.blocks["rdd_1_0"] = text(std::string(40, 'a'));
  s.open(1, 1, "rdd_1_0", 8, 10);
  CHECK(s.got(1) == Lines{"0/40:aaaaaaaa", "8/40:aa"});
  s.open(2, 1, "rdd_1_0", 16, 64);
  s.open(1, 2, "rdd_1_0", 16, 64);
  CHECK(s.got(2).size() == 3);
  CHECK(s.got(1).size() == 3);  // its own second stream goes on too
  s.feed(Received<ToBlocks>{1, GrantCredit{1, 4}});
  CHECK(s.got(1) == Lines{"10/40:aaaa"});
  s.feed(Received<ToBlocks>{1, GrantCredit{1, -7}});
  s.feed(Received<ToBlocks>{1, GrantCredit{9, 7}});
  CHECK(s.got(1).empty());
  s.feed(Received<ToBlocks>{1, GrantCredit{1, 1 << 30}});
  CHECK(s.got(1).size() == 4);
  CHECK(s.server.streams() == 0);
}

TEST_CASE("what is held for one peer is bounded: further streams wait, those of others don't",
          "[block_server]") {
  Serving s;
  s.blocks["rdd_1_0"] = text(std::string(60, 'a'));
  for (uint64_t stream = 1; stream <= 5; ++stream) s.open(1, stream, "rdd_1_0", 16, 0);
  CHECK(s.reads.size() == 2);  // 120 bytes held: over the limit of 100
  CHECK(s.server.held(1) == 120);
  s.open(2, 1, "rdd_1_0", 16, 64);
  CHECK(s.got(2).size() == 4);
  s.feed(Received<ToBlocks>{1, CancelStream{1}});
  CHECK(s.reads.size() == 4);
  CHECK(s.server.held(1) == 120);
  s.feed(Received<ToBlocks>{1, CancelStream{5}});  // while it waits
  s.feed(Received<ToBlocks>{1, GrantCredit{2, 60}});
  CHECK(s.got(1).size() == 4);
  CHECK(s.reads.size() == 5);
  s.feed(PeerLost{1});
  CHECK(s.server.streams() == 0);
  CHECK(s.server.held(1) == 0);
}

TEST_CASE("wishes beyond the limits are cut, a flood of streams is dropped", "[block_server]") {
  Serving s;
  s.blocks["rdd_1_0"] = text(std::string(100, 'a'));
  s.open(1, 1, "rdd_1_0", 1, 1 << 30);
  CHECK(s.got(1).size() == 16);    // 64 bytes of credit in chunks of 4
  s.open(1, 1, "rdd_1_0", 1, 64);  // asked twice
  CHECK(s.got(1).empty());
  for (uint64_t stream = 2; stream <= 10; ++stream) s.open(1, stream, "rdd_1_0", 16, 0);
  CHECK(s.dropped.empty());
  s.open(1, 11, "rdd_1_0", 16, 0);
  CHECK(s.dropped == std::vector<PeerId>{1});
  CHECK(s.server.streams() == 0);
}

TEST_CASE("another application's reader is refused", "[block_server]") {
  BlockServerOptions options = Serving::small();
  options.app = AppId{"app-1"};
  Serving s(options);
  s.blocks["rdd_1_0"] = text("x");
  OpenBlock m{.who = {.app = AppId{"app-2"}}, .stream = 1, .block = "rdd_1_0"};
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1) == Lines{"missing: this block server belongs to application app-1, not app-2"});
  m.who.app = AppId{"app-1"};
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1) == Lines{"0/1:x"});
}

namespace {

// ---- a client by itself, in virtual time ----------------------------------------------

struct Fetching {
  BlockClient client;
  Time now{1h};
  std::vector<std::string> log;  // what it did, in order
  std::vector<OpenBlock> opened;
  std::map<std::string, std::vector<PeerId>> peers;  // address → incarnations
  std::set<std::string> unreachable;
  std::multimap<Time, BlockClientTimer> timers;

  explicit Fetching(BlockClientOptions options = usual()) : client(std::move(options)) {}
  static BlockClientOptions usual() {
    return {.who = {},
            .max_in_flight = 100,
            .max_requests = 1000,
            .max_per_address = 1000,
            .max_retries = 3,
            .retry_wait = 5s,
            .silence = 120s,
            .chunk = 10,
            .credit = 20};
  }
  void feed(BlockClient::Event event) {
    std::deque<BlockClient::Event> waiting{std::move(event)};
    while (!waiting.empty()) {
      BlockClient::Effects out;
      client.on(waiting.front(), now, out);
      waiting.pop_front();
      for (BlockClient::Effect& effect : out)
        std::visit(overloaded{
                       [&](Send<ToBlocks>& e) { note(e); },
                       [&](Connect& e) {
                         log.push_back("connect " + e.address);
                         PeerId peer = 0;
                         if (!unreachable.contains(e.address)) {
                           peer = ++last_peer;
                           peers[e.address].push_back(peer);
                         }
                         waiting.emplace_back(Connected{e.ticket, peer});
                       },
                       [&](Disconnect& e) { log.push_back("drop " + std::to_string(e.peer)); },
                       [&](After<BlockClientTimer>& e) { timers.emplace(now + e.delay, e.event); },
                       [&](DeliverBlock& e) {
                         log.push_back("deliver " + std::to_string(e.index) + " " +
                                       (e.bytes ? std::string(e.bytes->view())
                                                : "error: " + e.bytes.error().message));
                       },
                       [&](Log& e) { log.push_back("log " + e.line); },
                   },
                   effect);
    }
  }
  void note(const Send<ToBlocks>& e) {
    std::visit(overloaded{
                   [&](const OpenBlock& m) {
                     opened.push_back(m);
                     log.push_back("open " + m.block + "@" + std::to_string(e.to));
                   },
                   [&](const GrantCredit& m) { log.push_back("grant " + std::to_string(m.bytes)); },
                   [&](const CancelStream&) { log.push_back("cancel"); },
               },
               e.message);
  }
  void wait(Duration length) {
    const Time end = now + length;
    while (!timers.empty() && timers.begin()->first <= end) {
      now = timers.begin()->first;
      const BlockClientTimer timer = timers.begin()->second;
      timers.erase(timers.begin());
      feed(timer);
    }
    now = end;
  }
  void chunk(PeerId from, uint64_t stream, int64_t offset, int64_t total, const std::string& bytes,
             bool damaged = false) {
    feed(Received<FromBlocks>{
        from, BlockChunk{stream, offset, total, XXH3_64bits(bytes.data(), bytes.size()) + damaged,
                         text(bytes)}});
  }
  /// The stream that `block` was last opened as.
  uint64_t stream(const std::string& block) {
    for (auto it = opened.rbegin(); it != opened.rend(); ++it)
      if (it->block == block) return it->stream;
    FAIL("not opened: " << block);
    return 0;
  }
  Lines done() { return std::exchange(log, {}); }

  PeerId last_peer = 0;
};

}  // namespace

TEST_CASE("blocks of one address share a connection; the request is delivered block by block",
          "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}, {1, "a:1", "y", 10}}});
  CHECK(f.done() == Lines{"connect a:1", "open x@1", "open y@1"});
  f.chunk(1, f.stream("y"), 0, 3, "YYY");
  CHECK(f.done() == Lines{"deliver 1 YYY"});
  f.chunk(1, f.stream("x"), 0, 15, "0123456789");
  CHECK(f.done() == Lines{"grant 10"});
  f.chunk(1, f.stream("x"), 10, 15, "ABCDE");
  CHECK(f.done() == Lines{"deliver 0 0123456789ABCDE"});
  CHECK(f.client.streams() == 0);
  f.feed(FetchBlocks{2, {{0, "a:1", "z", 10}}});
  CHECK(f.done() == Lines{"open z@1"});
}

TEST_CASE("bytes in flight are bounded until the reader has taken them", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 60}, {1, "a:1", "y", 40}, {2, "a:1", "z", 1}}});
  CHECK(f.done() == Lines{"connect a:1", "open x@1", "open y@1"});
  f.chunk(1, f.stream("x"), 0, 1, "X");
  CHECK(f.done() == Lines{"deliver 0 X"});  // delivered, but not taken
  f.feed(BlocksTaken{1, 60});
  CHECK(f.done() == Lines{"open z@1"});
}

TEST_CASE("one block larger than the limit is fetched alone", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 5000}, {1, "a:1", "y", 1}}});
  CHECK(f.done() == Lines{"connect a:1", "open x@1"});
  f.chunk(1, f.stream("x"), 0, 1, "X");
  f.feed(BlocksTaken{1, 5000});
  CHECK(f.done() == Lines{"deliver 0 X", "open y@1"});
}

TEST_CASE("requests in flight and blocks of one address are bounded", "[block_client]") {
  BlockClientOptions options = Fetching::usual();
  options.max_requests = 3;
  options.max_per_address = 2;
  Fetching f(options);
  f.feed(FetchBlocks{1,
                     {{0, "a:1", "a0", 1},
                      {1, "a:1", "a1", 1},
                      {2, "a:1", "a2", 1},
                      {3, "b:1", "b0", 1},
                      {4, "b:1", "b1", 1}}});
  CHECK(f.opened.size() == 3);
  f.done();
  f.chunk(f.peers["a:1"][0], f.stream("a0"), 0, 1, "!");
  f.feed(BlocksTaken{1, 1});
  CHECK(f.opened.size() == 4);
}

TEST_CASE("addresses take turns, beginning elsewhere for each request", "[block_client]") {
  Fetching f;
  const std::vector<WantedBlock> wants = {
      {0, "a:1", "a0", 1}, {1, "a:1", "a1", 1}, {2, "b:1", "b0", 1}, {3, "b:1", "b1", 1}};
  const auto order = [&](uint64_t request) {
    f.opened.clear();
    f.feed(FetchBlocks{request, wants});
    std::string names;
    for (const OpenBlock& m : f.opened) names += m.block + " ";
    return names;
  };
  f.feed(FetchBlocks{9, {{0, "a:1", "q", 1}, {1, "b:1", "q", 1}}});
  CHECK(order(2) == "a0 b0 a1 b1 ");
  CHECK(order(3) == "b0 a0 b1 a1 ");
}

TEST_CASE("a lost connection is tried again three times, 5 s apart, then the blocks fail",
          "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}, {1, "a:1", "y", 10}}});
  f.chunk(1, f.stream("x"), 0, 20, "0123456789");
  f.done();
  const uint64_t stale = f.stream("x");
  f.feed(PeerLost{1});
  f.wait(4999ms);
  CHECK(f.done().empty());
  f.wait(1ms);
  CHECK(f.done() == Lines{"connect a:1", "open x@2", "open y@2"});
  f.chunk(2, stale, 10, 20, "0123456789");  // of the earlier connection: means nothing
  f.chunk(1, f.stream("x"), 0, 1, "?");     // from a peer that is gone
  CHECK(f.done().empty());
  f.chunk(2, f.stream("y"), 0, 1, "Y");
  CHECK(f.done() == Lines{"deliver 1 Y"});
  for (PeerId peer = 2; peer <= 3; ++peer) {
    f.feed(PeerLost{peer});
    f.wait(5s);
    CHECK(f.done() == Lines{"connect a:1", "open x@" + std::to_string(peer + 1)});
  }
  f.feed(PeerLost{4});
  CHECK(f.done() ==
        Lines{"deliver 0 error: cannot fetch x from a:1 in 4 tries: the connection was lost"});
  f.wait(1h);
  CHECK(f.done().empty());
  CHECK(f.client.streams() == 0);
  f.feed(FetchBlocks{2, {{0, "a:1", "z", 1}}});  // a later request tries anew
  CHECK(f.done() == Lines{"connect a:1", "open z@5"});
}

TEST_CASE("an address that can't be tried fails after the same retries", "[block_client]") {
  Fetching f;
  f.unreachable.insert("a:1");
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}}});
  f.wait(14999ms);
  CHECK(f.done() == Lines{"connect a:1", "connect a:1", "connect a:1"});
  f.wait(1ms);
  CHECK(f.done() ==
        Lines{"connect a:1",
              "deliver 0 error: cannot fetch x from a:1 in 4 tries: it cannot be reached"});
}

TEST_CASE("a peer that says nothing while it owes a block is given up", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}}});
  f.done();
  f.wait(100s);
  f.chunk(1, f.stream("x"), 0, 20, "0123456789");  // a sign of life
  CHECK(f.done() == Lines{"grant 10"});
  f.wait(119s);
  CHECK(f.done().empty());
  f.wait(1s);
  CHECK(f.done() == Lines{"drop 1"});
  f.wait(5s);
  CHECK(f.done() == Lines{"connect a:1", "open x@2"});
  f.chunk(2, f.stream("x"), 0, 1, "X");
  CHECK(f.done() == Lines{"deliver 0 X"});
  f.wait(10h);  // an idle connection may be silent
  CHECK(f.done().empty());
  f.feed(FetchBlocks{2, {{0, "a:1", "y", 10}}});
  f.wait(119s);
  CHECK(f.done() == Lines{"open y@2"});
  f.wait(1s);
  CHECK(f.done() == Lines{"drop 2"});
}

TEST_CASE("B40 a damaged block is fetched once more; damaged again it fails", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}}});
  f.done();
  f.chunk(1, f.stream("x"), 0, 1, "X", true);
  CHECK(f.done() == Lines{"cancel",
                          "log x from a:1 is corrupted due to NETWORK_ISSUE: the checksum of a "
                          "chunk is not the one sent; it is fetched again",
                          "open x@1"});
  SECTION("the second is whole") {
    f.chunk(1, f.stream("x"), 0, 1, "X");
    CHECK(f.done() == Lines{"deliver 0 X"});
  }
  SECTION("the second is damaged too") {
    f.chunk(1, f.stream("x"), 0, 1, "X", true);
    CHECK(f.done() == Lines{"cancel",
                            "deliver 0 error: x from a:1 is corrupted due to NETWORK_ISSUE: the "
                            "checksum of a chunk is not the one sent"});
  }
}

TEST_CASE("chunks that don't fit together are damage", "[block_client]") {
  struct Case {
    int64_t offset, total;
    std::string bytes;
  };
  for (const Case& c : {Case{5, 20, "abc"}, Case{10, 21, "abc"}, Case{10, 20, "0123456789A"},
                        Case{10, 20, ""}, Case{-1, 20, "abc"}}) {
    Fetching f;
    f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}}});
    f.chunk(1, f.stream("x"), 0, 20, "0123456789");
    f.done();
    f.chunk(1, f.stream("x"), c.offset, c.total, c.bytes);
    CHECK(f.done()[0] == "cancel");
    CHECK(f.opened.size() == 2);
  }
}

TEST_CASE("a block that a peer does not have fails at once", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 10}}});
  f.feed(Received<FromBlocks>{1, BlockMissing{f.stream("x"), "not here"}});
  CHECK(f.done().back() == "deliver 0 error: cannot fetch x from a:1: not here");
}

TEST_CASE("an ended request is cancelled and delivers nothing more", "[block_client]") {
  Fetching f;
  f.feed(FetchBlocks{1, {{0, "a:1", "x", 100}, {1, "a:1", "y", 100}}});
  f.feed(FetchBlocks{2, {{0, "a:1", "z", 1}}});
  f.done();
  f.feed(EndRequest{1});
  CHECK(f.done() == Lines{"cancel"});
  f.chunk(1, f.stream("x"), 0, 1, "X");
  CHECK(f.done().empty());
  f.feed(PeerLost{1});
  f.wait(5s);
  CHECK(f.done() == Lines{"connect a:1", "open z@2"});
}

// ---- both over real sockets -----------------------------------------------------------

namespace {

/// One process's half: blocks and their transfer, on loopback at a port that was free.
struct Process {
  test::FakeFiles& files;
  std::unique_ptr<BlockManager> blocks;
  std::unique_ptr<BlockTransfer> transfer;
  BlockManagerId id;

  Process(test::FakeFiles& shared, const std::string& name, const std::string& host)
      : files(shared) {
    auto opened =
        BlockManager::open(files,
                           {.local_dirs = {"/d"},
                            .unique_name = name,
                            .memory = 64 << 20,
                            .sub_directories = 64,
                            .map_outputs = {.max_in_memory_output = 8, .max_memory = 1 << 20}},
                           {});
    blocks = std::move(*opened);
    BlockTransferOptions options = block_transfer_options(conf::Conf{});
    options.self = {ExecutorId{name}, host, ""};
    options.listen.host = "127.0.0.1";
    options.client.retry_wait = 1ms;
    options.client.max_in_flight = 3 << 20;
    auto started = BlockTransfer::start(options, *blocks);
    REQUIRE(started);
    transfer = std::move(*started);
    id = {ExecutorId{name}, host, "127.0.0.1:" + std::to_string(transfer->port())};
  }
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

}  // namespace

TEST_CASE("blocks come from another process, whatever their size", "[block_transfer]") {
  test::FakeFiles files;
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
  test::FakeFiles files;
  Process a(files, "1", "host"), b(files, "2", "host");
  const std::atomic<bool> killed{false};
  a.write(7, "large enough for a file");
  a.write(8, "small");
  b.transfer->set_local_dirs(a.id.executor, a.blocks->local_dirs());
  const auto fetch = [&] {
    return drain(*b.transfer->fetch({want(a, "shuffle_1_7_0"), want(a, "shuffle_1_8_0")}, killed));
  };
  CHECK(fetch() == std::map<size_t, std::string>{{0, "large enough for a file"}, {1, "small"}});
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

TEST_CASE("a kill, and a stop, end a stream that waits", "[block_transfer]") {
  test::FakeFiles files;
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

TEST_CASE("a single block is fetched without waiting", "[block_transfer]") {
  test::FakeFiles files;
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

TEST_CASE("without network only one's own blocks can be had", "[block_transfer]") {
  test::FakeFiles files;
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
