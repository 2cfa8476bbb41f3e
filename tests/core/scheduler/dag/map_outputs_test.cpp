// The table of map outputs, and who may commit. Ids are those of spec/11, section B.
#include "core/scheduler/dag/commit_coordinator.hpp"
#include "core/scheduler/dag/map_output_tracker.hpp"
#include "core/shuffle/blocks/map_status.hpp"

using namespace tinderbox;
using namespace tinderbox::core;

namespace {

BlockManagerId place(const std::string& executor, const std::string& host) {
  return {ExecutorId{executor}, host, host + ":1000"};
}
MapStatus status(BlockManagerId at, int64_t map_id, std::vector<int64_t> sizes) {
  return {std::move(at), map_id, encode_sizes(sizes), 1};
}
const BlockManagerId a = place("a", "hostA"), b = place("b", "hostB");
constexpr ShuffleId kTen{10};

/// A shuffle of one reduce with an output of map i, of id 5 + i, on each of these places.
struct Outputs : MapOutputTracker {
  explicit Outputs(const std::vector<std::optional<BlockManagerId>>& places) {
    register_shuffle(kTen, static_cast<int32_t>(places.size()), 1);
    for (int32_t i = 0; const auto& place : places) {
      if (place) register_output(kTen, i, status(*place, 5 + i, {1}));
      ++i;
    }
  }
};

tinderbox::MapOutputs answer_of(MapOutputTracker& t, ShuffleId id) {
  return std::get<tinderbox::MapOutputs>(*t.answer(
      id, [](const ExecutorId& e) { return std::vector<std::string>{"/dirs/" + e.value}; }));
}

}  // namespace

TEST_CASE("B8 sizes, map ids and directories are handed out", "[map_outputs]") {
  MapOutputTracker t;
  REQUIRE(t.register_shuffle(kTen, 2, 2));
  CHECK(t.contains(kTen));
  t.register_output(kTen, 0, status(a, 5, {1000, 10000}));
  t.register_output(kTen, 1, status(b, 6, {10000, 1000}));
  const tinderbox::MapOutputs m = answer_of(t, kTen);
  REQUIRE(m.statuses.size() == 2);
  CHECK(m.statuses[0]->map_id == 5);
  CHECK(m.statuses[1]->map_id == 6);
  CHECK(size_for(m.statuses[0]->sizes, 0) == decode_size(encode_size(1000)));
  CHECK(size_for(m.statuses[1]->sizes, 0) == decode_size(encode_size(10000)));
  CHECK(m.local_dirs.at("a") == std::vector<std::string>{"/dirs/a"});
  CHECK(t.epoch() == 0);
  CHECK(t.available(kTen) == 2);
  CHECK(t.statistics(kTen) ==
        std::vector<int64_t>(2, decode_size(encode_size(1000)) + decode_size(encode_size(10000))));
}

TEST_CASE("B9 an unregistered shuffle is empty", "[map_outputs]") {
  MapOutputTracker t;
  t.register_shuffle(kTen, 1, 1);
  CHECK_FALSE(t.register_shuffle(kTen, 1, 1));
  t.register_output(kTen, 0, status(a, 5, {1}));
  t.unregister_shuffle(kTen);
  CHECK_FALSE(t.contains(kTen));
  CHECK(answer_of(t, kTen).statuses == std::vector<std::optional<MapStatus>>{std::nullopt});
  CHECK(t.missing(kTen).empty());
}

TEST_CASE("B10 an output is unregistered only where it is, twice is harmless", "[map_outputs]") {
  Outputs t({a, b});
  t.unregister_output(kTen, 0, b);
  CHECK(t.available(kTen) == 2);
  const int64_t before = t.epoch();
  t.unregister_output(kTen, 0, a);
  t.unregister_output(kTen, 0, a);
  CHECK(t.epoch() > before);
  CHECK(t.missing(kTen) == std::vector<int32_t>{0});
  CHECK_FALSE(answer_of(t, kTen).statuses[0]);
  CHECK(answer_of(t, kTen).statuses[1]);
}

TEST_CASE("B11 outputs go with their executor or host", "[map_outputs]") {
  Outputs t({a, place("c", "hostA"), b});
  CHECK(t.epoch() == 0);
  t.remove_outputs_on_executor(ExecutorId{"a"});
  CHECK(t.epoch() == 1);
  CHECK(t.missing(kTen) == std::vector<int32_t>{0});
  t.remove_outputs_on_host("hostA");
  CHECK(t.missing(kTen) == std::vector<int32_t>{0, 1});
  t.unregister_all_outputs(kTen);
  CHECK(t.available(kTen) == 0);
}

