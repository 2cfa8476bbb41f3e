#include "core/executor/process_blocks.hpp"

#include <algorithm>

#include "conf/keys.hpp"
#include "conf/values/address.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {

namespace {
/// What is fetched ahead may take this part of the storage memory, beside the cached blocks.
constexpr int64_t kAheadShare = 16;
}  // namespace

Result<std::unique_ptr<ProcessBlocks>> ProcessBlocks::open(const ProcessBlocksOptions& options,
                                                           BlockListener listener) {
  auto blocks = std::make_unique<ProcessBlocks>();
  blocks->files = net::make_real_files();
  blocks->id = {options.self, options.host, ""};
  BlockManagerOptions stores =
      block_manager_options(options.conf, net::environment(), options.memory, net::unique_name());
  const int64_t ahead = stores.memory / kAheadShare;
  auto manager = BlockManager::open(*blocks->files, std::move(stores), std::move(listener));
  if (!manager) return manager.error();
  blocks->manager = std::move(*manager);
  BlockTransferOptions transfer = block_transfer_options(options.conf);
  transfer.self = blocks->id;
  transfer.network = options.network;
  transfer.max_ahead = std::min(transfer.max_ahead, ahead);
  transfer.listen.host = options.bind_host;
  transfer.listen.port = options.port;
  transfer.listen.retries = options.conf.get(conf::kPortMaxRetries);
  auto started = BlockTransfer::start(transfer, *blocks->manager);
  if (!started) return started.error();
  blocks->transfer = std::move(*started);
  blocks->id.address =
      conf::to_string({options.host, static_cast<uint16_t>(blocks->transfer->port())});
  return blocks;
}

}  // namespace tinderbox::core
