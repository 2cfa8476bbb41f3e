// Copies of cached partitions on other executors: how many, where, and again when one is lost.
#include "core/scheduler/blocks/replication.hpp"

#include "tests/core/scheduler/scheduler_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::scheduling;

namespace {

using Strings = std::vector<std::string>;

using Hosts = std::map<std::string, std::string>;  // by executor
const Hosts kFour = {{"A", "h1"}, {"B", "h1"}, {"C", "h2"}, {"D", "h3"}};
const Hosts kTwo = {{"A", "h1"}, {"B", "h2"}};

struct Copies : Cluster {
  explicit Copies(DriverOptions options = test_options(), const Hosts& executors = kFour)
      : Cluster(std::move(options)) {
    for (const auto& [id, host] : executors) executor(id, 4, host);
  }
  void cached(const std::string& executor, const std::string& block, int32_t copies) {
    from(executor, BlockUpdates{ExecutorId{executor}, {update(block, true, copies)}});
  }
  void dropped(const std::string& executor, const std::string& block) {
    from(executor, BlockUpdates{ExecutorId{executor}, {update(block, false, 0)}});
  }
  static BlockUpdate update(const std::string& block, bool there, int32_t copies) {
    BlockUpdate u{.block = block};
    u.in_memory = u.use_memory = there;
    u.use_disk = there;
    u.memory_bytes = there ? 10 : 0;
    u.replication = copies;
    return u;
  }
  /// Who is asked next, for what, of whom: "C rdd_1_0 of A".
  std::string asked() {
    if (takes.empty()) return "-";
    const TakeBlock& what = takes.front().what;
    return takes.front().executor + " " + what.block + " of " + what.from.executor.value;
  }
  /// The executor that is asked first does as it is told, or not.
  void takes_it() {
    REQUIRE_FALSE(takes.empty());
    const Take t = takes.front();
    takes.pop_front();
    cached(t.executor, t.what.block, t.what.replication);
    from(t.executor, BlockTaken{t.what.request, true, ""});
  }
  void refuses() {
    REQUIRE_FALSE(takes.empty());
    const Take t = takes.front();
    takes.pop_front();
    from(t.executor, BlockTaken{t.what.request, false, "its disk is full"});
  }
  size_t holders(const std::string& block) const { return driver.blocks().locations(block).size(); }
  bool warned(const std::string& text) const {
    return std::any_of(logs.begin(), logs.end(), [&](const Log& l) {
      return l.level == Level::Warn && l.line.find(text) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE("a block of a level with two copies gets one on another host", "[replication]") {
  Copies c;
  c.cached("A", "rdd_1_0", 1);
  CHECK(c.asked() == "-");
  c.cached("A", "rdd_1_1", 2);
  CHECK(c.asked() == "C rdd_1_1 of A");
  CHECK(c.takes.front().what.in_memory);
  CHECK(c.takes.front().what.on_disk);
  CHECK(c.takes.front().what.replication == 2);
  c.takes_it();
  CHECK(c.asked() == "-");
  CHECK(c.driver.blocks().locations("rdd_1_1").size() == 2);
}

TEST_CASE("the answer may come before the copy is told of", "[replication]") {
  Copies c;
  c.cached("A", "rdd_1_1", 2);
  const auto t = c.takes.front();
  c.takes.pop_front();
  c.from(t.executor, BlockTaken{t.what.request, true, ""});
  CHECK(c.asked() == "-");
  c.cached(t.executor, "rdd_1_1", 2);
  CHECK(c.asked() == "-");
}

TEST_CASE("three copies are on three hosts; those of many blocks are shared out", "[replication]") {
  Copies c;
  c.cached("B", "rdd_2_0", 3);
  REQUIRE(c.takes.size() == 2);
  CHECK(c.asked() == "C rdd_2_0 of B");
  c.takes_it();
  CHECK(c.asked() == "D rdd_2_0 of B");
  c.takes_it();
  CHECK(c.asked() == "-");
  std::map<std::string, int> by;
  for (int i = 0; i < 20; ++i) c.cached("C", "rdd_3_" + std::to_string(i), 2);
  CHECK(c.takes.size() == 12);  // four at once each
  while (!c.takes.empty()) {
    ++by[c.takes.front().executor];
    c.takes_it();
  }
  CHECK(by["A"] + by["B"] + by["D"] == 20);
  CHECK(by["A"] >= 4);
  CHECK(by["B"] >= 4);
  CHECK(by["D"] >= 4);
  for (int i = 0; i < 20; ++i)
    CHECK(c.driver.blocks().locations("rdd_3_" + std::to_string(i)).size() == 2);
}

TEST_CASE("one that fails is passed over once, then there are fewer copies and a warning",
          "[replication]") {
  Copies c;
  c.cached("A", "rdd_1_0", 2);
  CHECK(c.asked() == "C rdd_1_0 of A");
  c.refuses();
  CHECK(c.warned("Executor C did not take a copy of rdd_1_0: its disk is full"));
  CHECK(c.asked() == "D rdd_1_0 of A");
  c.refuses();
  CHECK(c.asked() == "-");
  CHECK(c.warned("Block rdd_1_0 replicated to only 0 peer(s) instead of 1 peers"));
}

TEST_CASE("copies that are lost with an executor are made again", "[replication]") {
  const bool proactive = GENERATE(true, false);
  DriverOptions options = test_options();
  options.replication.proactive = proactive;
  Copies c(options);
  c.cached("A", "rdd_1_0", 2);
  c.takes_it();
  c.lose("A", 0);
  CHECK(c.asked() == (proactive ? "B rdd_1_0 of C" : "-"));
  if (proactive) c.takes_it();
  CHECK(c.asked() == "-");
}

TEST_CASE("who was to take it is lost: another one is asked; who had it is lost: nobody is",
          "[replication]") {
  Copies c;
  c.cached("A", "rdd_1_0", 2);
  CHECK(c.asked() == "C rdd_1_0 of A");
  c.takes.clear();
  c.lose("C", 0);
  CHECK(c.asked() == "D rdd_1_0 of A");
  c.lose("A", 0);
  c.refuses();
  CHECK(c.asked() == "-");
}

TEST_CASE("what was removed meanwhile is copied no more", "[replication]") {
  Copies c;
  c.cached("A", "rdd_1_0", 2);
  c.dropped("A", "rdd_1_0");
  c.refuses();
  CHECK(c.asked() == "-");
  for (int i = 0; i < 30; ++i) c.cached("A", "rdd_2_" + std::to_string(i), 2);
  c.on(UnpersistRdd{RddId{2}});
  while (!c.takes.empty()) c.refuses();
  CHECK(c.asked() == "-");
}

TEST_CASE("a copy that was thrown out for another one is not made again", "[replication]") {
  Copies c(test_options(), kTwo);
  c.cached("A", "rdd_1_0", 2);
  c.takes_it();
  c.cached("A", "rdd_2_0", 2);
  CHECK(c.asked() == "B rdd_2_0 of A");
  c.dropped("B", "rdd_1_0");
  CHECK(c.takes.size() == 1);
  c.takes_it();
  CHECK(c.asked() == "-");
  BlockUpdate on_disk = Copies::update("rdd_1_0", true, 2);
  on_disk.in_memory = false;
  on_disk.on_disk = true;
  c.from("A", BlockUpdates{ExecutorId{"A"}, {on_disk}});
  CHECK(c.asked() == "-");
  CHECK(c.holders("rdd_1_0") == 1);
}

TEST_CASE("a copy whose first holder throws it out meanwhile is not copied back", "[replication]") {
  Copies c(test_options(), kTwo);
  c.cached("A", "rdd_1_0", 2);
  c.dropped("A", "rdd_1_0");
  c.takes_it();
  CHECK(c.asked() == "-");
  CHECK(c.holders("rdd_1_0") == 1);
}

TEST_CASE("a block that is put anew is copied anew", "[replication]") {
  Copies c(test_options(), kTwo);
  c.cached("A", "rdd_1_0", 2);
  c.takes_it();
  c.dropped("A", "rdd_1_0");
  c.dropped("B", "rdd_1_0");
  CHECK(c.asked() == "-");
  c.cached("B", "rdd_1_0", 2);
  CHECK(c.asked() == "A rdd_1_0 of B");
  c.takes_it();
  CHECK(c.asked() == "-");
  CHECK(c.holders("rdd_1_0") == 2);
}

TEST_CASE("a copy that comes after its RDD was unpersisted is removed", "[replication]") {
  Copies c;
  c.cached("A", "rdd_2_0", 2);
  CHECK(c.asked() == "C rdd_2_0 of A");
  c.on(UnpersistRdd{RddId{2}});
  c.takes_it();
  CHECK(c.messages<RemoveBlocks>("C") == std::vector{RemoveBlocks{{"rdd_2_0"}}});
  CHECK(c.asked() == "-");
  CHECK(c.holders("rdd_2_0") == 0);
}

TEST_CASE("who refuses it keeps nothing that it told of before", "[replication]") {
  const bool told = GENERATE(true, false);
  Copies c;
  c.cached("A", "rdd_2_0", 2);
  c.on(UnpersistRdd{RddId{2}});
  if (told) c.cached("C", "rdd_2_0", 2);
  c.refuses();
  CHECK(c.messages<RemoveBlocks>("C").size() == (told ? 1U : 0U));
  CHECK(c.holders("rdd_2_0") == 0);
  c.cached("C", "rdd_2_0", 2);
  CHECK(c.holders("rdd_2_0") == 1);
}

TEST_CASE("an RDD that is persisted again is kept, and copied when old copies are gone",
          "[replication]") {
  Copies c(test_options(), kTwo);
  c.cached("A", "rdd_2_0", 2);
  c.on(UnpersistRdd{RddId{2}});
  c.cached("A", "rdd_2_0", 2);
  CHECK(c.takes.size() == 1);
  c.takes_it();
  CHECK(c.messages<RemoveBlocks>("B").size() == 1);
  CHECK(c.holders("rdd_2_0") == 1);
  CHECK(c.asked() == "B rdd_2_0 of A");
  c.takes_it();
  CHECK(c.asked() == "-");
  CHECK(c.holders("rdd_2_0") == 2);
}

TEST_CASE("who was to take an old copy is lost: another one takes the new one", "[replication]") {
  Copies c(test_options(), kTwo);
  c.cached("A", "rdd_2_0", 2);
  c.on(UnpersistRdd{RddId{2}});
  c.cached("A", "rdd_2_0", 2);
  c.takes.clear();
  c.executor("C");
  c.lose("B", 0);
  CHECK(c.asked() == "C rdd_2_0 of A");
}

TEST_CASE("an application with one executor has one copy, and says so once", "[replication]") {
  Cluster alone(test_options());
  alone.executor("A", 4, "h1");
  BlockUpdate u = Copies::update("rdd_1_0", true, 2);
  alone.from("A", BlockUpdates{ExecutorId{"A"}, {u}});
  CHECK(alone.takes.empty());
  CHECK(std::count_if(alone.logs.begin(), alone.logs.end(), [](const Log& l) {
          return l.line.find("replicated to only 0 peer(s)") != std::string::npos;
        }) == 1);
}
