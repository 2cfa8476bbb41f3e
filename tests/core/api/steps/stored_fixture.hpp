// One executor's services over its real stores, and a persisted Rdd that tells when it is computed.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/api/steps/node.hpp"
#include "core/storage/block_id.hpp"
#include "core/storage/block_manager.hpp"
#include "tests/core/storage/fake_files.hpp"

namespace tinderbox::tests {

inline constexpr int64_t kMiB = 1 << 20;
inline constexpr core::StorageLevel kMemoryOnly{.memory = true};

/// Counts what is appended to files.
class CountedFiles : public tinderbox::test::FakeFiles {
 public:
  std::atomic<int64_t> appended{0};
  Result<std::unique_ptr<net::WriteFile>> create(const std::string& path) override {
    Result<std::unique_ptr<net::WriteFile>> file = FakeFiles::create(path);
    if (!file) return file.error();
    std::unique_ptr<net::WriteFile> counted = std::make_unique<Counted>(std::move(*file), appended);
    return counted;
  }

 private:
  class Counted : public net::WriteFile {
   public:
    Counted(std::unique_ptr<net::WriteFile> file, std::atomic<int64_t>& appended)
        : file_(std::move(file)), appended_(appended) {}
    Result<bool> append(std::string_view bytes) override {
      appended_ += static_cast<int64_t>(bytes.size());
      return file_->append(bytes);
    }
    Result<bool> sync() override { return file_->sync(); }
    Result<bool> commit() override { return file_->commit(); }
    int64_t size() const override { return file_->size(); }

   private:
    std::unique_ptr<net::WriteFile> file_;
    std::atomic<int64_t>& appended_;
  };
};

/// Blocks and memory are real; everything else is out of reach.
struct StoredServices : core::TaskServices {
  CountedFiles all_files;
  std::unique_ptr<core::BlockManager> blocks;
  bool refuse = false;  // what is put
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;

  explicit StoredServices(int64_t memory) {
    core::BlockManagerOptions options;
    options.local_dirs = {"/d"};
    options.unique_name = "u";
    options.memory = memory;
    blocks = std::move(*core::BlockManager::open(all_files, options, {}));
    all_files.directories.insert("/temp");
  }
  Result<core::MapOutputsPtr> map_outputs(ShuffleId, int64_t) override { return Error{"none"}; }
  std::unique_ptr<core::BlockStream> fetch(std::vector<core::BlockWant>,
                                           const std::atomic<bool>&) override {
    return nullptr;
  }
  std::unique_ptr<core::MapOutputWriter> map_output(ShuffleId, int64_t, int32_t, int32_t) override {
    return nullptr;
  }
  std::optional<Payload> get_block(const std::string& block) override {
    std::optional<Payload> found = blocks->get(block);
    std::lock_guard lock(mutex);
    ++asked;
    changed.notify_all();
    return found;
  }
  /// Until blocks were asked for that often.
  void wait_for_asked(int times) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return asked >= times; });
  }
  bool put_block(const std::string& block, const core::StorageLevel& level,
                 Payload bytes) override {
    return !refuse && blocks->put(block, level, std::move(bytes), true);
  }
  Result<Payload> broadcast(BroadcastId) override { return Error{"none"}; }
  bool may_commit(AskPermissionToCommit) override { return false; }
  core::MemoryPool& memory() override { return blocks->memory(); }
  Result<std::string> temp_directory() override { return std::string("/temp"); }
  std::optional<std::string> property(const std::string&) const override { return std::nullopt; }
  net::Files& files() override { return all_files; }
};

/// `count` records a partition, `size` bytes each, in batches of `batch`.
struct Records final : core::TypedNode<std::string> {
  size_t count = 32, size = 64 << 10, batch = 4;
  mutable std::atomic<int> computed{0};     // partitions
  std::function<void(size_t)> before = {};  // a record, of that index

  Records(int32_t rdd, const core::StorageLevel& level) {
    id = RddId{rdd};
    storage_bits = core::pack_level(level);
  }
  std::unique_ptr<Cursor<std::string>> open(int32_t, core::TaskContext&) const override {
    ++computed;
    return std::make_unique<Reading>(*this);
  }

 private:
  class Reading final : public Cursor<std::string> {
   public:
    explicit Reading(const Records& records) : records_(records) {}
    bool next(Sink<std::string> out) override {
      for (size_t end = std::min(records_.count, at_ + records_.batch); at_ < end; ++at_) {
        if (records_.before) records_.before(at_);
        std::string record(records_.size, static_cast<char>('a' + at_ % 26));
        if (!out(std::move(record))) return false;
      }
      return at_ < records_.count;
    }

   private:
    const Records& records_;
    size_t at_ = 0;
  };
};

/// The task that reads a partition: what it computes is kept.
struct Reader {
  core::TaskContext context;
  explicit Reader(StoredServices& services, int64_t task = 1) {
    context.id = TaskId{task};
    context.services = &services;
  }
  size_t count(const Records& records, int32_t partition = 0) {
    size_t n = 0;
    const auto cursor = core::open_partition<std::string>(records, partition, context);
    core::drive<std::string>(*cursor, context, [&](std::string&& record) {
      n += record == std::string(records.size, static_cast<char>('a' + n % 26)) ? 1 : 0;
      return true;
    });
    return n;
  }
};

}  // namespace tinderbox::tests
