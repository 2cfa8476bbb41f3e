#include "core/api/steps/node.hpp"

#include <utility>

#include "core/plan/bytes.hpp"
#include "core/plan/or_throw.hpp"

namespace tinderbox::core {
namespace {

/// What a level without disk may hold beyond its room until its batch ends, as only then the
/// records can go on to their reader. More goes into a file, be it only for this one reader.
constexpr int64_t kOverrun = 4 << 20;

}  // namespace

void fail_type(const Node& node) {
  throw DecodeError("Rdd " + std::to_string(node.id.value) +
                    " has records of another type than its reader expects");
}

const NarrowDependency& narrow_dependency(const Node& node, size_t i) {
  const auto* narrow =
      i < node.dependencies.size() ? std::get_if<NarrowDependency>(&node.dependencies[i]) : nullptr;
  if (!narrow) throw DecodeError("Rdd " + std::to_string(node.id.value) + " lacks a parent");
  return *narrow;
}

std::string block_name(RddId rdd, int32_t partition) {
  return "rdd_" + std::to_string(rdd.value) + "_" + std::to_string(partition);
}

std::optional<Payload> find_or_lock(BlockLock& lock, TaskContext& context) {
  TaskServices& services = *context.services;
  if (!lock.try_take()) {
    // Who has it may only be reading it, from here or from a peer: then readers don't wait.
    if (auto stored = services.get_block(lock.block())) return stored;
    if (!lock.take(context.kill_mark())) throw TaskKilledException{};
  }
  return services.get_block(lock.block());
}

Unrolling::~Unrolling() {
  file_.reset();
  if (!path_.empty()) (void)context_.services->files().remove(path_);
}

void Unrolling::close_chunk() {
  held_ += static_cast<int64_t>(bytes_.size());
  chunks_.push_back(std::exchange(bytes_, {}));
  if (!full_) {
    full_ = !memory_.hold(held_ + static_cast<int64_t>(kChunk));
    room_ = held_;
  }
  if (!full_)
    bytes_.reserve(kChunk + kChunk / 8);
  else if (level_.disk || file_ || held_ > room_ + kOverrun)
    write();
}

Bytes Unrolling::joined() {
  if (chunks_.empty()) return std::move(bytes_);
  Bytes all;
  all.reserve(static_cast<size_t>(held_) + bytes_.size());
  for (Bytes& chunk : chunks_) {
    all += chunk;
    Bytes().swap(chunk);
  }
  all += bytes_;
  Bytes().swap(bytes_);
  return all;
}

void Unrolling::write() {
  net::Files& files = context_.services->files();
  if (!file_) {
    path_ = temporary_path(context_, "temp_unrolled");
    file_ = or_throw(files.create(path_), "cannot store a partition");
    sum_.emplace();
  }
  chunks_.push_back(std::exchange(bytes_, {}));
  for (Bytes& chunk : chunks_) {
    or_throw(file_->append(chunk), "cannot store a partition");
    sum_->add(chunk);
    Bytes().swap(chunk);
  }
  chunks_.clear();
  held_ = 0;
  memory_.release();
}

Payload Unrolling::take() {
  if (!file_) return Payload(joined());
  write();
  or_throw(file_->commit(), "cannot store a partition");
  const auto file = or_throw(context_.services->files().open(path_), "cannot store a partition");
  Payload records = or_throw(file->view(0, file->size()), "cannot store a partition");
  if (checksum(records) != sum_->value())
    throw std::runtime_error("cannot store a partition: " + path_ +
                             " is corrupted due to DISK_ISSUE");
  return records;
}

bool Unrolling::store(const std::string& block, Payload& records) {
  memory_.release();
  if (context_.services->put_block(block, level_, records)) {
    if (!level_.memory)
      if (auto kept = context_.services->get_block(block)) records = std::move(*kept);
    return true;
  }
  if (!file_) (void)memory_.hold(static_cast<int64_t>(records.size()));
  return false;
}

}  // namespace tinderbox::core
