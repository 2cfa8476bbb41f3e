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
  blocks->max_ahead = stores.memory / kAheadShare;
  auto manager = BlockManager::open(*blocks->files, std::move(stores), std::move(listener));
  if (!manager) return manager.error();
  blocks->manager = std::move(*manager);
  return blocks;
}

Result<bool> ProcessBlocks::listen(const ProcessBlocksOptions& options) {
  BlockTransferOptions o = block_transfer_options(options.conf);
  o.self = id;
  o.network = options.network;
  o.max_ahead = std::min(o.max_ahead, max_ahead);
  o.listen.host = options.bind_host;
  o.listen.port = options.port;
  o.listen.retries = options.conf.get(conf::kPortMaxRetries);
  auto started = BlockTransfer::start(o, *manager);
  if (!started) return started.error();
  transfer = std::move(*started);
  id.address = conf::to_string({options.host, static_cast<uint16_t>(transfer->port())});
  return true;
}

}  // namespace tinderbox::core
