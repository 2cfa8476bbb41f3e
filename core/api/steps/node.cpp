#include "core/api/steps/node.hpp"

#include "core/plan/bytes.hpp"

namespace tinderbox::core {

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

std::optional<Payload> find_stored(const Node& node, int32_t partition, TaskContext& context) {
  return context.services->get_block(block_name(node.id, partition));
}

void store(const Node& node, int32_t partition, TaskContext& context, const Payload& records) {
  // When it fits nowhere the task goes on with what it has, and the next one computes it again.
  context.services->put_block(block_name(node.id, partition), unpack_level(node.storage_bits),
                              records);
}

}  // namespace tinderbox::core
