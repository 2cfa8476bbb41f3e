#include "core/storage/map_outputs/map_output_files.hpp"

#include <optional>

#include "core/storage/stores/checksum.hpp"
#include "core/storage/stores/disk_store.hpp"

namespace tinderbox::core {
namespace {

constexpr size_t kWord = 8;
/// An index that with its checksums takes more than one of so many parts of the cache is not kept:
/// few would fit, and to read all of it for each of its blocks takes the square of its partitions.
constexpr int64_t kLargestKept = 256;

uint64_t get_word(const char* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < kWord; ++i) value = value << 8 | static_cast<unsigned char>(from[i]);
  return value;
}
std::vector<uint64_t> words(std::string_view bytes) {
  std::vector<uint64_t> values(bytes.size() / kWord);
  for (size_t i = 0; i < values.size(); ++i) values[i] = get_word(bytes.data() + i * kWord);
  return values;
}

/// Words `first` … `end` − 1.
Result<Payload> view_words(net::ReadFile& file, size_t first, size_t end) {
  return file.view(static_cast<int64_t>(first * kWord),
                   static_cast<int64_t>((end - first) * kWord));
}

/// Empty: some word is negative, or less than the one before.
std::vector<int64_t> ascending(std::string_view bytes) {
  std::vector<int64_t> offsets;
  offsets.reserve(bytes.size() / kWord);
  for (const uint64_t word : words(bytes)) {
    const auto offset = static_cast<int64_t>(word);
    if (offset < (offsets.empty() ? 0 : offsets.back())) return {};
    offsets.push_back(offset);
  }
  return offsets;
}

Error no_offsets(const std::string& index_path) {
  return {index_path + " is corrupted due to DISK_ISSUE: it is no list of offsets"};
}

/// Where partitions `first` … `last` − 1 begin, and where the last one ends.
Result<std::vector<int64_t>> read_offsets(net::ReadFile& index, const std::string& path,
                                          size_t first, size_t last) {
  const Result<Payload> bytes = view_words(index, first, last + 1);
  if (!bytes) return bytes.error();
  std::vector<int64_t> offsets = ascending(bytes->view());
  if (offsets.empty() || (first == 0 && offsets[0] != 0)) return no_offsets(path);
  return offsets;
}

/// Of the same partitions, of `partitions` in all. None: the file is not there, or torn.
std::vector<uint64_t> read_checksums(net::Files& files, const std::string& path, size_t partitions,
                                     size_t first, size_t last) {
  const Result<std::unique_ptr<net::ReadFile>> file = files.open(path);
  if (!file || (*file)->size() != static_cast<int64_t>(partitions * kWord)) return {};
  const Result<Payload> bytes = view_words(**file, first, last);
  if (!bytes) return {};
  return words(bytes->view());
}

}  // namespace

std::string checksum_file(ShuffleId shuffle, int64_t map_id) {
  return shuffle_block(shuffle, map_id, 0) + ".checksum.XXH3";
}

std::pair<size_t, size_t> partitions_of(const BlockId& block) {
  const int32_t end = block.kind == BlockId::Kind::ShuffleRange ? block.part_end : block.part + 1;
  return {static_cast<size_t>(block.part), static_cast<size_t>(end)};
}

Error no_such_partition(const BlockId& block, size_t partitions) {
  return Error{block_name(block) + " was asked for, but that map output has only " +
               std::to_string(partitions) + " partitions"};
}

std::vector<int64_t> lengths_of(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> lengths;
  for (size_t r = 0; r + 1 < offsets.size(); ++r) lengths.push_back(offsets[r + 1] - offsets[r]);
  return lengths;
}

Result<Payload> read_file(net::Files& files, const std::string& path) {
  Result<std::unique_ptr<net::ReadFile>> file = files.open(path);
  if (!file) return file.error();
  return (*file)->view(0, (*file)->size());
}

std::vector<int64_t> map_output_offsets(std::string_view index) {
  if (index.size() < 2 * kWord || index.size() % kWord != 0) return {};
  std::vector<int64_t> offsets = ascending(index);
  if (!offsets.empty() && offsets[0] != 0) offsets.clear();
  return offsets;
}

