// What typed nodes share: how they register, travel and open their parents, and how stored
// partitions are read.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/api/closure.hpp"
#include "core/api/steps/cursor.hpp"
#include "core/shuffle/spilling/task_memory.hpp"
#include "core/storage/stores/checksum.hpp"

namespace tinderbox::core {

/// One control block for all node classes: each has its own code already.
inline std::shared_ptr<Node> share(std::unique_ptr<Node> node) { return node; }

/// Base of every node class. `Self` has a constructor from Decoder& and encode(Encoder&), which
/// write and read what it captured; the code is named by a descriptor registered before main.
template <class Self, class Out>
struct OperatorNode : TypedNode<Out> {
  static std::shared_ptr<Node> make(RddId id, std::string_view captured,
                                    std::vector<Dependency> parents) {
    Decoder in(captured);
    auto node = std::make_unique<Self>(in);
    node->id = id;
    node->dependencies = std::move(parents);
    return share(std::move(node));
  }
  static constexpr Descriptor kDescriptor{.node = &make};
  static inline const bool kRegistered = register_descriptor(&kDescriptor);

  const Descriptor* descriptor() const final {
    (void)kRegistered;
    return &kDescriptor;
  }
  Bytes captured() const final {
    Bytes bytes;
    Encoder out(bytes);
    static_cast<const Self*>(this)->encode(out);
    return bytes;
  }
};

/// Base of every terminal operation; `Self` as above, with run().
template <class Self>
struct RegisteredTerminal : Terminal {
  static std::unique_ptr<Terminal> make(std::string_view captured) {
    Decoder in(captured);
    return std::make_unique<Self>(in);
  }
  static constexpr Descriptor kDescriptor{.terminal = &make};
  static inline const bool kRegistered = register_descriptor(&kDescriptor);
  static const Descriptor* code() {
    (void)kRegistered;
    return &kDescriptor;
  }
};

[[noreturn]] void fail_type(const Node& node);
/// Errors: throws DecodeError unless dependency `i` of `node` is narrow.
const NarrowDependency& narrow_dependency(const Node& node, size_t i);
/// `rdd_R_P`.
std::string block_name(RddId rdd, int32_t partition);
/// A stored partition, if some executor has it. Else `lock` is this task's, and it has to compute
/// the partition: others of its executor wait for it.
/// Errors: throws TaskKilledException when it is killed while it waits.
std::optional<Payload> find_or_lock(BlockLock& lock, TaskContext& context);

template <class T>
const TypedNode<T>& as_typed(const Node& node) {
  const auto* typed = dynamic_cast<const TypedNode<T>*>(&node);
  if (!typed) fail_type(node);
  return *typed;
}

/// Records that lie encoded behind each other; views among them point into the payload.
template <class T>
class EncodedCursor final : public Cursor<T> {
 public:
  explicit EncodedCursor(Payload records) : records_(std::move(records)), in_(records_.view()) {}
  bool next(Sink<T> out) override {
    records_.forget_before(records_.size() - in_.remaining(), forgotten_);
    const size_t before = in_.remaining();
    for (int left = 1024; left > 0 && before - in_.remaining() < Payload::kForget; --left) {
      if (in_.done()) return false;
      if (!out(decode<T>(in_))) return false;
    }
    return !in_.done();
  }
  bool done() const { return in_.done(); }

 private:
  Payload records_;
  Decoder in_;
  size_t forgotten_ = 0;  // bytes of records_
};

/// Encoded records on their way to the block store: in memory while there is room, then, if the
/// level says so, in a file. The memory that they take is counted as long as this lives. Source:
/// Spark MemoryStore.putIteratorAsBytes. Thread: one task's.
class Unrolling {
 public:
  Unrolling(TaskContext& context, const Node& node)
      : context_(context), level_(unpack_level(node.storage_bits)), memory_(context, node.id) {}
  ~Unrolling();
  Unrolling(const Unrolling&) = delete;
  Unrolling& operator=(const Unrolling&) = delete;
  /// Where the next record goes.
  Bytes& bytes() { return bytes_; }
  /// Called after each record: one batch may be a whole partition.
  /// Errors: throws std::runtime_error when a disk fails.
  void added() {
    if (bytes_.size() >= kChunk) close_chunk();
  }
  /// Asked after each batch of records. False: there is no room for more.
  bool has_room() const { return !full_ || level_.disk; }
  /// False: its level has no disk, and records that had no room are in a file.
  bool may_be_stored() const { return !file_ || level_.disk; }
  /// All records; nothing may be added any more.
  Payload take();
  /// Their memory becomes the block store's, or they are read from its disk if that alone has them.
  /// False: it has no room for them, so they keep it.
  bool store(const std::string& block, Payload& records);

