// Block store and block transfer of one process, made together: an executor's, or the driver's.
#pragma once

#include <memory>
#include <string>

#include "conf/conf.hpp"
#include "core/storage/block_manager.hpp"
#include "core/storage/transfer/block_transfer.hpp"
#include "net/files/files.hpp"
#include "net/process/control_group.hpp"

namespace tinderbox::core {

struct ProcessBlocksOptions {
  conf::Conf conf;
  ExecutorId self;
  std::string host;  // as peers reach it
  std::string bind_host;
  int port = 0;         // 0: any
  bool network = true;  // false: local mode, nobody else asks for blocks
  int64_t memory = 0;   // of the process, spark.executor.memory or spark.driver.memory
  net::GroupLimits limits = net::group_limits();  // what the kernel lets the process have
};

/// Members end in reverse order: the transfer before what it serves from.
struct ProcessBlocks {
  std::unique_ptr<net::Files> files;
  BlockManagerId id;
  int64_t max_fetched = 0;  // bytes: of what comes before its readers; larger blocks go to files
  std::unique_ptr<BlockManager> manager;
  std::unique_ptr<BlockTransfer> transfer;

  /// The stores; nobody else reaches them before listen(). Errors: no local directory (exit code
  /// 53).
  static Result<std::unique_ptr<ProcessBlocks>> open(const ProcessBlocksOptions& options,
                                                     BlockListener listener);
  /// The transfer, with the options that open() got. Errors: no port.
  Result<bool> listen(const ProcessBlocksOptions& options);
};

}  // namespace tinderbox::core
