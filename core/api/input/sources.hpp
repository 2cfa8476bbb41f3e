// Where records come from: driver data, numbers, lines of text, local checkpoints.
#pragma once

#include "core/api/context.hpp"
#include "core/api/steps/node.hpp"

namespace tinderbox::core {

/// The bytes of a source partition that came with its task.
std::string_view source_bytes(const Node& node, int32_t partition, const TaskContext& context);

/// Driver data. Source: Spark ParallelCollectionRDD.
template <class T>
class ParallelizeNode final : public OperatorNode<ParallelizeNode<T>, T> {
 public:
  ParallelizeNode() = default;
  explicit ParallelizeNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const override {
    // The bytes live as long as the task, so the payload owns nothing.
    return std::make_unique<EncodedCursor<T>>(
        Payload(nullptr, source_bytes(*this, partition, context)));
  }
};

/// start + i·step for i < count, in equal slices.
class RangeNode final : public OperatorNode<RangeNode, int64_t> {
 public:
  RangeNode(int64_t start, int64_t step, uint64_t count, int32_t slices);
  explicit RangeNode(Decoder& in);
  void encode(Encoder& out) const;
  std::unique_ptr<Cursor<int64_t>> open(int32_t partition, TaskContext& context) const override;

 private:
  int64_t start_, step_;
  uint64_t count_;
  int32_t slices_;
};
/// Errors: throws std::invalid_argument when step is 0.
uint64_t range_count(int64_t start, int64_t end, int64_t step);
/// First index of slice i of n over `count` elements.
uint64_t slice_start(uint64_t count, int32_t i, int32_t n);

/// Lines of byte ranges of files. Source: Hadoop TextInputFormat.
class TextNode final : public OperatorNode<TextNode, std::string_view> {
 public:
  TextNode() = default;
  explicit TextNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<std::string_view>> open(int32_t partition,
                                                 TaskContext& context) const override;
};

/// Makes `cut` the same Rdd as `original`, without ancestors.
void cut_off(Node& cut, const Node& original);
/// Errors: throws std::runtime_error with Spark's words.
[[noreturn]] void fail_local_checkpoint(const Node& node, int32_t partition);

/// What a locally checkpointed Rdd is from then on: the same Rdd without ancestors, so that a
/// partition which no executor has any more is an error. Source: Spark LocalCheckpointRDD.
template <class T>
class LocalCheckpointNode final : public OperatorNode<LocalCheckpointNode<T>, T> {
 public:
  explicit LocalCheckpointNode(const Node& original) { cut_off(*this, original); }
  explicit LocalCheckpointNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext&) const override {
    fail_local_checkpoint(*this, partition);
  }
};

/// A persisted partition is kept once it is opened. Errors: throws std::runtime_error when it could
/// not be stored, as on a full disk.
struct KeepPartition {
  template <class T>
  void operator()(Cursor<T>& in, TaskContext&) const {
    if (dynamic_cast<const ResumedCursor<T>*>(&in))
      throw std::runtime_error("cannot store a partition of a local checkpoint");
  }
};

}  // namespace tinderbox::core
