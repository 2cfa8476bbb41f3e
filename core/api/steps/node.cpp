#include "core/api/steps/node.hpp"

#include "core/plan/bytes.hpp"
#include "core/plan/or_throw.hpp"

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
  context.services->put_block(block_name(node.id, partition), unpack_level(node.storage_bits),
                              records);
}

Unrolling::~Unrolling() {
  file_.reset();
  if (!path_.empty()) (void)context_.services->files().remove(path_);
}

bool Unrolling::has_room() {
  if (memory_.hold(static_cast<int64_t>(bytes_.capacity()))) return true;
  if (!level_.disk) return false;
  write();
  return true;
}

void Unrolling::write() {
  net::Files& files = context_.services->files();
  if (!file_) {
    path_ = temporary_path(context_, "temp_unrolled");
    file_ = or_throw(files.create(path_), "cannot store a partition");
  }
  or_throw(file_->append(bytes_), "cannot store a partition");
  Bytes().swap(bytes_);
  memory_.release();
}

Payload Unrolling::take() {
  if (!file_) return Payload(std::move(bytes_));
  write();
  or_throw(file_->commit(), "cannot store a partition");
  const auto file = or_throw(context_.services->files().open(path_), "cannot store a partition");
  return or_throw(file->view(0, file->size()), "cannot store a partition");
}

}  // namespace tinderbox::core
