#include "core/deploy/worker/peer_file.hpp"

#include <limits>
#include <optional>

#include "core/shell.hpp"
#include "core/storage/transfer/block_transfer.hpp"
#include "net/loop.hpp"
#include "net/transport/endpoint.hpp"

namespace tinderbox::core {
namespace {

/// How soon it is noticed that nobody wants the file any more.
constexpr Duration kLookAgain = std::chrono::milliseconds(50);
constexpr const char* kNobodyWaits = "nobody waits for it any more";

/// Keeps the one answer and ends the loop.
struct Host {
  net::Loop& loop;
  const net::BytesSink& sink;
  std::optional<Result<Payload>> answer;

  void apply(const DeliverBlock& e) { end(e.bytes); }
  void apply(const KeepChunk&) {}  // peer_file() has all of it go to memory
  void apply(const DeliverFile&) {}
  void apply(const DropFile&) {}
  /// A peer that is gone is tried for long, by someone who may be told to stop meanwhile.
  void look() {
    if (!sink({})) return end(Error{kNobodyWaits});
    loop.after(kLookAgain, [this] { look(); });
  }
  void end(Result<Payload> with) {
    answer = std::move(with);
    loop.stop();
  }
};

Result<Payload> read_block(const BlockClientOptions& options, const std::string& address,
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
  options.to_memory = std::numeric_limits<int64_t>::max();
  return [options](const std::string& address, const std::string& name,
                   const net::BytesSink& sink) -> Result<int64_t> {
    Result<Payload> bytes = read_block(options, address, "file/" + name, sink);
    if (!bytes) return bytes.error();
    if (!sink(bytes->view())) return Error{kNobodyWaits};
    return static_cast<int64_t>(bytes->size());
  };
}

}  // namespace tinderbox::core
