// Rdd<T> with the world: files, stored and checkpointed partitions, shared variables.
#include "tests/core/api/values.hpp"

#include <fstream>
#include <thread>

using namespace tinderbox;
using tests::LocalRuntime;
using tests::sorted;
using tests::upto;

TEST_CASE("word count over a file", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string path = runtime.services.directory + "/in.txt";
  std::ofstream(path) << "to be or not to be\nthat is the question\r\nto die  to sleep\n";
  auto counts =
      context.text_file(path, 3)
          .flat_map<std::string_view>([](std::string_view line, auto& emit) { words(line, emit); })
          .map([](std::string_view w) { return std::pair(w, int64_t{1}); })
          .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
  const std::map<std::string, int64_t> want{{"to", 4},    {"be", 2},      {"or", 1},  {"not", 1},
                                            {"that", 1},  {"is", 1},      {"the", 1}, {"die", 1},
                                            {"sleep", 1}, {"question", 1}};
  CHECK(counts.collect_as_map() == want);
}

TEST_CASE("text files: every line once, whatever the splits", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory;
  std::string text;
  std::vector<std::string> want;
  for (int i = 0; i < 300; ++i) {
    want.push_back(std::string(static_cast<size_t>(i * i % 97), static_cast<char>('a' + i % 26)));
    text += want.back() + (i % 3 == 0 ? "\r\n" : "\n");
  }
  std::ofstream(dir + "/lines") << text;
  for (int n = 1; n < 40; ++n) CHECK(context.text_file(dir + "/lines", n).collect() == want);
  std::ofstream(dir + "/lines") << text << "no end";
  want.push_back("no end");
  for (const int n : {1, 2, 3, 500, 20000})
    CHECK(context.text_file(dir + "/lines", n).collect() == want);
  std::ofstream(dir + "/long") << std::string(3000000, 'x') << "\ny\n";
  CHECK(context.text_file(dir + "/long", 7)
            .map([](std::string_view l) { return l.size(); })
            .collect() == std::vector<size_t>{3000000, 1});
  std::ofstream(dir + "/empty") << "";
  CHECK(context.text_file(dir + "/empty").collect().empty());
}

TEST_CASE("R42 text files: directories, globs, lists, missing ones", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string dir = runtime.services.directory;
  for (const char* name : {"/d/one.txt", "/d/two.txt", "/d/three.log", "/d/_hidden", "/d/.also"}) {
    (void)runtime.files().make_directories(dir + "/d");
    std::ofstream(dir + name) << name << "\n";
  }
  (void)runtime.files().make_directories(dir + "/none");
  auto lines = [&](const std::string& path) { return sorted(context.text_file(path).collect()); };
  CHECK(lines(dir + "/d") == std::vector<std::string>{"/d/one.txt", "/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/d/t*") == std::vector<std::string>{"/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/?/*.txt") == std::vector<std::string>{"/d/one.txt", "/d/two.txt"});
  CHECK(lines(dir + "/d/{one,three}.*") == std::vector<std::string>{"/d/one.txt", "/d/three.log"});
  // What two choices match is there once; braces may hold others, and directories.
  CHECK(lines(dir + "/d/{t*,*.log,three.log}") ==
        std::vector<std::string>{"/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/d/t{wo,{hree,en}}.{txt,log}") ==
        std::vector<std::string>{"/d/three.log", "/d/two.txt"});
  CHECK(lines(dir + "/{d/one,none/x,d/two}.txt") ==
        std::vector<std::string>{"/d/one.txt", "/d/two.txt"});
  std::ofstream(dir + "/d/{a}") << "braces\n";
  CHECK(lines(dir + "/d/\\{a\\}*") == std::vector<std::string>{"braces"});
  (void)runtime.files().remove(dir + "/d/{a}");
  CHECK(lines("file:" + dir + "/d/one.txt,file://" + dir + "/d/three.log") ==
        std::vector<std::string>{"/d/one.txt", "/d/three.log"});
  CHECK(lines("file://localhost" + dir + "/d/one.txt") == std::vector<std::string>{"/d/one.txt"});
  CHECK(context.text_file(dir + "/none").num_partitions() == 0);
  CHECK(context.text_file(dir + "/none")
            .map([](std::string_view l) { return std::pair(l, 1); })
            .reduce_by_key([](int a, int b) { return a + b; })
            .collect()
            .empty());
  CHECK_THROWS_WITH(context.text_file(dir + "/missing"),
                    "Input path does not exist: file:" + dir +
                        "/missing; check the path, driver and executors must see the same files");
  // What is matched on the way may be hidden, what is matched in the end may not.
  for (const char* inner : {"/d/_h", "/d/.g"}) {
    (void)runtime.files().make_directories(dir + inner);
    std::ofstream(dir + inner + "/x.txt") << inner << "\n";
    std::ofstream(dir + inner + "/_x") << "no input\n";
  }
  CHECK(lines(dir + "/d/*/x.txt") == std::vector<std::string>{"/d/.g", "/d/_h"});
  CHECK(lines(dir + "/d/_*/*") == std::vector<std::string>{"/d/_h"});
  CHECK_THROWS_WITH(context.text_file(dir + "/d/*/_x"), Catch::Contains("matches 0 files"));
  CHECK_THROWS_WITH(context.text_file(dir + "/zz*"),
                    "Input Pattern file:" + dir + "/zz* matches 0 files; check the pattern");
  CHECK_THROWS_WITH(context.text_file("hdfs://h/x"),
                    Catch::Contains("No FileSystem for scheme \"hdfs\""));
}

