// A block manager on files in memory, and what it told the driver.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/storage/block_manager.hpp"
#include "core/storage/map_outputs/map_output_store.hpp"
#include "tests/core/storage/fake_files.hpp"
#include "tests/core/storage/payload_fixture.hpp"

namespace tinderbox::core::test {

using tinderbox::test::FakeFiles;

inline constexpr StorageLevel kMemoryOnly{.memory = true};
inline constexpr StorageLevel kDiskOnly{.disk = true};

inline Payload bytes(size_t n, char fill = 'x') { return Payload(Bytes(n, fill)); }

/// A block manager with 100 bytes for cached blocks, and what it told the driver.
struct Store {
  FakeFiles files;
  std::vector<BlockUpdate> told;
  std::vector<std::string> warnings;
  std::unique_ptr<BlockManager> blocks;

  explicit Store(BlockManagerOptions options = usual()) {
    options.warn = [this](const std::string& line) { warnings.push_back(line); };
    auto opened = BlockManager::open(files, std::move(options), [this](auto updates) {
      told.insert(told.end(), updates.begin(), updates.end());
    });
    REQUIRE(opened);
    blocks = std::move(*opened);
  }
  static BlockManagerOptions usual() {
    return {.local_dirs = {"/d1", "/d2"},
            .unique_name = "u",
            .memory = 100,
            .sub_directories = 64,
            .map_outputs = {.max_in_memory_output = 8, .max_memory = 1000}};
  }
  bool put(const std::string& name, const StorageLevel& level, size_t n, char fill = 'x') {
    return blocks->put(name, level, bytes(n, fill), true);
  }
  std::string get(const std::string& name) {
    const std::optional<Payload> found = blocks->get(name);
    return found ? std::string(found->view().substr(0, 1)) + std::to_string(found->size()) : "-";
  }
  std::vector<std::string> news() {
    std::vector<std::string> lines;
    for (const BlockUpdate& u : told)
      lines.push_back(u.block + (u.in_memory ? " memory" : "") + (u.on_disk ? " disk" : "") +
                      (u.in_memory || u.on_disk ? "" : " gone"));
    told.clear();
    return lines;
  }
};

inline Result<std::vector<int64_t>> write(MapOutputStore& store, int32_t shuffle, int64_t map,
                                          const std::vector<std::string>& parts) {
  auto output = store.open(ShuffleId{shuffle}, map, static_cast<int32_t>(parts.size()));
  for (size_t r = 0; r < parts.size(); ++r)
    if (!parts[r].empty())
      if (Result<bool> put = output->append(static_cast<int32_t>(r), parts[r]); !put)
        return put.error();
  return output->commit();
}
inline std::string read(BlockManager& blocks, const std::string& name) {
  const Result<Payload> found = blocks.read(name);
  return found ? std::string(found->view()) : "error: " + found.error().message;
}

}  // namespace tinderbox::core::test
