#include "core/executor/process_blocks.hpp"

#include <algorithm>

#include "conf/keys.hpp"
#include "conf/values/address.hpp"
#include "core/deploy/s3_access.hpp"
#include "core/plan/tasks/task.hpp"
#include "net/files/all_files.hpp"
#include "net/log.hpp"
#include "net/process/environment.hpp"

namespace tinderbox::core {

namespace {
/// What is fetched ahead, and a block that is fetched whole, may take this part of the storage
/// memory, beside the cached blocks.
constexpr int64_t kFetchedShare = 16;

/// Object stores are asked as the conf and this process's environment say.
std::unique_ptr<net::Files> files_of(const conf::Conf& conf) {
  const std::map<std::string, std::string> variables = net::environment();
  const conf::Environment environment(variables.begin(), variables.end());
  const auto access = [conf, environment](const std::string& bucket) -> Result<net::S3Access> {
    try {
      return s3_access(conf, environment, bucket);
    } catch (const conf::Error& e) {
      return Error{e.what()};
    }
  };
  net::HttpPatience patience;
  patience.cancelled = this_task_is_killed;
  return net::make_all_files(net::make_real_files(), access, std::move(patience));
}

/// A pool that is larger than what the kernel lets the process have would be its end.
int64_t allowed_memory(const ProcessBlocksOptions& options) {
  const int64_t asked = options.memory, limit = options.limits.memory.value_or(asked);
  if (limit >= asked) return asked;
  net::log(net::Level::Warn, "ProcessBlocks",
           "the control group of this process allows it " + std::to_string(limit >> 20) +
               " MiB, less than the " + std::to_string(asked >> 20) +
               " MiB that it was given: it plans with the former");
  return limit;
}

}  // namespace

Result<std::unique_ptr<ProcessBlocks>> ProcessBlocks::open(const ProcessBlocksOptions& options,
                                                           BlockListener listener) {
  auto blocks = std::make_unique<ProcessBlocks>();
  blocks->files = files_of(options.conf);
  blocks->id = {options.self, options.host, ""};
  BlockManagerOptions stores = block_manager_options(options.conf, net::environment(),
                                                     allowed_memory(options), net::unique_name());
  stores.warn = [](const std::string& line) { net::log(net::Level::Warn, "BlockManager", line); };
  blocks->max_fetched = stores.memory / kFetchedShare;
  auto manager = BlockManager::open(*blocks->files, std::move(stores), std::move(listener));
  if (!manager) return manager.error();
  blocks->manager = std::move(*manager);
  return blocks;
}

Result<bool> ProcessBlocks::listen(const ProcessBlocksOptions& options) {
  BlockTransferOptions o = block_transfer_options(options.conf);
  o.self = id;
  o.network = options.network;
  o.max_ahead = std::min(o.max_ahead, max_fetched);
  o.client.without_file = o.client.to_memory;
  o.client.to_memory = std::min(o.client.to_memory, max_fetched);
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
