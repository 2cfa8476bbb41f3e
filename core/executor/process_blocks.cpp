#include "core/executor/process_blocks.hpp"

#include "conf/keys.hpp"
#include "conf/values/address.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {

Result<std::unique_ptr<ProcessBlocks>> ProcessBlocks::open(const ProcessBlocksOptions& options,
                                                           BlockListener listener) {
  auto blocks = std::make_unique<ProcessBlocks>();
  blocks->files = net::make_real_files();
  blocks->id = {options.self, options.host, ""};
  auto manager = BlockManager::open(
      *blocks->files,
      block_manager_options(options.conf, net::environment(), options.memory, net::unique_name()),
      std::move(listener));
  if (!manager) return manager.error();
  blocks->manager = std::move(*manager);
  BlockTransferOptions transfer = block_transfer_options(options.conf);
  transfer.self = blocks->id;
  transfer.network = options.network;
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