MapOutputFiles::Loaded MapOutputFiles::load(const BlockId& block, const std::string& index_path,
                                            const std::string& checksum_path) {
  {
    net::Lock lock(mutex_);
    if (const auto it = cache_.find(index_path); it != cache_.end()) return {it->second};
  }
  const Result<std::optional<net::FileStat>> stat = files_.stat(index_path);
  if (stat && !*stat) return {Error{"there is no " + index_path}, true};
  const Result<std::unique_ptr<net::ReadFile>> file = files_.open(index_path);
  if (!file) return {file.error()};
  const auto size = static_cast<size_t>((*file)->size());
  if (size < 2 * kWord || size % kWord != 0) return {no_offsets(index_path)};
  const size_t partitions = size / kWord - 1;
  const bool whole = static_cast<int64_t>(2 * size) <= cache_bytes_ / kLargestKept;
  const auto [first, last] = whole ? std::pair(size_t{0}, partitions) : partitions_of(block);
  if (last > partitions) return {no_such_partition(block, partitions)};
  Result<std::vector<int64_t>> offsets = read_offsets(**file, index_path, first, last);
  if (!offsets) return {offsets.error()};
  auto index = std::make_shared<Index>();
  index->first = first;
  index->offsets = std::move(*offsets);
  index->checksums = read_checksums(files_, checksum_path, partitions, first, last);
  if (whole) keep(index_path, index);
  return {IndexPtr(index)};
}

/// Others make room in the order of their names, round and round: if the oldest did, who reads a
/// few more outputs than fit, again and again in one order, would never find one.
void MapOutputFiles::keep(const std::string& index_path, IndexPtr index) {
  net::Lock lock(mutex_);
  if (cache_.contains(index_path)) return;
  while (!cache_.empty() && cached_ + index->cost() > cache_bytes_) {
    auto next = cache_.upper_bound(evicted_);
    if (next == cache_.end()) next = cache_.begin();
    evicted_ = next->first;
    cached_ -= next->second->cost();
    cache_.erase(next);
  }
  cached_ += index->cost();
  cache_.emplace(index_path, std::move(index));
}

void MapOutputFiles::forget(const std::string& index_path) {
  net::Lock lock(mutex_);
  const auto it = cache_.find(index_path);
  if (it == cache_.end()) return;
  cached_ -= it->second->cost();
  cache_.erase(it);
}

Result<Payload> MapOutputFiles::checked(const Index& index, const BlockId& block,
                                        Payload bytes) const {
  if (index.checksums.empty()) return bytes;
  const auto [first, last] = partitions_of(block);
  const int64_t* offsets = index.offsets.data() + (first - index.first);
  for (size_t r = first; r < last; ++r) {
    const size_t i = r - first;
    const std::string_view part =
        bytes.view().substr(static_cast<size_t>(offsets[i] - offsets[0]),
                            static_cast<size_t>(offsets[i + 1] - offsets[i]));
    if (checksum(bytes, part) != index.checksums[r - index.first])
      return Error{block_name(block) +
                   " is corrupted due to DISK_ISSUE: the checksum of partition " +
                   std::to_string(r) + " is not the one written"};
  }
  return bytes;
}

MapOutputFiles::Outcome MapOutputFiles::read(const std::vector<std::string>& directories,
                                             size_t sub_directories, const BlockId& block) {
  const ShuffleId shuffle{block.owner};
  const auto path = [&](const std::string& name) {
    return block_path(directories, sub_directories, name);
  };
  const Loaded loaded = load(block, path(shuffle_index_file(shuffle, block.number)),
                             path(checksum_file(shuffle, block.number)));
  if (!loaded.index) return {loaded.index.error(), loaded.missing};
  const Index& index = **loaded.index;
  const auto [first, last] = partitions_of(block);
  const size_t end = index.first + index.offsets.size() - 1;
  if (last > end) return {no_such_partition(block, end)};
  const int64_t begin = index.offsets[first - index.first];
  const int64_t length = index.offsets[last - index.first] - begin;
  if (length == 0) return {Payload()};
  const Result<std::unique_ptr<net::ReadFile>> data =
      files_.open(path(shuffle_data_file(shuffle, block.number)));
  if (!data) return {data.error()};
  Result<Payload> bytes = (*data)->view(begin, length);
  if (!bytes)
    return {Error{block_name(block) + " is corrupted due to DISK_ISSUE: " + bytes.error().message}};
  return {checked(index, block, std::move(*bytes))};
}

Result<std::vector<int64_t>> MapOutputFiles::lengths(const std::string& data_path,
                                                     const std::string& index_path,
                                                     int32_t num_reduces) {
  const Result<Payload> index = read_file(files_, index_path);
  forget(index_path);
  if (!index) return index.error();
  const std::vector<int64_t> offsets = map_output_offsets(index->view());
  const Result<std::optional<net::FileStat>> data = files_.stat(data_path);
  if (!data) return data.error();
  const int64_t size = *data ? (*data)->size : 0;
  if (offsets.size() != static_cast<size_t>(num_reduces) + 1 || offsets.back() != size)
    return Error{index_path + " does not fit " + data_path};
  return lengths_of(offsets);
}

}  // namespace tinderbox::core
