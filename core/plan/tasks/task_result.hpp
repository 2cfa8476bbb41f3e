// What a task gives beside its state: its result, and what it added to accumulators.
#pragma once

#include <cstdint>
#include <vector>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// What the updates take in a message or a block, with their names. Unit: bytes.
int64_t accumulator_bytes(const std::vector<AccumulatorUpdate>& updates);

/// Both as one block. Source: Spark DirectTaskResult.
Payload pack_result(const Payload& result, const std::vector<AccumulatorUpdate>& added);
/// Gives `update` what pack_result() made a block of. A large result shares the block's memory.
/// False: it is no such block, and `update` is as it was.
bool unpack_result(const Payload& block, TaskUpdate& update);

}  // namespace tinderbox::core
