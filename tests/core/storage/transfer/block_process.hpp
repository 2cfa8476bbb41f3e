// One process's half of the block plane: blocks and their transfer, on loopback at a port that was
// free.
#pragma once

#include "core/storage/transfer/block_transfer.hpp"
#include "tests/core/storage/fake_files.hpp"
#include "tests/pch.hpp"

namespace tinderbox::core::test {

struct BlockProcess {
  std::unique_ptr<BlockManager> blocks;
  std::unique_ptr<BlockTransfer> transfer;
  BlockManagerId id;

  /// Map outputs of up to `in_memory` bytes stay in memory.
  BlockProcess(tinderbox::test::FakeFiles& files, const std::string& name, const std::string& host,
               int64_t in_memory, const std::function<void(BlockTransferOptions&)>& adjust) {
    auto opened = BlockManager::open(
        files,
        {.local_dirs = {"/d"},
         .unique_name = name,
         .memory = 64 << 20,
         .sub_directories = 64,
         .map_outputs = {.max_in_memory_output = in_memory, .max_memory = 1 << 20}},
        {});
    blocks = std::move(*opened);
    BlockTransferOptions options = block_transfer_options(conf::Conf{});
    options.self = {ExecutorId{name}, host, ""};
    options.listen.host = "127.0.0.1";
    adjust(options);
    auto started = BlockTransfer::start(options, *blocks);
    REQUIRE(started);
    transfer = std::move(*started);
    id = {ExecutorId{name}, host, "127.0.0.1:" + std::to_string(transfer->port())};
  }
};

}  // namespace tinderbox::core::test
