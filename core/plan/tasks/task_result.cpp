// A task's result and what it added to accumulators, as one block.
#include "core/plan/tasks/task_result.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "core/plan/bytes.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::core {
namespace {

/// An id, a mark and the length of the value.
constexpr size_t kBytesBesideValue = 16, kFewestBytesOfUpdate = 10;

}  // namespace

int64_t accumulator_bytes(const std::vector<AccumulatorUpdate>& updates) {
  size_t bytes = updates.size() * kBytesBesideValue;
  for (const AccumulatorUpdate& u : updates) bytes += u.value.size();
  return static_cast<int64_t>(bytes);
}

Payload pack_result(const Payload& result, const std::vector<AccumulatorUpdate>& added) {
  Bytes block;
  block.reserve(static_cast<size_t>(accumulator_bytes(added)) + kBytesBesideValue + result.size());
  Encoder out(block);
  out.varint(added.size());
  for (const AccumulatorUpdate& u : added) {
    out.scalar(u.id.value);
    out.scalar(static_cast<uint8_t>(u.internal_metric));
    out.text(u.value);
  }
  out.raw(result.view().data(), result.size());
  return Payload(std::move(block));
}

bool unpack_result(const Payload& block, TaskUpdate& update) try {
  Decoder in(block.view());
  std::vector<AccumulatorUpdate> added(in.count(kFewestBytesOfUpdate));
  for (AccumulatorUpdate& u : added) {
    u.id = AccumulatorId{in.scalar<int64_t>()};
    u.internal_metric = in.scalar<uint8_t>() != 0;
    u.value = in.text();
  }
  const std::string_view result(in.at(), in.remaining());
  update.result = net::to_keep(Payload(std::make_shared<const Payload>(block), result));
  update.accumulators = std::move(added);
  return true;
} catch (const DecodeError&) {
  return false;
}

}  // namespace tinderbox::core
