// The block server in virtual time.
#include "core/storage/transfer/block_server.hpp"

#include <xxhash.h>

#include "tests/core/storage/payload_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

/// Feeds a server and answers its reads from a table at once.
struct Serving {
  BlockServer server;
  std::map<std::string, Payload> blocks;
  std::vector<std::string> reads;
  std::vector<PeerId> dropped;
  std::map<PeerId, std::vector<FromBlocks>> sent;
  Time now{1h};
  Duration read_time{};
  bool holds = false;  // reads are answered by answer()
  std::deque<BlockServer::Event> held_back;

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
      server.on(waiting.front(), now, out);
      waiting.pop_front();
      for (BlockServer::Effect& effect : out)
        std::visit(overloaded{
                       [&](Send<FromBlocks>& e) { sent[e.to].push_back(std::move(e.message)); },
                       [&](ReadBlock& e) {
                         reads.push_back(e.block);
                         const auto it = blocks.find(e.block);
                         now += read_time;
                         (holds ? held_back : waiting)
                             .emplace_back(BlockReady{
                                 e.ticket, it == blocks.end() ? Result<Payload>(Error{"not here"})
                                                              : Result<Payload>(it->second)});
                       },
                       [&](Disconnect& e) { dropped.push_back(e.peer); },
                   },
                   effect);
    }
  }
  void answer() {
    REQUIRE_FALSE(held_back.empty());
    BlockServer::Event next = std::move(held_back.front());
    held_back.pop_front();
    feed(std::move(next));
  }
  void open(PeerId from, uint64_t stream, const std::string& block, int64_t chunk, int64_t credit) {
    feed(Received<ToBlocks>{from, OpenBlocks{{}, {{stream, block}}, chunk, credit}});
  }
  /// What `peer` got, chunks as offset:bytes; and forgets it.
  std::vector<std::string> got(PeerId peer) {
    std::vector<std::string> lines;
    for (const FromBlocks& m : sent[peer])
      std::visit(overloaded{
                     [&](const BlockChunks& m) {
                       CHECK_FALSE(m.chunks.empty());
                       for (const BlockChunk& c : m.chunks) {
                         CHECK(c.checksum == XXH3_64bits(c.bytes.view().data(), c.bytes.size()));
                         lines.push_back(std::to_string(c.offset) + "/" + std::to_string(c.total) +
                                         ":" + std::string(c.bytes.view()));
                       }
                     },
                     [&](const BlockMissing& m) { lines.push_back("missing: " + m.reason); },
                 },
                 m);
    sent[peer].clear();
    return lines;
  }
};

}  // namespace

TEST_CASE("a block comes in chunks, each with its checksum", "[block_server]") {
  Serving s;
  s.blocks["rdd_1_0"] = text("0123456789");
  s.open(1, 5, "rdd_1_0", 4, 64);
  CHECK(s.got(1) == Lines{"0/10:0123", "4/10:4567", "8/10:89"});
  CHECK(s.server.streams() == 0);
  CHECK(s.server.held(1) == 0);
}

TEST_CASE("small blocks go in one message, large ones don't wait for others", "[block_server]") {
  Serving s(BlockServerOptions{});
  OpenBlocks m;
  const auto chunks_of_messages = [&] {
    std::vector<size_t> counts;
    for (const FromBlocks& sent : s.sent[1])
      counts.push_back(std::get<BlockChunks>(sent).chunks.size());
    return counts;
  };
  const auto wish = [&](size_t bytes) {
    const std::string block = "rdd_1_" + std::to_string(s.blocks.size());
    s.blocks[block] = text(std::string(bytes, 'a'));
    m.wishes.push_back({m.wishes.size(), block});
  };
  for (const size_t bytes : {10, 0, 300, 40000, 30000, 100000, 5}) wish(bytes);
  s.feed(Received<ToBlocks>{1, m});
  CHECK(chunks_of_messages() == std::vector<size_t>{5, 1, 1});
  CHECK(s.got(1).size() == 7);
  m.wishes.clear();
  s.blocks.clear();
  for (int i = 0; i < 600; ++i) wish(1);
  s.feed(Received<ToBlocks>{1, m});
  CHECK(chunks_of_messages() == std::vector<size_t>{256, 256, 88});
  CHECK(s.server.streams() == 0);
}

TEST_CASE("a small block that waits for others goes whatever becomes of them", "[block_server]") {
  Serving s(BlockServerOptions{});
  s.blocks["rdd_1_0"] = s.blocks["rdd_1_1"] = text("x");
  SECTION("not there") {
    s.feed(Received<ToBlocks>{1, OpenBlocks{{}, {{1, "rdd_1_0"}, {2, "rdd_9_9"}}}});
    CHECK(s.got(1) == Lines{"missing: not here", "0/1:x"});
  }
  SECTION("cancelled") {
    s.holds = true;
    s.feed(Received<ToBlocks>{1, OpenBlocks{{}, {{1, "rdd_1_0"}, {2, "rdd_1_1"}}}});
    s.answer();
    CHECK(s.got(1).empty());
    s.feed(Received<ToBlocks>{1, CancelStream{2}});
    s.answer();
    CHECK(s.got(1) == Lines{"0/1:x"});
  }
  SECTION("its peer lost") {
    s.holds = true;
    s.feed(Received<ToBlocks>{1, OpenBlocks{{}, {{1, "rdd_1_0"}, {2, "rdd_1_1"}}}});
    s.answer();
    s.feed(PeerLost{1});
    s.answer();
    CHECK(s.got(1).empty());
  }
  SECTION("slow to read") {
    s.read_time = 15ms;
    for (int i = 2; i < 7; ++i) s.blocks["rdd_1_" + std::to_string(i)] = text("x");
    OpenBlocks m;
    for (uint64_t i = 0; i < 7; ++i) m.wishes.push_back({i, "rdd_1_" + std::to_string(i)});
    s.feed(Received<ToBlocks>{1, m});
    CHECK(s.sent[1].size() == 3);
    CHECK(s.got(1).size() == 7);
  }
  CHECK(s.server.streams() == 0);
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
    CAPTURE(c.block, c.offset, c.length);
    Serving s;
    s.blocks["rdd_1_0"] = text("0123456789");
    s.blocks["rdd_1_1"] = text("");
    s.feed(Received<ToBlocks>{1, OpenBlocks{{}, {{1, c.block, c.offset, c.length}}}});
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

TEST_CASE("one message asks for no more than a thousand blocks", "[block_server]") {
  Serving s(BlockServerOptions{});
  OpenBlocks m;
  for (uint64_t stream = 0; stream < 1024; ++stream) m.wishes.push_back({stream, "rdd_1_0"});
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1).size() == 1024);
  m.wishes.push_back({1024, "rdd_1_0"});
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1).empty());
  CHECK(s.dropped == std::vector<PeerId>{1});
}

TEST_CASE("another application's reader is refused", "[block_server]") {
  BlockServerOptions options = Serving::small();
  options.app = AppId{"app-1"};
  Serving s(options);
  s.blocks["rdd_1_0"] = text("x");
  OpenBlocks m{.who = {.app = AppId{"app-2"}}, .wishes = {{1, "rdd_1_0"}}};
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1) == Lines{"missing: this block server belongs to application app-1, not app-2"});
  m.who.app.value = std::string(100'000, 'a');
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1) == Lines{"missing: this block server belongs to application app-1, not " +
                          std::string(64, 'a')});
  m.who.app = AppId{"app-1"};
  s.feed(Received<ToBlocks>{1, m});
  CHECK(s.got(1) == Lines{"0/1:x"});
}