TEST_CASE("an output that moved is asked for at its new place", "[map_outputs]") {
  Outputs t({a, std::nullopt, a});
  using Held = MapOutputTracker::Held;
  CHECK(t.outputs_on(ExecutorId{"a"}) == std::vector<Held>{{kTen, 0, 5}, {kTen, 2, 7}});
  CHECK_FALSE(t.output(kTen, 1));
  CHECK_FALSE(t.output(kTen, 3));
  CHECK_FALSE(t.output(ShuffleId{11}, 0));
  CHECK(t.preferred_hosts(kTen, 0, 0.9) == std::vector<std::string>{"hostA"});
  answer_of(t, kTen);
  const int64_t before = t.epoch();
  t.move_output(kTen, 0, b);
  CHECK(t.epoch() == before + 1);
  CHECK(t.output(kTen, 0)->location == b);
  CHECK(t.output(kTen, 0)->map_id == 5);
  CHECK(answer_of(t, kTen).statuses[0]->location == b);
  CHECK(t.preferred_hosts(kTen, 0, 0.9).empty());
  t.remove_outputs_on_executor(ExecutorId{"a"});
  CHECK(t.missing(kTen) == std::vector<int32_t>{1, 2});
}

TEST_CASE("which outputs an executor has follows all that becomes of them", "[map_outputs]") {
  using Held = MapOutputTracker::Held;
  using Change = std::function<void(MapOutputTracker&)>;
  constexpr ShuffleId kEleven{11};
  const BlockManagerId c = place("c", "hostA");
  const auto change = [](auto what) { return Change(what); };
  struct Case {
    const char* name;
    Change change;
    std::vector<Held> on_a, on_b, on_c;
  };
  const std::vector<Held> a0{{kTen, 0, 5}, {kTen, 2, 7}, {kEleven, 0, 9}}, b0{{kTen, 1, 6}},
      c0{{kTen, 3, 8}};
  const Case cases[] = {
      {"as they came", change([](auto&) {}), a0, b0, c0},
      {"one is made again elsewhere",
       change([](auto& t) { t.register_output(kTen, 0, status(b, 20, {1})); }),
       {{kTen, 2, 7}, {kEleven, 0, 9}},
       {{kTen, 0, 20}, {kTen, 1, 6}},
       c0},
      {"one is made again at its place",
       change([](auto& t) { t.register_output(kTen, 2, status(a, 20, {1})); }),
       {{kTen, 0, 5}, {kTen, 2, 20}, {kEleven, 0, 9}},
       b0,
       c0},
      {"one is moved",
       change([](auto& t) { t.move_output(kTen, 2, b); }),
       {{kTen, 0, 5}, {kEleven, 0, 9}},
       {{kTen, 1, 6}, {kTen, 2, 7}},
       c0},
      {"one is lost",
       change([](auto& t) { t.unregister_output(kTen, 2, a); }),
       {{kTen, 0, 5}, {kEleven, 0, 9}},
       b0,
       c0},
      {"one is not where it is said to be",
       change([](auto& t) { t.unregister_output(kTen, 2, b); }), a0, b0, c0},
      {"all of a shuffle are lost",
       change([](auto& t) { t.unregister_all_outputs(kTen); }),
       {{kEleven, 0, 9}},
       {},
       {}},
      {"a shuffle is forgotten",
       change([](auto& t) { t.unregister_shuffle(kTen); }),
       {{kEleven, 0, 9}},
       {},
       {}},
      {"the executor is lost",
       change([](auto& t) { t.remove_outputs_on_executor(a.executor); }),
       {},
       b0,
       c0},
      {"its host is lost", change([](auto& t) { t.remove_outputs_on_host("hostA"); }), {}, b0, {}},
      {"another host is lost",
       change([](auto& t) { t.remove_outputs_on_host("hostB"); }),
       a0,
       {},
       c0},
  };
  for (const Case& k : cases) {
    CAPTURE(k.name);
    Outputs t({a, b, a, c});
    t.register_shuffle(kEleven, 1, 1);
    t.register_output(kEleven, 0, status(a, 9, {1}));
    k.change(t);
    CHECK(t.outputs_on(a.executor) == k.on_a);
    CHECK(t.outputs_on(b.executor) == k.on_b);
    CHECK(t.outputs_on(c.executor) == k.on_c);
    CHECK(t.outputs_on(ExecutorId{"d"}).empty());
    const size_t of_ten =
        k.on_a.size() + k.on_b.size() + k.on_c.size() - static_cast<size_t>(t.available(kEleven));
    CHECK(static_cast<size_t>(t.available(kTen)) == of_ten);
  }
}

