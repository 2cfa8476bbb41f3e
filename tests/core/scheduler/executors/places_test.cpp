// Where tasks would rather run, and what is kept of it.
#include "core/scheduler/executors/places.hpp"

#include "tests/core/scheduler/tasks/set_bed.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

TEST_CASE("places of tasks that run no more are freed by the chunk", "[task_set]") {
  constexpr auto kChunk = static_cast<int32_t>(Places::kChunk);
  ExecutorBed bed(test_options());
  Places places;
  for (int32_t i = 0; i <= kChunk; ++i) {
    std::vector<std::string> two{"h0", "h" + std::to_string(i)};
    places.add(i == 1 ? std::vector<std::string>{} : two, bed.executors);
  }
  places.complete();
  CHECK(places.any());
  CHECK(places.of(0).size() == 2);
  CHECK(places.of(1).empty());
  CHECK(places.of(kChunk - 1)[1].host == bed.executors.host("h" + std::to_string(kChunk - 1)));
  CHECK(places.of(kChunk)[1].host == bed.executors.host("h" + std::to_string(kChunk)));
  CHECK(places.of(kChunk + 1).empty());
  for (int32_t i = 0; i < kChunk - 1; ++i) places.done(i);
  CHECK(places.of(0).size() == 2);
  places.done(kChunk - 1);
  CHECK(places.of(0).empty());
  CHECK(places.of(kChunk).size() == 2);
  CHECK(places.any());
}

TEST_CASE("a set of tasks without places keeps nothing of them", "[task_set]") {
  ExecutorBed bed(test_options());
  Places places;
  for (int32_t i = 0; i < 3; ++i) places.add({}, bed.executors);
  places.complete();
  CHECK_FALSE(places.any());
  CHECK(places.of(2).empty());
  places.done(2);
}

TEST_CASE("the output of a map task may be lost, so its places stay", "[task_set]") {
  const bool map_tasks = GENERATE(false, true);
  SetBed bed;
  bed.add("e1", "h1");
  bed.tasks({{"h1"}}, map_tasks);
  REQUIRE(bed.offer("e1", kAny) == 0);
  bed.succeed(0);
  CHECK(bed.set->spec().places.of(0).size() == (map_tasks ? 1 : 0));
}
