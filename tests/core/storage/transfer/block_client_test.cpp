// The block client in virtual time.
#include "core/storage/transfer/block_client.hpp"

#include <xxhash.h>

#include "tests/core/storage/payload_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace std::chrono_literals;

namespace {

struct Fetching {
  BlockClient client;
  Time now{1h};
  std::vector<std::string> log;  // what it did, in order
  std::vector<WishedBlock> opened;
  size_t asked = 0;                                  // messages that opened them
  std::map<std::string, std::vector<PeerId>> peers;  // address → incarnations
  std::set<std::string> unreachable;
  std::map<uint64_t, std::string> files;  // of streams
  bool unreadable = false;                // they are
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
                       [&](KeepChunk& e) {
                         log.push_back("keep " + std::string(e.bytes.view()));
                         files[e.stream] += e.bytes.view();
                       },
                       [&](ReadBack& e) {
                         log.push_back("read back");
                         if (unreadable)
                           waiting.emplace_back(FileFailed{e.stream, {"the disk is full"}});
                         else
                           waiting.emplace_back(FileRead{e.stream, text(files.at(e.stream))});
                       },
                       [&](DropFile& e) {
                         log.push_back("drop file");
                         CHECK(files.erase(e.stream) == 1);
                       },
                       [&](Log& e) { log.push_back("log " + e.line); },
                   },
                   effect);
    }
  }
  void note(const Send<ToBlocks>& e) {
    std::visit(overloaded{
                   [&](const OpenBlocks& m) {
                     ++asked;
                     for (const WishedBlock& wish : m.wishes) {
                       opened.push_back(wish);
                       log.push_back("open " + wish.block + "@" + std::to_string(e.to));
                     }
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
        from, BlockChunks{{{stream, offset, total,
                            XXH3_64bits(bytes.data(), bytes.size()) + damaged, text(bytes)}}}});
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

TEST_CASE("what is asked for at once goes in one message", "[block_client]") {
  BlockClientOptions options = Fetching::usual();
  options.max_in_flight = 1000;
  options.max_per_address = 300;
  Fetching many(options);
  std::vector<WantedBlock> blocks;
  for (size_t i = 0; i < 400; ++i) blocks.push_back({i, "a:1", "b" + std::to_string(i), 0});
  many.feed(FetchBlocks{1, blocks});
  CHECK(many.opened.size() == 300);
  CHECK(many.asked == 2);  // 256 and 44
  BlockChunks come;
  for (int i = 0; i < 70; ++i)
    come.chunks.push_back(
        {many.stream("b" + std::to_string(i)), 0, 1, XXH3_64bits("x", 1), text("x")});
  many.feed(Received<FromBlocks>{1, come});
  CHECK(many.opened.size() == 370);
  CHECK(many.asked == 3);
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
  BlockClientOptions options = Fetching::usual();
  options.max_requests = 2;
  Fetching f(options);
  const std::vector<WantedBlock> wants = {
      {0, "a:1", "a0", 1}, {1, "a:1", "a1", 1}, {2, "b:1", "b0", 1}, {3, "b:1", "b1", 1}};
  const auto order = [&](uint64_t request) {
    f.opened.clear();
    f.feed(FetchBlocks{request, wants});
    std::string names;
    for (const WishedBlock& m : f.opened) names += m.block + " ";
    return names;
  };
  f.feed(FetchBlocks{9, {{0, "a:1", "q", 1}, {1, "b:1", "q", 1}}});
  CHECK(order(2) == "a0 b0 ");
  CHECK(order(3) == "b0 a0 ");
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
    CAPTURE(c.offset, c.total, c.bytes);
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

namespace {

/// Two requests of five blocks each at a peer of which three may be open at once.
Fetching three_open() {
  BlockClientOptions o = Fetching::usual();
  o.max_open = 3;
  Fetching f(o);
  const auto fetch = [&](uint64_t request, const std::string& name) {
    std::vector<WantedBlock> blocks;
    for (size_t i = 0; i < 5; ++i) blocks.push_back({i, "a:1", name + std::to_string(i), 1});
    f.feed(FetchBlocks{request, blocks});
  };
  fetch(1, "a");
  fetch(2, "b");
  CHECK(f.done() == Lines{"connect a:1", "open a0@1", "open a1@1", "open a2@1"});
  return f;
}

/// Delivers all blocks that are opened, the first `ended` of which are no more; at most three are
/// open at any time.
void deliver_all(Fetching& f, size_t ended) {
  for (; ended < f.opened.size(); ++ended) {
    CHECK(f.opened.size() <= ended + 3);
    f.chunk(f.last_peer, f.opened[ended].stream, 0, 1, "!");
  }
  CHECK(f.client.streams() == 0);
}

/// Those blocks come in one message.
void come_together(Fetching& f, const Lines& blocks) {
  BlockChunks come;
  for (const std::string& block : blocks)
    come.chunks.push_back({f.stream(block), 0, 1, XXH3_64bits("!", 1), text("!")});
  f.feed(Received<FromBlocks>{1, come});
}

int64_t delivered(const Lines& log) {
  return std::count_if(log.begin(), log.end(),
                       [](const std::string& line) { return line.starts_with("deliver "); });
}

}  // namespace

TEST_CASE("a peer has so many streams open at once, the others wait until one ends",
          "[block_client]") {
  Fetching f = three_open();
  f.chunk(1, f.stream("a1"), 0, 1, "!");
  CHECK(f.done() == Lines{"deliver 1 !", "open a3@1"});
  SECTION("the connection is lost: none is open any more") {
    f.feed(PeerLost{1});
    f.wait(5s);
    CHECK(f.done() == Lines{"connect a:1", "open a0@2", "open a2@2", "open a3@2"});
    deliver_all(f, 4);
    CHECK(delivered(f.done()) == 9);
  }
  SECTION("several that end together make way together") {
    const size_t before = f.asked;
    come_together(f, {"a0", "a2", "a3"});
    CHECK(f.asked == before + 1);
    CHECK(f.opened.size() == 7);
    deliver_all(f, 4);
    CHECK(delivered(f.done()) == 9);
  }
  SECTION("what a peer does not have, or came damaged, makes way too") {
    f.feed(Received<FromBlocks>{1, BlockMissing{f.stream("a0"), "gone"}});
    CHECK(f.done().back() == "open a4@1");
    f.chunk(1, f.stream("a2"), 0, 1, "!", true);
    CHECK(f.done().back() == "open b0@1");
    f.chunk(1, f.stream("a3"), 0, 1, "!");
    CHECK(f.done().back() == "open b1@1");
    deliver_all(f, 4);
    CHECK(f.opened.back().block == "a2");
  }
  SECTION("only what was asked for is cancelled") {
    f.feed(EndRequest{2});
    CHECK(f.done().empty());
    f.feed(FetchBlocks{3, {{0, "a:1", "c", 1}}});
    CHECK(f.done().empty());
    f.feed(EndRequest{1});
    CHECK(f.done() == Lines{"cancel", "cancel", "cancel", "open c@1"});
    f.chunk(1, f.stream("c"), 0, 1, "!");
    CHECK(f.client.streams() == 0);
  }
}

TEST_CASE("silence counts for streams that others made way for", "[block_client]") {
  Fetching f = three_open();
  f.wait(100s);
  come_together(f, {"a0", "a1", "a2"});
  CHECK(f.done().back() == "open b0@1");
  f.wait(119s);
  CHECK(f.done().empty());
  f.wait(1s);
  CHECK(f.done() == Lines{"drop 1"});
  f.wait(5s);
  CHECK(f.done() == Lines{"connect a:1", "open a3@2", "open a4@2", "open b0@2"});
  deliver_all(f, 6);
  CHECK(delivered(f.done()) == 7);
  f.wait(10h);
  CHECK(f.done().empty());
}

namespace {

/// Fetches block x, which is too large for memory, and has its first chunk.
Fetching too_large() {
  BlockClientOptions o = Fetching::usual();
  o.to_memory = 20;
  Fetching f(o);
  f.feed(FetchBlocks{1, {{4, "a:1", "x", 25}}});
  f.chunk(1, f.stream("x"), 0, 25, "0123456789");
  CHECK(f.done() == Lines{"connect a:1", "open x@1", "keep 0123456789", "grant 10"});
  return f;
}

}  // namespace

TEST_CASE("blocks that are too large for memory come through files", "[block_client]") {
  Fetching f = too_large();
  f.chunk(1, f.stream("x"), 10, 25, "0123456789");
  f.chunk(1, f.stream("x"), 20, 25, "01234");
  CHECK(f.done() == Lines{"keep 0123456789", "grant 10", "keep 01234", "read back", "drop file",
                          "deliver 4 0123456789012345678901234"});
  CHECK(f.client.streams() == 0);
  f.feed(FetchBlocks{1, {{5, "a:1", "y", 20}}});
  f.chunk(1, f.stream("y"), 0, 20, "0123456789");
  f.chunk(1, f.stream("y"), 10, 20, "0123456789");
  CHECK(f.done() == Lines{"open y@1", "grant 10", "deliver 5 01234567890123456789"});
}

namespace {

/// Fetches block x through a file whose first chunk, or only its reading, fails.
Fetching through_bad_file(int64_t without_file, bool at_its_end) {
  BlockClientOptions o = Fetching::usual();
  o.to_memory = 20;
  o.without_file = without_file;
  Fetching f(o);
  f.unreadable = at_its_end;
  f.feed(FetchBlocks{1, {{4, "a:1", "x", 25}}});
  f.chunk(1, f.stream("x"), 0, 25, "0123456789");
  f.done();
  if (!at_its_end) {
    f.feed(FileFailed{f.stream("x"), {"the disk is full"}});
    CHECK(f.log.front() == "cancel");
    f.log.erase(f.log.begin());
    return f;
  }
  f.chunk(1, f.stream("x"), 10, 25, "0123456789");
  f.chunk(1, f.stream("x"), 20, 25, "01234");
  const Lines read{"keep 0123456789", "grant 10", "keep 01234", "read back"};
  CHECK(Lines(f.log.begin(), f.log.begin() + 4) == read);
  f.log.erase(f.log.begin(), f.log.begin() + 4);
  return f;
}

}  // namespace

TEST_CASE("a block that is larger fails with its file", "[block_client]") {
  Fetching f = through_bad_file(24, GENERATE(false, true));
  CHECK(f.done() == Lines{"drop file", "deliver 4 error: the disk is full"});
  CHECK(f.client.streams() == 0);
}

TEST_CASE("a block comes to memory after all where its file cannot be written or read, once",
          "[block_client]") {
  const bool at_its_end = GENERATE(false, true);
  Fetching f = through_bad_file(25, at_its_end);
  CHECK(f.done() ==
        Lines{"drop file", "log x from a:1 is fetched into memory: the disk is full", "open x@1"});
  // Of a file that was read after its last chunk had failed, it is heard twice.
  f.feed(FileFailed{f.opened.front().stream, {"the disk is full"}});
  f.chunk(1, f.stream("x"), 0, 25, "0123456789");
  f.chunk(1, f.stream("x"), 10, 25, "0123456789");
  f.chunk(1, f.stream("x"), 20, 25, "01234");
  CHECK(f.done() == Lines{"grant 10", "grant 10", "deliver 4 0123456789012345678901234"});
  CHECK(f.client.streams() == 0);
  // The link has its room again: as many blocks as may be open at once can be.
  f.feed(FetchBlocks{2, {{0, "a:1", "y", 10}}});
  CHECK(f.done() == Lines{"open y@1"});
}

TEST_CASE("the file of what begins anew, fails or is not wanted any more goes", "[block_client]") {
  Fetching f = too_large();
  SECTION("damaged, then again") {
    f.chunk(1, f.stream("x"), 10, 25, "0123456789", true);
    CHECK(f.done().at(1) == "drop file");
    f.chunk(1, f.stream("x"), 0, 25, "0123456789");
    f.chunk(1, f.stream("x"), 10, 25, "0123456789", true);
    const Lines log = f.done();
    CHECK(log.at(log.size() - 2) == "drop file");
    CHECK_THAT(log.back(), Catch::Contains("deliver 4 error: x from a:1 is corrupted"));
  }
  SECTION("the connection is lost, then there is none") {
    f.feed(PeerLost{1});
    CHECK(f.done() == Lines{"drop file"});
    f.wait(5s);
    f.chunk(2, f.stream("x"), 0, 25, "0123456789");
    f.unreachable.insert("a:1");
    f.done();
    f.feed(PeerLost{2});
    f.wait(60s);
    CHECK(f.done().front() == "drop file");
  }
  SECTION("not there any more") {
    f.feed(Received<FromBlocks>{1, BlockMissing{f.stream("x"), "gone"}});
    CHECK(f.done() == Lines{"drop file", "deliver 4 error: cannot fetch x from a:1: gone"});
  }
  SECTION("not wanted any more") {
    f.feed(EndRequest{1});
    CHECK(f.done() == Lines{"cancel", "drop file"});
  }
  SECTION("it cannot be written: nothing more is asked for") {
    const FileFailed failed{f.stream("x"), {"the disk is full"}};
    f.feed(failed);
    CHECK(f.done() == Lines{"cancel", "drop file", "deliver 4 error: the disk is full"});
    CHECK(f.client.streams() == 0);
    f.chunk(1, f.stream("x"), 10, 25, "0123456789");  // was on its way
    f.feed(failed);
    CHECK(f.done().empty());
  }
  SECTION("it cannot be written, which is heard when the block began anew") {
    const FileFailed failed{f.stream("x"), {"the disk is full"}};
    f.feed(PeerLost{1});
    f.feed(failed);
    CHECK(f.done() == Lines{"drop file"});
    CHECK(f.client.streams() == 1);
  }
  CHECK(f.files.empty());
}
