// Serves blocks to peers in chunks with credit. Pure: reading is an effect, so is sending.
//
// A stream sends at most its credit ahead of what its reader granted, so a slow reader costs only
// its own stream: the others' chunks go out as their credit allows. Blocks that are held for one
// peer while it has no credit are bounded; further streams of that peer wait until earlier ones are
// sent.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

struct BlockServerOptions {
  AppId app;                    // whose blocks these are; others are refused
  int64_t min_chunk = 4 << 10;  // smaller wishes are rounded up
  int64_t max_chunk = 8 << 20;
  int64_t max_credit = 64 << 20;  // of one stream
  int64_t max_held = 64 << 20;    // bytes of blocks that wait for one peer's credit
  size_t max_streams = 1 << 17;   // of one peer; beyond it is dropped
  size_t max_wishes = 1024;       // of one message; beyond it the peer is dropped
};

/// Answered by BlockReady.
struct ReadBlock {
  uint64_t ticket = 0;
  std::string block;
  bool operator==(const ReadBlock&) const = default;
};
struct BlockReady {
  uint64_t ticket = 0;
  Result<Payload> bytes;
};

/// Thread: one loop's.
class BlockServer {
 public:
  using Event = std::variant<Received<ToBlocks>, PeerLost, BlockReady>;
  using Effect = std::variant<Send<FromBlocks>, ReadBlock, Disconnect>;
  using Effects = std::vector<Effect>;

  explicit BlockServer(BlockServerOptions options) : options_(std::move(options)) {}
  void on(const Event& event, Time now, Effects& out);

  /// Streams that are open, over all peers.
  size_t streams() const { return open_; }
  /// Bytes of blocks held for `peer`.
  int64_t held(PeerId peer) const;

 private:
  struct Stream {
    WishedBlock wish;
    int64_t chunk = 0;
    int64_t credit = 0;
    int64_t at = 0, end = 0;  // within `bytes`
    bool ready = false;
    Payload bytes;
  };
  struct Peer {
    std::unordered_map<uint64_t, Stream> streams;
    std::deque<uint64_t> waiting;  // not read yet
    int64_t held = 0;
    bool reading = false;  // one at a time: only then is its size known
    BlockChunks outbox;    // small ones go together; empty while nothing is read
    size_t outbox_bytes = 0;
    Time outbox_since{};  // its first one came
  };
  struct Reading {
    PeerId peer = 0;
    uint64_t stream = 0;
  };

  void on_open(PeerId from, const OpenBlocks& m, Effects& out);
  bool add(Peer& peer, const OpenBlocks& m, const WishedBlock& wish);
  void on_grant(PeerId from, const GrantCredit& m, Effects& out);
  void on_cancel(PeerId from, uint64_t stream, Effects& out);
  void on_ready(const BlockReady& e, Effects& out);
  void begin(PeerId id, Peer& peer, uint64_t stream, const Result<Payload>& bytes, Effects& out);
  void read_more(PeerId id, Peer& peer, Effects& out);
  static std::shared_ptr<const void> until_sent(const std::shared_ptr<const Payload>& block,
                                                std::string_view part);
  void send_more(PeerId id, Peer& peer, uint64_t stream, Effects& out);
  void close(PeerId id, Peer& peer, uint64_t stream, Effects& out);
  void drop(PeerId id, Effects& out);
  bool is_full(const Peer& peer) const;
  static void flush(PeerId id, Peer& peer, Effects& out);

  const BlockServerOptions options_;
  std::map<PeerId, Peer> peers_;
  std::map<uint64_t, Reading> reading_;
  uint64_t next_ticket_ = 1;
  size_t open_ = 0;
  Time now_{};
};

}  // namespace tinderbox::core
