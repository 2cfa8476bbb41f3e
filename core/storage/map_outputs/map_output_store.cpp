// Map outputs of this process.
//
// A commit is visible by its last step: in files the rename of the index (an index without its
// data, or with data of another length, is no valid pair), in memory the entry in the table.
#include "core/storage/map_outputs/map_output_store.hpp"

#include <xxhash.h>

#include <limits>
#include <numeric>
#include <optional>

#include "core/storage/stores/checksum.hpp"

namespace tinderbox::core {
namespace {

Bytes index_of(const std::vector<int64_t>& lengths) {
  std::vector<uint64_t> offsets(1);
  for (const int64_t length : lengths)
    offsets.push_back(offsets.back() + static_cast<uint64_t>(length));
  return map_output_words(offsets);
}

/// Written, but not there before its commit.
Result<std::unique_ptr<net::WriteFile>> write_file(net::Files& files, const std::string& path,
                                                   std::string_view bytes, bool sync) {
  Result<std::unique_ptr<net::WriteFile>> file = files.create(path);
  if (!file) return file;
  if (Result<bool> put = (*file)->append(bytes); !put) return put.error();
  if (sync)
    if (Result<bool> synced = (*file)->sync(); !synced) return synced.error();
  return file;
}

}  // namespace

// ---- writing --------------------------------------------------------------------------

/// Collects the partitions; moves over to a file once they are no longer small.
class MapOutputStore::Pending : public PendingMapOutput {
 public:
  Pending(MapOutputStore& store, ShuffleId shuffle, int64_t map_id, int32_t num_reduces)
      : store_(store),
        shuffle_(shuffle),
        map_id_(map_id),
        lengths_(static_cast<size_t>(num_reduces)),
        checksums_(static_cast<size_t>(num_reduces), checksum(Payload())) {}

  Result<bool> append(int32_t reduce, std::string_view bytes) override {
    if (reduce < reduce_ || static_cast<size_t>(reduce) >= lengths_.size())
      return Error{"partition " + std::to_string(reduce) + " of a map output with " +
                   std::to_string(lengths_.size()) + " partitions came out of order"};
    if (reduce > reduce_) XXH3_64bits_reset(sum_.get());
    reduce_ = reduce;
    lengths_[static_cast<size_t>(reduce)] += static_cast<int64_t>(bytes.size());
    XXH3_64bits_update(sum_.get(), bytes.data(), bytes.size());
    checksums_[static_cast<size_t>(reduce)] = XXH3_64bits_digest(sum_.get());
    if (buffer_.size() + bytes.size() <= limit()) {
      buffer_.append(bytes);
      return true;
    }
    if (Result<bool> flushed = flush(); !flushed) return flushed;
    if (bytes.size() >= limit()) return file_->append(bytes);
    buffer_.assign(bytes);
    return true;
  }

  Result<std::vector<int64_t>> commit() override {
    if (!file_) {
      std::vector<int64_t> lengths = lengths_;
      in_memory_ = store_.commit_memory(shuffle_, map_id_, joined(), lengths);
      if (in_memory_) return lengths;
    }
    if (Result<bool> flushed = flush(); !flushed) return flushed.error();
    return store_.commit_files(shuffle_, map_id_, lengths_, checksums_, std::move(file_));
  }
  bool in_memory() const override { return in_memory_; }

 private:
  /// While there is no file yet: what may stay in memory; then: the write buffer.
  size_t limit() const {
    constexpr size_t kBuffer = 32 << 10;
    return file_ ? kBuffer : static_cast<size_t>(store_.options_.max_in_memory_output);
  }

  std::shared_ptr<const InMemory> joined() {
    auto output = std::make_shared<InMemory>();
    output->offsets.reserve(lengths_.size() + 1);
    uint32_t offset = 0;
    output->offsets.push_back(offset);
    for (const int64_t length : lengths_)
      output->offsets.push_back(offset += static_cast<uint32_t>(length));
    output->bytes = Payload(Bytes(buffer_));
    return output;
  }

  Result<bool> flush() {
    if (!file_) {
      Result<std::string> path =
          store_.disk_.path_for_writing(shuffle_data_file(shuffle_, map_id_));
      if (!path) return path.error();
      Result<std::unique_ptr<net::WriteFile>> file = store_.files_.create(*path);
      if (!file) return file.error();
      file_ = std::move(*file);
    }
    Result<bool> put = file_->append(buffer_);
    buffer_.clear();
    return put;
  }

