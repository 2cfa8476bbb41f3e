// The blocks of one process.
#include "core/storage/block_manager.hpp"

#include <algorithm>
#include <limits>
#include <sstream>

#include "conf/keys.hpp"
#include "core/storage/block_id.hpp"
#include "core/storage/map_outputs/map_output_group.hpp"
#include "net/http/url.hpp"

namespace tinderbox::core {
namespace {

/// Of a process's memory: for the program itself. Source: Spark UnifiedMemoryManager, which refuses
/// processes with less than 1.5 times that; here those keep a third for blocks.
constexpr int64_t kReservedMemory = 300LL << 20;
int64_t usable_memory(int64_t process_memory) {
  return process_memory - std::min(kReservedMemory, process_memory / 3 * 2);
}
/// Small map outputs may take this part of the storage memory, beside the cached blocks.
constexpr int64_t kMapOutputShare = 8;

std::vector<std::string> split_dirs(const std::string& list, char separator) {
  std::vector<std::string> dirs;
  std::istringstream in(list);
  for (std::string dir; std::getline(in, dir, separator);)
    if (!dir.empty()) dirs.push_back(dir);
  return dirs;
}

std::vector<std::string> local_dirs(const conf::Conf& conf,
                                    const std::map<std::string, std::string>& environment) {
  // A worker joins its executors' directories as a PATH. Source: Spark
  // Utils.getConfiguredLocalDirs.
  for (const auto& [name, separator] :
       {std::pair("SPARK_EXECUTOR_DIRS", ':'), std::pair("SPARK_LOCAL_DIRS", ',')})
    if (const auto it = environment.find(name); it != environment.end())
      if (std::vector<std::string> dirs = split_dirs(it->second, separator); !dirs.empty())
        return dirs;
  return conf.get(conf::kLocalDir);
}

std::string shown(const HandedOutFile& file) {
  return (file.archive ? "archive " : "file ") + net::shown_url(file.url);
}

/// What comes as a file that is mapped is read: else it would count as memory and be on disk.
Payload in_memory(Payload bytes) {
  if (!bytes.mapped()) return bytes;
  Bytes read;
  read.reserve(bytes.size());
  bytes.each_window(bytes.view(), [&](std::string_view window) { read += window; });
  return Payload(std::move(read));
}

RddId rdd_of(const std::string& block) {
  const std::optional<BlockId> id = parse_block_id(block);
  return id && id->kind == BlockId::Kind::Rdd ? RddId{id->owner} : RddId{};
}

}  // namespace

BlockManagerOptions block_manager_options(const conf::Conf& conf,
                                          const std::map<std::string, std::string>& environment,
                                          int64_t process_memory, std::string unique_name) {
  BlockManagerOptions options;
  options.local_dirs = local_dirs(conf, environment);
  options.unique_name = std::move(unique_name);
  const auto usable = static_cast<double>(usable_memory(process_memory));
  options.memory = static_cast<int64_t>(usable * conf.get(conf::kMemoryFraction));
  options.storage_fraction = conf.get(conf::kMemoryStorageFraction);
  options.sub_directories =
      static_cast<size_t>(std::clamp(conf.get(conf::kDiskStoreSubDirectories), 1, 256));
  options.map_outputs.max_in_memory_output =
      std::min<int64_t>(conf.get(conf::kShuffleMaxInMemoryOutput),
                        std::numeric_limits<uint32_t>::max());  // an offset
  options.map_outputs.max_memory = options.memory / kMapOutputShare;
  options.map_outputs.checksum = conf.get(conf::kShuffleChecksum);
  options.map_outputs.sync = conf.get(conf::kShuffleSync);
  return options;
}

Result<std::unique_ptr<BlockManager>> BlockManager::open(net::Files& files,
                                                         BlockManagerOptions options,
                                                         BlockListener listener) {
  Result<DiskStore::Opened> opened =
      DiskStore::make_directories(files, options.local_dirs, options.unique_name);
  if (!opened) return opened.error();
  return std::make_unique<BlockManager>(files, std::move(options), std::move(*opened),
                                        std::move(listener));
}

BlockManager::BlockManager(net::Files& files, BlockManagerOptions options, DiskStore::Opened opened,
                           BlockListener listener)
    : files_(files),
      listener_(std::move(listener)),
      warn_(std::move(options.warn)),
      skipped_(std::move(opened.skipped)),
      disk_(files, std::move(opened.directories), options.sub_directories),
      outputs_(files, disk_, options.sub_directories, options.map_outputs),
      pool_(options.memory,
            static_cast<int64_t>(static_cast<double>(options.memory) * options.storage_fraction)),
      memory_(pool_) {
  pool_.on_shortage([this](int64_t size, RddId keep) {
    net::Lock one_at_a_time(put_mutex_);
    std::vector<MemoryBlock> victims;
    {
      net::Lock lock(mutex_);
      victims = memory_.oldest(size, keep);
    }
    (void)throw_out(std::move(victims));
  });
}

BlockManager::~BlockManager() { disk_.remove_directories(); }

bool BlockManager::contains(const std::string& block) const {
  net::Lock lock(mutex_);
  return memory_.contains(block) || disk_.contains(block);
}

BlockUpdate BlockManager::status(const std::string& block) const {
  BlockUpdate update{.block = block};
  if (const MemoryBlock* found = memory_.peek(block)) {
    update.in_memory = true;
    update.memory_bytes = static_cast<int64_t>(found->bytes.size());
  }
  if (const int64_t size = disk_.size(block); size >= 0) {
    update.on_disk = true;
    update.disk_bytes = size;
  }
  if (const auto level = told_.find(block); level != told_.end()) {
    update.use_memory = level->second.memory;
    update.use_disk = level->second.disk;
    update.replication = level->second.replication;
  }
  return update;
}

/// What became of these, as far as the driver knows of them. Told while the mutex is held: what is
/// told of one block keeps the order in which it happened.
void BlockManager::tell(const std::vector<std::string>& blocks) {
  std::vector<BlockUpdate> updates;
  for (const std::string& block : blocks) {
    if (!told_.contains(block)) continue;
    updates.push_back(status(block));
    if (!updates.back().in_memory && !updates.back().on_disk) told_.erase(block);
  }
  if (!updates.empty() && listener_) listener_(std::move(updates));
}

void BlockManager::warn(const std::string& block, const char* what, const Error& error) {
  {
    net::Lock lock(mutex_);
    if (!warned_.insert(block).second) return;
  }
  if (warn_) warn_(block + " cannot be " + what + " disk: " + error.message);
}

bool BlockManager::write(const std::string& block, const Payload& bytes) {
  const Result<bool> written = disk_.put(block, bytes);
  if (!written) warn(block, "written to", written.error());
  return written && *written;
}

bool BlockManager::throw_out(std::vector<MemoryBlock> victims) {
  // They are written while they can still be read from memory. What can't be written stays there:
  // it may be a local checkpoint, which can't be computed again.
  std::set<std::string> written, staying;
  for (const MemoryBlock& victim : victims)
    if (victim.level.disk && !disk_.contains(victim.name))
      (write(victim.name, victim.bytes) ? written : staying).insert(victim.name);
  std::vector<std::string> thrown_out;
  net::Lock lock(mutex_);
  for (MemoryBlock& victim : victims) {
    if (staying.contains(victim.name)) continue;
    victim.bytes = {};
    const MemoryBlock* found = memory_.peek(victim.name);
    if (found && MemoryStore::is_read(*found)) continue;
    if (memory_.erase(victim.name))
      thrown_out.push_back(victim.name);
    else if (written.contains(victim.name))
      disk_.remove(victim.name);  // it was removed while it was written
  }
  tell(thrown_out);
  return staying.empty();
}

bool BlockManager::put_in_memory(MemoryBlock block) {
  while (true) {
    std::optional<std::vector<MemoryBlock>> victims;
    {
      net::Lock lock(mutex_);
      if (memory_.contains(block.name)) return true;
      victims = memory_.victims(static_cast<int64_t>(block.bytes.size()), block.rdd);
    }
    if (!victims) return false;
    const bool gone = throw_out(std::move(*victims));
    block.bytes = in_memory(std::move(block.bytes));
    net::Lock lock(mutex_);
    if (memory_.insert(block)) return true;
    if (!gone) return false;  // else a task was quicker to take that room
  }
}

/// A block on its way in, which a removal does not find yet.
struct BlockManager::Putting {
  std::string block;
  bool removed = false;
};

bool BlockManager::put_somewhere(const std::string& block, const StorageLevel& level,
                                 Payload bytes) {
  net::Lock one_at_a_time(put_mutex_);
  if (level.memory &&
      put_in_memory({.name = block, .rdd = rdd_of(block), .level = level, .bytes = bytes}))
    return true;
  return level.disk && write(block, bytes);
}

bool BlockManager::put(const std::string& block, const StorageLevel& level, Payload bytes,
                       bool tell_driver) {
  std::list<Putting>::iterator putting;
  {
    net::Lock lock(mutex_);
    if (memory_.contains(block) || disk_.contains(block)) return true;
    putting = putting_.insert(putting_.end(), {block});
  }
  const bool stored = put_somewhere(block, level, std::move(bytes));
  net::Lock lock(mutex_);
  const bool removed = putting->removed;
  putting_.erase(putting);
  if (stored && removed) {
    memory_.erase(block);
    disk_.remove(block);
  }
  if (!stored || removed) return false;
  if (!tell_driver) return true;
  told_.insert_or_assign(block, level);
  tell({block});
  return true;
}

std::optional<Payload> BlockManager::get(const std::string& block) {
  {
    net::Lock lock(mutex_);
    if (const MemoryBlock* found = memory_.get(block)) return found->bytes;
  }
  if (!disk_.contains(block)) return std::nullopt;
  Result<Payload> bytes = disk_.get(block);
  if (bytes) return std::move(*bytes);
  if (disk_.contains(block)) warn(block, "read from", bytes.error());  // nobody removed it
  remove(block);
  return std::nullopt;
}

Result<Payload> BlockManager::read(const std::string& block) {
  const std::optional<BlockId> id = parse_block_id(block);
  if (!id) return Error{"'" + block + "' is no name of a block"};
  if (id->kind == BlockId::Kind::Shuffle || id->kind == BlockId::Kind::ShuffleRange ||
      id->kind == BlockId::Kind::ShuffleIndex)
    return outputs_.read(*id);
  if (id->kind == BlockId::Kind::ShuffleGroup) return read_group(outputs_, *id);
  if (id->kind != BlockId::Kind::File) {
    if (std::optional<Payload> bytes = get(block)) return std::move(*bytes);
    return Error{block + " is not here"};
  }
  std::string path;
  {
    net::Lock lock(mutex_);
    const auto it = std::find_if(handed_out_.begin(), handed_out_.end(),
                                 [&](const auto& file) { return file.read_as == id->file; });
    if (it == handed_out_.end()) return Error{"no file named " + id->file + " is handed out here"};
    path = it->path;
  }
  Result<std::unique_ptr<net::ReadFile>> file = files_.open(path);
  if (!file) return file.error();
  return (*file)->view(0, (*file)->size());
}

void BlockManager::remove(const std::string& block) {
  net::Lock lock(mutex_);
  memory_.erase(block);
  disk_.remove(block);
  tell({block});
}

std::vector<std::string> BlockManager::remove_if(
    const std::function<bool(const std::string&)>& chosen) {
  std::vector<std::string> names = disk_.blocks();
  for (const MemoryBlock& block : memory_.blocks()) names.push_back(block.name);
  std::erase_if(names, std::not_fn(chosen));
  for (const std::string& name : names) {
    memory_.erase(name);
    disk_.remove(name);
  }
  for (Putting& putting : putting_) putting.removed = putting.removed || chosen(putting.block);
  std::erase_if(warned_, chosen);
  return names;
}

/// The driver asked for it, so it is not told of every block.
void BlockManager::remove_rdd(RddId rdd) {
  net::Lock lock(mutex_);
  for (const std::string& name :
       remove_if([rdd](const std::string& block) { return rdd_of(block) == rdd; }))
    told_.erase(name);
}

/// Its listeners do not hear of the broadcast's end, but of each piece's.
void BlockManager::remove_broadcast(BroadcastId broadcast) {
  net::Lock lock(mutex_);
  tell(remove_if([broadcast](const std::string& name) {
    const std::optional<BlockId> id = parse_block_id(name);
    return id && id->number == broadcast.value &&
           (id->kind == BlockId::Kind::Broadcast || id->kind == BlockId::Kind::BroadcastPiece);
  }));
}

/// Source: Spark SparkContext.addFile, NettyStreamManager.addFile.
Result<bool> BlockManager::hand_out_file(const HandedOutFile& file) {
  net::Lock lock(mutex_);
  for (const HandedOutFile& other : handed_out_) {
    if (other == file) return false;
    const bool same_name = other.name == file.name;
    const bool same_block =
        !file.read_as.empty() && other.read_as == file.read_as && other.path != file.path;
    if (same_name || same_block)
      return Error{"Executors cannot get " + shown(file) + " as " +
                   (same_name ? file.name : file.read_as) + ": " + shown(other) +
                   " has that name; rename one"};
  }
  handed_out_.push_back(file);
  return true;
}

std::vector<BlockUpdate> BlockManager::state() const {
  net::Lock lock(mutex_);
  std::vector<BlockUpdate> updates;
  for (const auto& [block, level] : told_) updates.push_back(status(block));
  return updates;
}

}  // namespace tinderbox::core
