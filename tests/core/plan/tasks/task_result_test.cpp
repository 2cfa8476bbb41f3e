// Results and accumulators as one block.
#include "core/plan/tasks/task_result.hpp"

#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

const std::vector<AccumulatorUpdate> kAdded{AccumulatorUpdate{AccumulatorId{7}, "seven", false},
                                            AccumulatorUpdate{AccumulatorId{-1}, "", true}};

}  // namespace

TEST_CASE("a result and accumulators come back from their block", "[task_result]") {
  for (const size_t size : {0, 5, 100'000}) {
    CAPTURE(size);
    const Payload block = pack_result(Payload(Bytes(size, 'x')), kAdded);
    TaskUpdate u;
    REQUIRE(unpack_result(block, u));
    CHECK(u.accumulators == kAdded);
    CHECK(u.result.view() == Bytes(size, 'x'));
    const char* in_block = block.view().data() + block.size() - size;
    CHECK((u.result.view().data() == in_block) == (size == 100'000));
  }
}

TEST_CASE("a block that ends before its accumulators do is none", "[task_result]") {
  const Payload block = pack_result({}, kAdded);
  CHECK(static_cast<int64_t>(block.size()) <= accumulator_bytes(kAdded));
  for (size_t size = 0; size < block.size(); ++size) {
    CAPTURE(size);
    TaskUpdate u;
    u.accumulators = kAdded;
    CHECK_FALSE(unpack_result(Payload(Bytes(block.view().substr(0, size))), u));
    CHECK(u.accumulators == kAdded);
  }
}
