// Fetches blocks from peers: bounded bytes in flight, retries, deadlines. Pure.
// Source: Spark ShuffleBlockFetcherIterator and RetryingBlockTransferor 4.3.
//
// A request is what one task wants. Each block of it is a stream of its own on the link to its
// address; a link that is lost, or silent for too long while it owes something, is opened again
// after a while and all its streams start anew under fresh numbers, so that what an earlier
// connection still delivers means nothing. A block that arrives damaged is asked for once more.
// A link has only so many streams open at once: its further ones wait until earlier ones end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct BlockClientOptions {
  Identity who;
  int64_t max_in_flight = 0;  // spark.reducer.maxSizeInFlight, of one request
  int32_t max_requests =
      0;  // spark.reducer.maxReqsInFlight: blocks of one request asked for at once
  int32_t max_per_address = 0;  // spark.reducer.maxBlocksInFlightPerAddress
  int32_t max_retries = 0;      // spark.shuffle.io.maxRetries
  Duration retry_wait{};        // spark.shuffle.io.retryWait
  Duration silence{};           // spark.shuffle.io.connectionTimeout
  int64_t chunk = 1 << 20;
  int64_t credit = 4 << 20;
  /// Streams of one link at once. Must be below BlockServerOptions::max_streams: a peer that has
  /// more is dropped.
  size_t max_open = 1 << 15;
  int64_t to_memory = INT64_MAX;  // larger ones go to files
  /// Of those, ones up to this size come to memory after all where a file cannot be written.
  int64_t without_file = 0;  // spark.network.maxRemoteBlockSizeFetchToMem
  uint64_t seed = 0;         // from which address a request begins
};

/// One block of a request. `index` comes back with it.
struct WantedBlock {
  size_t index = 0;
  std::string address;  // host:port
  std::string block;
  int64_t size = 0;  // estimate
};
/// Adds blocks to a request, which begins with its first ones.
struct FetchBlocks {
  uint64_t request = 0;
  std::vector<WantedBlock> blocks;
};
/// The reader took delivered blocks whose estimates sum up to `bytes`: as many more may come.
struct BlocksTaken {
  uint64_t request = 0;
  int64_t bytes = 0;
};
/// Nothing more of the request is delivered.
struct EndRequest {
  uint64_t request = 0;
};
/// What a ReadBack asked for.
struct FileRead {
  uint64_t stream = 0;
  Payload bytes;
};
/// A KeepChunk or the ReadBack of the stream could not be carried out.
struct FileFailed {
  uint64_t stream = 0;
  Error why;
};
struct BlockClientTimer {
  enum class Kind : uint8_t { Retry, Silence } kind{};
  uint64_t link = 0;
  uint64_t incarnation = 0;
  bool operator==(const BlockClientTimer&) const = default;
};
/// A block of a request, or why it can't be had. Once for each.
struct DeliverBlock {
  uint64_t request = 0;
  size_t index = 0;
  Result<Payload> bytes;
};
/// The next bytes of a block that is too large for memory: to the end of the stream's file.
struct KeepChunk {
  uint64_t stream = 0;
  Payload bytes;
};
/// That file is whole: a FileRead answers with its bytes, or a FileFailed.
struct ReadBack {
  uint64_t stream = 0;
};
/// That file is not wanted any more.
struct DropFile {
  uint64_t stream = 0;
};

/// Thread: one loop's.
class BlockClient {
 public:
  using Event = std::variant<Received<FromBlocks>, PeerLost, Connected, FetchBlocks, BlocksTaken,
                             EndRequest, FileRead, FileFailed, BlockClientTimer>;
  using Effect = std::variant<Send<ToBlocks>, Connect, Disconnect, After<BlockClientTimer>,
                              DeliverBlock, KeepChunk, ReadBack, DropFile, Log>;
  using Effects = std::vector<Effect>;