 private:
  static constexpr size_t kChunk = 1 << 20;
  void close_chunk();
  Bytes joined();
  void write();
  TaskContext& context_;
  const StorageLevel level_;
  TaskMemory memory_;
  std::vector<Bytes> chunks_;  // all but the last
  int64_t held_ = 0;           // of them. Unit: bytes
  int64_t room_ = 0;           // how much of them there was room for
  bool full_ = false;          // there was no room once
  Bytes bytes_;                // the last chunk
  std::string path_;
  std::unique_ptr<net::WriteFile> file_;
  std::optional<RunningChecksum> sum_;  // of the file
};

/// Records of which the first ones, or all, were computed already, and could not be stored.
/// Source: Spark PartiallyUnrolledIterator.
template <class T>
class ResumedCursor final : public Cursor<T> {
 public:
  /// `memory`: of the first ones; `rest`: null when there is none.
  ResumedCursor(Payload first, std::unique_ptr<Unrolling> memory, std::unique_ptr<Cursor<T>> rest)
      : memory_(std::move(memory)), first_(std::move(first)), rest_(std::move(rest)) {}
  bool next(Sink<T> out) override {
    if (!first_) return rest_ && rest_->next(out);
    bool going = true;
    auto watched = [&](T&& record) { return going = out(std::move(record)); };
    if (first_->next(sink_to<T>(watched)) || !going) return going;
    first_.reset();
    memory_.reset();
    return rest_ != nullptr;
  }

 private:
  std::unique_ptr<Unrolling> memory_;
  std::optional<EncodedCursor<T>> first_;
  std::unique_ptr<Cursor<T>> rest_;
};

/// Reads the stored partition, or computes it and stores it first. What has no room is not stored:
/// the task goes on with what it has, and the next one computes it again. Source: Spark
/// BlockManager.getOrElseUpdate.
template <class T>
std::unique_ptr<Cursor<T>> open_stored(const TypedNode<T>& node, int32_t partition,
                                       TaskContext& context) {
  BlockLock lock(context.services->block_locks(), block_name(node.id, partition));
  if (auto stored = find_or_lock(lock, context))
    return std::make_unique<EncodedCursor<T>>(std::move(*stored));
  auto cursor = node.open(partition, context);
  auto unrolling = std::make_unique<Unrolling>(context, node);
  Encoder out(unrolling->bytes());
  auto put = [&](T&& record) { return encode<T>(out, record), unrolling->added(), true; };
  const Sink<T> sink = sink_to<T>(put);
  bool more = true;
  do {
    check_killed(context);
    more = cursor->next(sink);
  } while (more && unrolling->has_room());
  check_killed(context);
  Payload records = unrolling->take();
  check_killed(context);
  if (!more) cursor.reset();
  if (more || !unrolling->may_be_stored() || !unrolling->store(lock.block(), records))
    return std::make_unique<ResumedCursor<T>>(std::move(records), std::move(unrolling),
                                              std::move(cursor));
  return std::make_unique<EncodedCursor<T>>(std::move(records));
}

/// The records of one partition: from the block store when the Rdd is persisted, else computed.
template <class T>
std::unique_ptr<Cursor<T>> open_partition(const TypedNode<T>& node, int32_t partition,
                                          TaskContext& context) {
  if (node.storage_bits.load(std::memory_order_relaxed) == 0) return node.open(partition, context);
  return open_stored(node, partition, context);
}

/// The one parent partition that one-to-one dependency `i` reads.
template <class T>
std::unique_ptr<Cursor<T>> open_parent(const Node& node, size_t i, int32_t partition,
                                       TaskContext& context) {
  return open_partition(as_typed<T>(*narrow_dependency(node, i).parent), partition, context);
}

}  // namespace tinderbox::core