  MapOutputStore& store_;
  const ShuffleId shuffle_;
  const int64_t map_id_;
  int32_t reduce_ = -1;  // that bytes came of last
  const std::unique_ptr<XXH3_state_t, decltype([](auto* s) { XXH3_freeState(s); })> sum_{
      XXH3_createState()};  // of them
  std::vector<int64_t> lengths_;
  std::vector<uint64_t> checksums_;
  Bytes buffer_;
  std::unique_ptr<net::WriteFile> file_;
  bool in_memory_ = false;
};

std::unique_ptr<PendingMapOutput> MapOutputStore::open(ShuffleId shuffle, int64_t map_id,
                                                       int32_t num_reduces) {
  return std::make_unique<Pending>(*this, shuffle, map_id, num_reduces);
}

std::vector<int64_t> MapOutputStore::Output::lengths() const {
  return lengths_of({memory->offsets.begin(), memory->offsets.end()});
}

namespace {

/// So many shuffles that were removed are known: for as long as one of their tasks may still run.
constexpr size_t kRemoved = 10'000;

Error was_removed(ShuffleId shuffle) {
  return {"shuffle " + std::to_string(shuffle.value) + " was removed: nothing reads it any more"};
}

}  // namespace

/// A new table if there is none.
MapOutputStore::Outputs& MapOutputStore::outputs_of(ShuffleId shuffle) {
  std::shared_ptr<Outputs>& outputs = shuffles_[shuffle];
  if (!outputs) outputs = std::make_shared<Outputs>();
  return *outputs;
}

bool MapOutputStore::commit_memory(ShuffleId shuffle, int64_t map_id,
                                   std::shared_ptr<const InMemory> output,
                                   std::vector<int64_t>& lengths) {
  net::Lock commit(commit_mutex_);
  net::Lock lock(mutex_);
  if (removed_.contains(shuffle)) return false;
  Outputs& outputs = outputs_of(shuffle);
  const auto earlier = outputs.find(map_id);
  if (earlier != outputs.end()) {
    if (!earlier->second.memory) return false;  // committed as files: adopted there
    lengths = earlier->second.lengths();
    return true;
  }
  if (memory_used_ + output->cost() > options_.max_memory) return false;
  memory_used_ += output->cost();
  outputs.emplace(map_id, Output{std::move(output)});
  return true;
}

Result<std::vector<int64_t>> MapOutputStore::commit_files(ShuffleId shuffle, int64_t map_id,
                                                          const std::vector<int64_t>& lengths,
                                                          const std::vector<uint64_t>& checksums,
                                                          std::unique_ptr<net::WriteFile> data) {
  const std::string data_path = disk_.path(shuffle_data_file(shuffle, map_id));
  Result<std::string> index_path = disk_.path_for_writing(shuffle_index_file(shuffle, map_id));
  if (!index_path) return index_path.error();
  net::Lock commit(commit_mutex_);
  {
    net::Lock lock(mutex_);
    if (removed_.contains(shuffle)) return was_removed(shuffle);
    const Outputs& outputs = outputs_of(shuffle);
    if (const auto it = outputs.find(map_id); it != outputs.end() && it->second.memory)
      return it->second.lengths();
  }
  const auto num_reduces = static_cast<int32_t>(lengths.size());
  if (Result<std::vector<int64_t>> earlier = reader_.lengths(data_path, *index_path, num_reduces)) {
    if (const Result<bool> added = add_files(shuffle, map_id, *earlier); !added)
      return added.error();
    return earlier;
  }
  if (options_.sync)
    if (Result<bool> synced = data->sync(); !synced) return synced.error();
  // All is written before anything is there: a full disk leaves nothing of the output.
  auto index = write_file(files_, *index_path, index_of(lengths), options_.sync);
  if (!index) return index.error();
  const std::string sums_path = commit_checksums(shuffle, map_id, checksums);
  Result<bool> done = data->commit();
  if (done) done = (*index)->commit();
  if (!done) {
    for (const std::string& path : {data_path, sums_path}) (void)files_.remove(path);
    return done.error();
  }
  if (const Result<bool> added = add_files(shuffle, map_id, lengths); !added) return added.error();
  return lengths;
}

/// Without its checksums an output can still be read, so it is not lost for them.
std::string MapOutputStore::commit_checksums(ShuffleId shuffle, int64_t map_id,
                                             const std::vector<uint64_t>& checksums) {
  Result<std::string> path = disk_.path_for_writing(checksum_file(shuffle, map_id));
  if (!options_.checksum || !path) return disk_.path(checksum_file(shuffle, map_id));
  if (auto file = write_file(files_, *path, map_output_words(checksums), options_.sync))
    (void)(*file)->commit();
  return *path;
}

Result<bool> MapOutputStore::add_files(ShuffleId shuffle, int64_t map_id,
                                       const std::vector<int64_t>& lengths) {
  const int64_t bytes = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  {
    net::Lock lock(mutex_);
    if (!removed_.contains(shuffle)) {
      if (outputs_of(shuffle).emplace(map_id, Output{nullptr, bytes}).second) disk_used_ += bytes;
      return true;
    }
  }
  remove_files(shuffle, map_id);
  return was_removed(shuffle);
}

// ---- reading and removing -------------------------------------------------------------

Result<Payload> MapOutputStore::read(const BlockId& block) {
  Found found;
  {
    net::Lock lock(mutex_);
    const auto outputs = shuffles_.find(ShuffleId{block.owner});
    if (outputs != shuffles_.end()) found = found_in(*outputs->second, block.number);
  }
  return read_found(block, std::move(found));
}

/// The caches of other cores have what their tasks wrote: asked for together, small parts of many
/// outputs come in the time of a few, and what the next readers will ask for lies behind them.
void MapOutputStore::prefetch(const BlockId& block, const std::vector<const Output*>& found) {
  constexpr size_t kBehind = 128;
  const auto [first, last] = partitions_of(block);
  for (const Output* output : found) {
    if (!output || !output->memory || last >= output->memory->offsets.size()) continue;
    const char* bytes = output->memory->bytes.view().data();
    __builtin_prefetch(bytes + output->memory->offsets[first]);
    __builtin_prefetch(bytes + output->memory->offsets[last]);
    __builtin_prefetch(bytes + output->memory->offsets[last] + kBehind);
  }
}

/// Of many small ones looking each up alone, against task threads that do the same, would take
/// longer than to read them. The table keeps them all: to count who holds each would do so, too.
void MapOutputStore::read_each(BlockId block, const std::vector<int64_t>& maps,
                               const std::function<bool(const Result<std::string_view>&)>& take) {
  std::shared_ptr<const Outputs> outputs;
  std::vector<const Output*> found(maps.size());
  {
    net::Lock lock(mutex_);
    if (const auto it = shuffles_.find(ShuffleId{block.owner}); it != shuffles_.end()) {
      outputs = it->second;
      find_each(*outputs, maps, found);
    }
  }
  prefetch(block, found);
  for (size_t i = 0; i < maps.size(); ++i) {
    block.number = maps[i];
    const Output* output = found[i];
    if (output && output->memory) {
      if (!take(part_of(block, *output->memory))) return;
      continue;
    }
    const Result<Payload> file = read_found(block, {output != nullptr, nullptr});
    if (!take(file ? Result<std::string_view>(file->view()) : file.error())) return;
  }
}

/// Mostly each is the next one of the table.
void MapOutputStore::find_each(const Outputs& outputs, const std::vector<int64_t>& maps,
                               std::vector<const Output*>& found) {
  auto at = outputs.end();
  for (size_t i = 0; i < maps.size(); ++i) {
    if (at == outputs.end() || at->first != maps[i]) at = outputs.find(maps[i]);
    if (at != outputs.end()) found[i] = &at++->second;
  }
}

MapOutputStore::Found MapOutputStore::found_in(const Outputs& outputs, int64_t map_id) {
  const auto output = outputs.find(map_id);
  if (output == outputs.end()) return {};
  return {true, output->second.memory};
}

Result<std::string_view> MapOutputStore::part_of(const BlockId& block, const InMemory& memory) {
  const auto [first, last] = partitions_of(block);
  if (last >= memory.offsets.size()) return no_such_partition(block, memory.offsets.size() - 1);
  const uint32_t from = memory.offsets[first];
  return memory.bytes.view().substr(from, memory.offsets[last] - from);
}

Result<Payload> MapOutputStore::read_found(const BlockId& block, Found output) {
  if (!output.there) return Error{block_name(block) + " is not here"};
  std::shared_ptr<const InMemory>& memory = output.memory;
  if (block.kind == BlockId::Kind::ShuffleIndex) return read_index(block, memory.get());
  if (!memory) return reader_.read(disk_.directories(), sub_directories_, block).bytes;
  const Result<std::string_view> part = part_of(block, *memory);
  if (!part) return part.error();
  return Payload(std::move(memory), *part);
}

/// One in memory reads as if it were a file.
Result<Payload> MapOutputStore::read_index(const BlockId& block, const InMemory* memory) {
  if (!memory)
    return read_file(files_, disk_.path(shuffle_index_file(ShuffleId{block.owner}, block.number)));
  return Payload(map_output_words(memory->offsets));
}

void MapOutputStore::remove(ShuffleId shuffle) {
  std::shared_ptr<const Outputs> outputs;
  {
    net::Lock lock(mutex_);
    removed_.insert(shuffle);
    if (removed_.size() > kRemoved) removed_.erase(removed_.begin());
    const auto it = shuffles_.find(shuffle);
    if (it == shuffles_.end()) return;
    outputs = std::move(it->second);
    shuffles_.erase(it);
    for (const auto& [map_id, output] : *outputs) {
      if (output.memory) memory_used_ -= output.memory->cost();
      disk_used_ -= output.file_bytes;
    }
  }
  for (const auto& [map_id, output] : *outputs)
    if (!output.memory) remove_files(shuffle, map_id);
}

void MapOutputStore::remove_files(ShuffleId shuffle, int64_t map_id) {
  const std::string index = disk_.path(shuffle_index_file(shuffle, map_id));
  reader_.forget(index);
  // What can't be removed now goes with its directory.
  for (const std::string& path : {index, disk_.path(shuffle_data_file(shuffle, map_id)),
                                  disk_.path(checksum_file(shuffle, map_id))})
    (void)files_.remove(path);
}

int64_t MapOutputStore::disk_used() const {
  net::Lock lock(mutex_);
  return disk_used_;
}

}  // namespace tinderbox::core