  explicit BlockClient(BlockClientOptions options) : options_(std::move(options)) {}
  void on(Event event, Time now, Effects& out);

  /// Blocks that are asked for and not delivered.
  size_t streams() const { return streams_.size(); }

 private:
  struct Stream {
    uint64_t request = 0;
    uint64_t link = 0;
    WantedBlock want;
    bool sent = false;  // the peer was asked for it, on the connection that the link has
    int32_t retries = 0;
    bool refetched = false;
    bool no_file = false;  // one could not be written
    int64_t total = -1;
    int64_t ungranted = 0;
    Bytes received;
    int64_t in_file = 0;  // received too
  };
  struct Waiting {
    uint64_t link = 0;
    WantedBlock want;
  };
  struct Request {
    std::deque<Waiting> waiting;
    int64_t bytes = 0;                                     // asked for and not taken by the reader
    int32_t asked = 0;                                     // asked for and not delivered
    std::map<uint64_t, int32_t> per_link;                  // of those
    std::map<uint64_t, std::deque<WantedBlock>> deferred;  // by link; no empty ones
  };
  struct Link {
    enum class State : uint8_t { Idle, Connecting, Open, Waiting } state = State::Idle;
    std::string address;
    PeerId peer = 0;
    uint64_t incarnation = 0;
    Time heard{};
    bool watched = false;          // a Silence timer is set
    size_t owed = 0;               // streams
    size_t sent = 0;               // of those; 0 unless Open
    std::deque<uint64_t> opening;  // the others, and some that ended since: to be opened together,
                                   // when Open as soon as there is room
  };

  void on_fetch(FetchBlocks& e, Time now, Effects& out);
  std::deque<Waiting> in_turns(std::vector<WantedBlock>& blocks, uint64_t turn);
  void on_connected(const Connected& e, Time now, Effects& out);
  void on_lost(PeerId peer, Effects& out);
  void on_timer(const BlockClientTimer& e, Time now, Effects& out);
  void on_end(uint64_t request, Effects& out);
  void on_file_read(FileRead& e, Effects& out);
  void on_file_failed(const FileFailed& e, Time now, Effects& out);
  void on_chunk(PeerId from, const BlockChunk& m, Time now, Effects& out);
  void on_missing(PeerId from, const BlockMissing& m, Time now, Effects& out);
  void ask_more(uint64_t id, Request& request, Time now, Effects& out);
  bool may_ask(const Request& request, const WantedBlock& want) const;
  void ask(uint64_t request, Waiting waiting, std::vector<uint64_t>& opening, Effects& out);
  void open(Link& link, Time now, Effects& out);
  void watch(uint64_t id, Link& link, Effects& out);
  void lose(uint64_t id, Link& link, const std::string& why, Effects& out);
  void refetch(uint64_t stream, const std::string& why, Time now, Effects& out);
  void begin_anew(uint64_t stream, std::string warning, Time now, Effects& out);
  static void forget_received(uint64_t number, Stream& stream, Effects& out);
  void finish(uint64_t stream, Result<Payload> bytes, Effects& out);
  void close(uint64_t stream);
  void release(Stream& stream);
  Stream* find(PeerId from, uint64_t stream, Time now);
  template <class Is>
  std::vector<uint64_t> numbers_of(Is is) const;
  uint64_t link_to(const std::string& address);

  const BlockClientOptions options_;
  std::map<uint64_t, Request> requests_;
  std::unordered_map<uint64_t, Stream> streams_;
  std::map<uint64_t, Link> links_;
  std::map<std::string, uint64_t> link_of_;
  std::map<PeerId, uint64_t> link_of_peer_;
  std::set<uint64_t> may_want_more_;  // requests that got a block in this event
  std::set<uint64_t> have_room_;      // links that may open more of their streams since this event
  uint64_t next_stream_ = 1;
  uint64_t next_link_ = 1;
};

}  // namespace tinderbox::core
