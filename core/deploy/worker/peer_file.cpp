#include "core/deploy/worker/peer_file.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/shell.hpp"
#include "core/storage/stores/checksum.hpp"
#include "core/storage/transfer/block_transfer.hpp"
#include "net/loop.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::core {
namespace {

/// How soon it is noticed that nobody wants the file any more.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
/// A larger file is not gathered: it is passed on as its chunks come.
constexpr int64_t kToMemory = 1 << 20;
constexpr const char* kNobodyWaits = "nobody waits for it any more";
constexpr const char* kChanged = "it was changed while it was read";

/// Passes on what comes, keeps the one answer and ends the loop. Chunks were checked before they
/// come here. A block begins anew when its connection was lost or a chunk was damaged: what the
/// sink has of it must be the same, and is not passed on again.
struct Host {
  net::Loop& loop;
  const net::BytesSink& sink;
  std::optional<Result<int64_t>> answer;
  int64_t at = 0;        // bytes that came since the block began last
  RunningChecksum sum;   // of these
  int64_t done = 0;      // bytes that the sink has
  uint64_t of_done = 0;  // their checksum, once the block begins anew

  void apply(const DeliverBlock& e) {
    if (!e.bytes) return end(e.bytes.error());
    take(e.bytes->view());
    end_whole();
  }
  void apply(const KeepChunk& e) { take(e.bytes.view()); }
  void apply(const ReadBack&) { end_whole(); }
  void apply(const DropFile&) {
    if (at == done) of_done = sum.value();
    at = 0;
    sum = RunningChecksum();
  }
  void take(std::string_view bytes) {
    if (answer) return;
    const size_t had = std::min(bytes.size(), static_cast<size_t>(done - at));
    count(bytes.substr(0, had));
    if (had > 0 && at == done && sum.value() != of_done) return end(Error{kChanged});
    const std::string_view rest = bytes.substr(had);
    if (rest.empty()) return;
    if (!sink(rest)) return end(Error{kNobodyWaits});
    count(rest);
    done = at;
  }
  void count(std::string_view bytes) {
    at += static_cast<int64_t>(bytes.size());
    sum.add(bytes);
  }
  /// A peer that is gone is tried for long, by someone who may be told to stop meanwhile.
  void look() {
    if (!sink({})) return end(Error{kNobodyWaits});
    loop.after(kLookAgain, [this] { look(); });
  }
  void end_whole() {
    if (at < done) return end(Error{kChanged});
    end(done);
  }
  void end(Result<int64_t> with) {
    if (answer) return;
    answer = std::move(with);
    loop.stop();
  }
};

Result<int64_t> read_block(const BlockClientOptions& options, const std::string& address,
                           const std::string& block, const net::BytesSink& sink) {
  auto loop = net::make_poll_loop();
  auto endpoint = net::make_socket_endpoint(*loop);
  Switchboard board(*endpoint);
  BlockClient client(options);
  Host host{*loop, sink, std::nullopt};
  Shell<BlockClient, Host> shell(*loop, board, client, host, "PeerFile");
  shell.listen<FromBlocks>();
  shell.listen_losses();
  shell.feed(FetchBlocks{1, {{0, address, block, 0}}});
  host.look();
  if (!host.answer) loop->run();
  return std::move(*host.answer);
}

}  // namespace

net::PeerFile peer_file(const conf::Conf& conf) {
  BlockClientOptions options = block_transfer_options(conf).client;
  options.to_memory = kToMemory;
  return [options](const std::string& address, const std::string& name,
                   const net::BytesSink& sink) -> Result<int64_t> {
    return read_block(options, address, "file/" + name, sink);
  };
}

}  // namespace tinderbox::core