TEST_CASE("outputs that move while no reader begins share one epoch", "[map_outputs]") {
  Outputs t({a, a, a});
  const int64_t before = t.epoch();
  t.move_output(kTen, 0, b);
  CHECK(answer_of(t, kTen).epoch == before);  // nobody who asks forgets other shuffles for it
  CHECK(answer_of(t, kTen).statuses[0]->location == b);
  t.move_output(kTen, 1, b);
  CHECK(t.epoch() == before + 1);
  CHECK(t.begin_readers() == before + 1);
  CHECK(answer_of(t, kTen).epoch == before + 1);
  CHECK(t.begin_readers() == before + 1);
  t.move_output(kTen, 2, b);
  CHECK(t.begin_readers() == before + 2);
}

TEST_CASE("what is lost after a move begins an epoch of its own", "[map_outputs]") {
  Outputs t({a, a});
  t.move_output(kTen, 0, b);
  const int64_t lost_in = t.epoch();
  t.remove_outputs_on_executor(a.executor);
  CHECK(t.epoch() > lost_in);
  const int64_t readers = t.begin_readers();
  CHECK(readers > lost_in);
  CHECK(answer_of(t, kTen).epoch == readers);
}

TEST_CASE("an answer goes ahead once to each executor, until the shuffle changes",
          "[map_outputs]") {
  Outputs t({a, b});
  const auto no_directories = [](const ExecutorId&) { return std::vector<std::string>(); };
  const auto ahead = [&](ShuffleId id, int32_t slot) {
    return t.answer_ahead(id, slot, no_directories);
  };
  const auto first = ahead(kTen, 0);
  REQUIRE(first);
  CHECK(first == t.answer(kTen, no_directories));
  CHECK_FALSE(ahead(kTen, 0));
  CHECK(ahead(kTen, 1) == first);
  SECTION("an output is lost and made again") {
    t.unregister_output(kTen, 0, a);
    t.register_output(kTen, 0, status(b, 7, {1}));
    const auto changed = ahead(kTen, 0);
    REQUIRE(changed);
    CHECK(std::get<tinderbox::MapOutputs>(*changed).statuses[0]->location == b);
    CHECK_FALSE(ahead(kTen, 0));
  }
  SECTION("an epoch begins, in which executors forget all answers") {
    t.increment_epoch();
    CHECK(ahead(kTen, 1));
    CHECK_FALSE(ahead(kTen, 1));
  }
  SECTION("a shuffle that is not known") { CHECK_FALSE(ahead(ShuffleId{11}, 0)); }
}

TEST_CASE("answers too large for those who may not need them wait to be asked for",
          "[map_outputs]") {
  MapOutputTracker t;
  t.register_shuffle(kTen, 10'000, 10'000);
  t.register_shuffle(ShuffleId{11}, 200, 200);
  const auto no_directories = [](const ExecutorId&) { return std::vector<std::string>(); };
  CHECK_FALSE(t.answer_ahead(kTen, 0, no_directories));
  CHECK(t.answer_ahead(ShuffleId{11}, 0, no_directories));
}

TEST_CASE("B14 hosts with a share of at least the fraction are preferred", "[map_outputs]") {
  MapOutputTracker t;
  t.register_shuffle(kTen, 3, 1);
  t.register_output(kTen, 0, status(a, 5, {2}));
  t.register_output(kTen, 1, status(a, 6, {2}));
  t.register_output(kTen, 2, status(b, 7, {3}));
  using V = std::vector<std::string>;
  CHECK(t.preferred_hosts(kTen, 0, 0.5) == V{"hostA"});
  CHECK(t.preferred_hosts(kTen, 0, 0.2) == V{"hostA", "hostB"});
}

TEST_CASE("the answer is made once until the shuffle changes", "[map_outputs]") {
  MapOutputTracker t;
  int made = 0;
  const auto ask = [&] {
    return t.answer(kTen, [&](const ExecutorId&) {
      ++made;
      return std::vector<std::string>{};
    });
  };
  t.register_shuffle(kTen, 2, 1);
  t.register_output(kTen, 0, status(a, 5, {1}));
  const auto first = ask();
  for (int i = 0; i < 100; ++i) CHECK(ask() == first);
  CHECK(made == 1);
  t.register_output(kTen, 1, status(b, 6, {1}));
  CHECK(std::get<tinderbox::MapOutputs>(*ask()).statuses[1]);
  t.increment_epoch();
  CHECK(std::get<tinderbox::MapOutputs>(*ask()).epoch == 1);
  CHECK_FALSE(std::get<tinderbox::MapOutputs>(*first).statuses[1]);
}