TEST_CASE("save_as_text_file commits parts and refuses an existing directory", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string out = runtime.services.directory + "/out";
  context.parallelize(upto(6), 3)
      .map([](int x) { return std::pair(x, x / 2.0); })
      .save_as_text_file(out);
  auto list = runtime.files().list(out);
  std::vector<std::string> names;
  for (const auto& entry : *list) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"_SUCCESS", "part-00000", "part-00001", "part-00002"});
  CHECK(context.text_file(out).collect() ==
        std::vector<std::string>{"(1,0.5)", "(2,1.0)", "(3,1.5)", "(4,2.0)", "(5,2.5)", "(6,3.0)"});
  CHECK_THROWS_WITH(
      context.range(0, 1).save_as_text_file(out),
      "Output directory file:" + out + " already exists; remove it or name another one");
  const std::string failed = runtime.services.directory + "/failed";
  CHECK_THROWS(context.parallelize(upto(2), 2)
                   .map([](int x) { return x == 2 ? throw std::runtime_error("bad two") : x; })
                   .save_as_text_file(failed));
  CHECK_FALSE((*runtime.files().stat(failed + "/_SUCCESS")).has_value());
}

TEST_CASE("R7 a persisted Rdd is computed once", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto computed = context.long_accumulator("computed");
  auto rdd = context.parallelize(upto(4), 2).map(capture(computed, [](const auto& n, int x) {
    n.add(1);
    return std::to_string(x);
  }));
  rdd.persist(MEMORY_AND_DISK);
  for (int i = 0; i < 3; ++i) CHECK(rdd.collect() == std::vector<std::string>{"1", "2", "3", "4"});
  CHECK(computed.value() == 4);
  CHECK(runtime.services.blocks.contains("rdd_1_0"));
  CHECK_THROWS_WITH(rdd.persist(DISK_ONLY),
                    "Cannot change storage level of an RDD after it was already assigned a level");
  runtime.services.blocks.erase("rdd_1_1");
  CHECK(rdd.count() == 4);
  CHECK(computed.value() == 6);
  rdd.unpersist();
  CHECK(runtime.services.blocks.empty());
  CHECK(rdd.count() == 4);
  rdd.persist(DISK_ONLY);
  auto failing = context.parallelize(upto(2), 1).map([](int x) -> int {
    throw std::runtime_error("oops " + std::to_string(x));
  });
  failing.cache();
  CHECK_THROWS_WITH(failing.count(), Catch::Contains("oops 1"));
  auto views = context.parallelize(std::vector<std::string>{"b a", "c"}, 2)
                   .flat_map<std::string>([](const std::string& l, auto& emit) {
                     words(l, [&](std::string_view w) { return emit(std::string(w)); });
                   });
  views.cache();
  CHECK(views.collect() == std::vector<std::string>{"b", "a", "c"});
  CHECK(views.collect() == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("the checkpoint directory may come from the configuration", "[rdd]") {
  const std::string directory = LocalRuntime().services.directory + "-configured";
  LocalRuntime runtime(2, conf::Conf::of({{"spark.checkpoint.dir", directory}}));
  Context context(runtime);
  auto rdd = context.parallelize(std::vector<int>{1, 2, 3}, 2).map([](int x) { return x + 1; });
  rdd.checkpoint();
  CHECK(rdd.count() == 3);
  CHECK(rdd.is_checkpointed());
  CHECK(rdd.collect() == std::vector<int>{2, 3, 4});
  CHECK(runtime.files().remove_tree(directory));
}

TEST_CASE("the checkpoint directory may be a URL of this host, of no other file system", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const std::string directory = runtime.services.directory + "/by-url";
  context.set_checkpoint_dir("file://localhost" + directory);
  CHECK((*runtime.files().stat(directory)).has_value());
  CHECK_THROWS_WITH(context.set_checkpoint_dir("hdfs://h/x"),
                    Catch::Contains("Cannot use checkpoint directory hdfs://h/x: No FileSystem"));
}

TEST_CASE("an Rdd that is marked hides its marked ancestors, unless the property asks for them",
          "[rdd]") {
  for (const bool all : {false, true}) {
    LocalRuntime runtime;
    Context context(runtime);
    context.set_checkpoint_dir(runtime.services.directory + "/cp");
    auto parent = context.parallelize(upto(6), 3).map([](int x) { return x * 2; });
    auto child = parent.map([](int x) { return x + 1; });
    parent.checkpoint();
    child.checkpoint();
    if (all) context.set_local_property("spark.checkpoint.checkpointAllMarkedAncestors", "true");
    CHECK(child.collect() == std::vector<int>{3, 5, 7, 9, 11, 13});
    CHECK(child.is_checkpointed());
    CHECK(parent.is_checkpointed() == all);
  }
}

TEST_CASE("R48 a checkpoint cuts the lineage after the first job", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto computed = context.long_accumulator();
  auto rdd = context.parallelize(upto(6), 3).map(capture(computed, [](const auto& n, int x) {
    n.add(1);
    return x * 2;
  }));
  CHECK_THROWS_WITH(rdd.checkpoint(), "Checkpoint directory has not been set in the SparkContext");
  context.set_checkpoint_dir(runtime.services.directory + "/cp");
  rdd.checkpoint();
  CHECK_FALSE(rdd.is_checkpointed());
  auto child = rdd.map([](int x) { return x + 1; });
  CHECK(child.collect() == std::vector<int>{3, 5, 7, 9, 11, 13});
  CHECK(rdd.is_checkpointed());
  CHECK(computed.value() == 12);
  CHECK(child.collect() == std::vector<int>{3, 5, 7, 9, 11, 13});
  CHECK(rdd.collect() == std::vector<int>{2, 4, 6, 8, 10, 12});
  CHECK(computed.value() == 12);
}

TEST_CASE("a thread that a task begins cannot add to an accumulator", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto count = context.long_accumulator();
  const auto added = context.parallelize(upto(1), 1).map(capture(count, [](const auto& n, int) {
    std::string error;
    std::thread([&] {
      try {
        n.add(1);
      } catch (const std::logic_error& e) {
        error = e.what();
      }
    }).join();
    return error;
  }));
  CHECK(added.first().starts_with("an accumulator's add outside a task's own thread"));
}

TEST_CASE("broadcast values reach tasks once, accumulators come back", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto table = context.broadcast(std::map<int, std::string>{{1, "one"}, {2, "two"}});
  auto names = context.parallelize(std::vector<int>{1, 2, 1, 2}, 4)
                   .map(capture(table, [](const auto& t, int x) { return t.value().at(x); }));
  CHECK(names.collect() == std::vector<std::string>{"one", "two", "one", "two"});
  CHECK(names.count() == 4);
  CHECK(runtime.services.broadcast_fetches == 1);
  table.unpersist();
  CHECK(names.count() == 4);
  table.destroy();
  const std::string destroyed = "Attempted to use Broadcast(0) after it was destroyed (destroy at ";
  CHECK_THROWS_WITH(table.value(), Catch::StartsWith(destroyed + "files_and_shared_test.cpp:"));
  CHECK_THROWS_WITH(names.count(), Catch::Contains(destroyed));
  CHECK_THROWS_WITH(names.foreach (capture(table, [](const auto&, const std::string&) {})),
                    Catch::StartsWith(destroyed));
  CHECK(runtime.services.broadcast_fetches == 2);

  auto sum = context.long_accumulator("sum");
  auto half = context.double_accumulator();
  auto mean = context.average_accumulator("mean");
  auto odd = context.collection_accumulator<int>();
  auto largest = context.accumulator(
      std::string(), [](std::string& into, const std::string& s) { into = std::max(into, s); });
  context.parallelize(upto(100), 7)
      .foreach (capture(
          sum, half, mean, odd, largest,
          [](const auto& s, const auto& h, const auto& m, const auto& o, const auto& l, int x) {
            s.add(x);
            h.add(0.5);
            m.add(x);
            if (x % 2 == 1) o.add(x);
            l.add(std::to_string(x));
          }));
  CHECK(sum.value() == 5050);
  CHECK(half.value() == 50.0);
  CHECK(mean.value().count == 100);
  CHECK(mean.value().mean() == 50.5);
  CHECK(odd.value().size() == 50);
  CHECK(largest.value() == "99");
  context.parallelize(upto(4), 2)
      .foreach_partition(capture(sum, [](const auto& s, Partition<int>& in) {
        for (int x : in) s.add(x);
      }));
  CHECK(sum.value() == 5060);
}

TEST_CASE("a broadcast value is removed with the last that could ask for it", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto numbers = context.parallelize(std::vector<std::pair<int, int>>{{1, 1}, {2, 2}}, 2);
  const auto there = [&] { return runtime.services.broadcasts.size(); };
  const auto more = [](const auto& by, int x) { return x + by.value(); };
  std::optional<Broadcast<int>> ten(context.broadcast(10));
  SECTION("a handle") {
    auto copy = *ten;
    ten.reset();
    CHECK(there() == 1);
  }
  SECTION("an Rdd, and what is made of it") {
    auto sums = numbers.map_values(capture(*ten, more)).map([](auto pair) { return pair; });
    ten.reset();
    CHECK(there() == 1);
    CHECK(sums.values().collect() == std::vector{11, 12});
  }
  SECTION("a function of an action that runs") {
    Broadcast<int> by = *ten;
    ten.reset();
    numbers.foreach (capture(std::move(by), [](const auto& b, auto pair) {
      if (b.value() != 10 || pair.first > 2) throw std::runtime_error("another value");
    }));
    CHECK(there() == 0);
  }
  SECTION("a shuffle that combines by it") {
    auto sums = numbers.reduce_by_key(
        capture(*ten, [](const auto& by, int a, int b) { return a + b + by.value(); }));
    ten.reset();
    CHECK(there() == 1);
    CHECK(sums.count() == 2);
  }
  SECTION("a partitioner") {
    auto by_ten = numbers.partition_by(
        2, capture(*ten, [](const auto& by, int key) { return key % 2 * (by.value() / 10); }));
    const auto partitioner = *by_ten.partitioner();
    by_ten = numbers;
    ten.reset();
    CHECK(there() == 1);
    CHECK(numbers.reduce_by_key([](int a, int b) { return a + b; }, partitioner).count() == 2);
  }
  SECTION("records at the driver") {
    auto records = context.parallelize(std::vector{*ten}, 1);
    ten.reset();
    CHECK(there() == 1);
    CHECK(records.map([](const Broadcast<int>& by) { return by.value(); }).first() == 10);
  }
  SECTION("a value that holds it") {
    auto outer = context.broadcast(std::vector{*ten});
    ten.reset();
    CHECK(there() == 2);
  }
  ten.reset();
}

TEST_CASE("what nobody can reach is removed: broadcast values, cached partitions, accumulators",
          "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  for (int i = 0; i < 3; ++i) {
    const auto by = context.broadcast(i);
    const auto seen = context.long_accumulator();
    auto rdd = context.parallelize(upto(4), 2)
                   .map(capture(by, seen,
                                [](const auto& b, const auto& s, int x) {
                                  s.add(1);
                                  return x + b.value();
                                }))
                   .cache();
    auto child = rdd.map([](int x) { return x; });
    CHECK(child.count() == 4);
    rdd = context.parallelize(upto(1), 1);
    CHECK(runtime.services.blocks.contains("rdd_" + std::to_string(i * 4 + 1) + "_0"));
    CHECK(runtime.services.broadcasts.size() == 1);
    CHECK(seen.value() == 4);
  }
  CHECK(runtime.services.blocks.empty());
  CHECK(runtime.services.broadcasts.empty());
  CHECK(runtime.forgotten_accumulators.size() == 3);
  CHECK(context.persistent_rdds().empty());
}

TEST_CASE("a destroyed broadcast value is gone for its copies too", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  auto a = context.broadcast(7);
  CHECK(a.value() == 7);
  auto b = a;
  CHECK(b.value() == 7);
  a.destroy();
  CHECK_THROWS_WITH(b.value(), Catch::Contains("after it was destroyed"));
  CHECK(runtime.services.broadcasts.empty());
}

TEST_CASE("several threads may be the first to use one broadcast value", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto table = context.broadcast(std::vector<int>{1, 2, 3});
  std::vector<const std::vector<int>*> seen(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] { seen[i] = &table.value(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto* value : seen) CHECK(value == &table.value());
  auto copy = table;
  CHECK(copy.value() == std::vector<int>{1, 2, 3});
}

TEST_CASE("R31 an Rdd cannot be used inside a task", "[rdd]") {
  LocalRuntime runtime(1);
  Context context(runtime);
  static Context* inside = nullptr;
  inside = &context;
  CHECK_THROWS_WITH(
      context.parallelize(upto(2), 1).map([](int) { return inside->range(0, 1).count(); }).count(),
      Catch::Contains("SPARK-5063"));
}

TEST_CASE("job properties belong to the thread", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  CHECK(context.version() == "4.3.0");
  context.set_job_group("g", "counting");
  context.add_job_tag("a");
  context.add_job_tag("b");
  context.remove_job_tag("a");
  for (const char* tag : {"", "a,b"}) {
    CHECK_THROWS_AS(context.add_job_tag(tag), std::invalid_argument);
    CHECK_THROWS_AS(context.remove_job_tag(tag), std::invalid_argument);
    CHECK_THROWS_AS(context.cancel_jobs_with_tag(tag), std::invalid_argument);
  }
  context.range(0, 3).count();
  CHECK(runtime.last_properties.at("spark.jobGroup.id") == "g");
  CHECK(runtime.last_properties.at("spark.job.description") == "counting");
  CHECK(runtime.last_properties.at("spark.job.tags") == "b");
  std::thread([&] { context.range(0, 3).count(); }).join();
  CHECK(runtime.last_properties.empty());
  // One after another, so that they may get the same id: none has what an earlier one set.
  for (int i = 0; i < 8; ++i)
    std::thread([&] {
      context.range(0, 3).count();
      context.set_job_group("left behind", "");
    }).join();
  CHECK(runtime.last_properties.empty());
  std::thread([&, mine = context.local_properties()] {
    context.set_local_properties(mine);
    context.range(0, 3).count();
    context.clear_job_group();
  }).join();
  CHECK(runtime.last_properties.at("spark.jobGroup.id") == "g");
  CHECK(context.local_property("spark.jobGroup.id") == "g");
  context.clear_job_group();
  context.clear_job_tags();
  context.range(0, 3).count();
  CHECK(runtime.last_properties.empty());
}

TEST_CASE("a shuffle is forgotten with the last Rdd that reads it", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  {
    auto counts = context.parallelize(upto(10), 2)
                      .map([](int x) { return std::pair(x % 3, 1); })
                      .reduce_by_key([](int a, int b) { return a + b; });
    auto child = counts.map_values([](int n) { return n * 2; });
    counts = context.empty_rdd<std::pair<int, int>>();
    CHECK(child.count() == 3);
    CHECK(runtime.stages == 2);
    CHECK(child.count() == 3);
    CHECK(runtime.stages == 3);
    CHECK(runtime.forgotten.empty());
  }
  CHECK(runtime.forgotten == std::vector<ShuffleId>{{0}});
}

TEST_CASE("what is shown of an accumulator that is gone is no longer than a few lines", "[rdd]") {
  CHECK(core::last_shown([] { return std::string("[1, 2]"); }) == "[1, 2]");
  CHECK(core::last_shown([] { return std::string(5000, 'x'); }) == std::string(4096, 'x') + "…");
  const std::string cut = std::string(4095, 'x') + "é";  // in the middle of a character
  CHECK(core::last_shown([&] { return cut; }) == std::string(4095, 'x') + "…");
  CHECK(core::last_shown([]() -> std::string { throw std::bad_alloc(); }).empty());
}