TEST_CASE("outputs beyond the shuffle are ignored", "[map_outputs]") {
  MapOutputTracker t;
  t.register_shuffle(kTen, 1, 1);
  t.register_output(kTen, 1, status(a, 5, {1}));
  t.register_output(kTen, -1, status(a, 5, {1}));
  t.register_output(ShuffleId{99}, 0, status(a, 5, {1}));
  t.unregister_output(kTen, 7, a);
  CHECK(t.missing(kTen) == std::vector<int32_t>{0});
}

// ---- commit ------------------------------------------------------------------------------------

namespace {

constexpr StageId kStage{3};

AskPermissionToCommit ask(int32_t attempt, int32_t stage_attempt = 0, int32_t partition = 0) {
  return {1, kStage, stage_attempt, partition, attempt, {}};
}

/// Attempt 0 may commit partition 0 of a stage that has started.
struct Permitted : CommitCoordinator {
  Permitted() {
    stage_start(kStage);
    CHECK(may_commit(ask(0)));
  }
  void ended(int32_t attempt, TaskEndKind how, int32_t stage_attempt = 0) {
    attempt_ended(kStage, stage_attempt, 0, attempt, how);
  }
};

}  // namespace

TEST_CASE("B41 B45 the first to ask may commit, nobody twice", "[commit]") {
  CommitCoordinator c;
  CHECK_FALSE(c.may_commit(ask(0)));  // no such stage
  c.stage_start(kStage);
  CHECK(c.may_commit(ask(0)));
  CHECK_FALSE(c.may_commit(ask(1)));
  CHECK_FALSE(c.may_commit(ask(0)));
  CHECK(c.may_commit(ask(0, 0, 1)));
  c.stage_end(kStage);
  CHECK_FALSE(c.may_commit(ask(0)));
  CHECK(c.empty());
}

TEST_CASE("B42 B43 a failed holder makes room, and may not come back", "[commit]") {
  Permitted c;
  c.ended(5, TaskEndKind::ExceptionFailure);
  CHECK_FALSE(c.may_commit(ask(1)));
  c.ended(5, TaskEndKind::TaskCommitDenied);
  CHECK_FALSE(c.may_commit(ask(1)));
  c.ended(0, TaskEndKind::ExceptionFailure);
  CHECK_FALSE(c.may_commit(ask(0)));
  CHECK(c.may_commit(ask(1)));
}

TEST_CASE("B42 a holder whose permission came too late makes room", "[commit]") {
  Permitted c;
  // The executor gave up waiting for the answer and ended the attempt as denied.
  c.ended(0, TaskEndKind::TaskCommitDenied);
  CHECK_FALSE(c.may_commit(ask(0)));
  CHECK(c.may_commit(ask(1)));
}

TEST_CASE("B44 attempts of different stage attempts are different", "[commit]") {
  Permitted c;
  c.stage_start(kStage);  // the stage is tried again: what is known stays
  CHECK_FALSE(c.may_commit(ask(0, 1)));
  c.ended(0, TaskEndKind::ExceptionFailure, 1);
  CHECK_FALSE(c.may_commit(ask(1, 1)));
  c.ended(0, TaskEndKind::ExecutorLostFailure);
  CHECK(c.may_commit(ask(1, 1)));
}

TEST_CASE("a shuffle or a map that is not known changes nothing", "[map_outputs]") {
  Outputs t({a, std::nullopt});
  const int64_t epoch = t.epoch();
  constexpr ShuffleId kNone{99};
  t.unregister_output(kNone, 0, a);
  t.unregister_output(kTen, -1, a);
  t.unregister_all_outputs(kNone);
  t.register_output(kNone, 0, status(a, 5, {1}));
  t.register_output(kTen, 2, status(a, 5, {1}));
  CHECK(t.epoch() == epoch);
  CHECK(t.available(kTen) == 1);
  CHECK(t.available(kNone) == 0);
  CHECK(t.missing(kNone).empty());
  CHECK(t.statistics(kNone).empty());
  CHECK(t.preferred_hosts(kNone, 0, 0.2).empty());
  t.unregister_output(kTen, 7, a);
  t.unregister_output(kTen, 1, a);
  t.unregister_output(kTen, 0, b);
  CHECK(t.available(kTen) == 1);
}

TEST_CASE("an output that is made again takes the place of the one before", "[map_outputs]") {
  Outputs t({a, std::nullopt});
  t.register_output(kTen, 0, status(b, 9, {1000}));
  CHECK(t.available(kTen) == 1);
  CHECK(t.statistics(kTen) == std::vector<int64_t>{decode_size(encode_size(1000))});
}
