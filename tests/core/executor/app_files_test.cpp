// Files of an application that its driver hands out.
#include "core/executor/app_files.hpp"

#include "tests/core/executor/running_fixture.hpp"
#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// What `what` returns, or its error.
template <class F>
std::string or_error(F what) {
  try {
    return what();
  } catch (const conf::Error& e) {
    return "error: " + std::string(e.what());
  }
}

void make_file(Store& s, const std::string& directory, const std::string& name) {
  s.files.directories.insert(directory);
  auto file = s.files.create(directory + "/" + name);
  REQUIRE((*file)->append(directory));
  REQUIRE((*file)->commit());
}

/// A launch names its tasks, and after them the addresses of those that have some.
std::string shown(const HeldOrders::Order& order) {
  if (const auto* drop = std::get_if<DropProgram>(&order))
    return "drop " + std::to_string(drop->program) + "\n";
  if (const auto* keep = std::get_if<KeepProgram>(&order))
    return "keep " + std::to_string(keep->program.program) + "\n";
  const LaunchTasks& launch = std::get<StartTasks>(order).launch;
  std::string text = "start";
  for (const TaskLaunch& task : launch.tasks) text += " " + std::to_string(task.id.value);
  for (const ResourceAddresses& own : launch.resources) text += " " + own.at("gpu").at(0);
  return text + "\n";
}
std::string shown(const std::vector<HeldOrders::Order>& orders) {
  std::string text;
  for (const HeldOrders::Order& order : orders) text += shown(order);
  return text;
}

}  // namespace

TEST_CASE("two files of one name are refused, one file may be named twice", "[app_files]") {
  Store s;
  for (const char* directory : {"/a", "/b"}) make_file(s, directory, "x.txt");
  const auto hand_out = [&](const std::string& entry) {
    return or_error([&] { return hand_out_app_file(entry, *s.blocks, "h:1"); });
  };
  CHECK(hand_out("file:/a/x.txt") == "spark://h:1/files/x.txt");
  CHECK(hand_out("file:/a/x.txt#y") == "spark://h:1/files/x.txt#y");
  CHECK(hand_out("file:/b/x.txt") ==
        "error: File x.txt was already registered with a different path (old path = /a/x.txt, new "
        "path = /b/x.txt): executors would get one file for both; rename one");
  CHECK(read(*s.blocks, "file/x.txt") == "/a");
}

TEST_CASE("what no executor could use is refused before there are any", "[app_files]") {
  Store s;
  make_file(s, "/a", "x.txt");
  make_file(s, "/a", "x.tgz");
  const auto hand_out = [&](const char* key, const std::string& entry) {
    return or_error([&] {
      const conf::Conf conf = conf::Conf{}.with(key, entry);
      return hand_out_app_files(conf, *s.blocks, "h:1").at(key);
    });
  };
  CHECK(hand_out("spark.archives", "file:/a/x.tgz#x") == "spark://h:1/files/x.tgz#x");
  CHECK(hand_out("spark.files", "spark://h:1/files/x.txt") == "spark://h:1/files/x.txt");
  CHECK_THAT(hand_out("spark.files", "http://127.0.0.1:1/x.txt"),
             Catch::Contains("cannot be fetched") && Catch::Contains("no connection"));
  struct Case {
    const char *key, *entry, *error;
  };
  for (const Case& c :
       {Case{"spark.files", "file:/a/none", "File file:/a/none that executors are to get does not"},
        Case{"spark.files", "file:/a", "File file:/a that executors are to get is a directory"},
        Case{"spark.files", "hdfs://h/x.txt", "'hdfs', which is not supported"},
        Case{"spark.archives", "file:/a/x.txt", "is of no known kind: use .tar, .tar.gz or .tgz"},
        Case{"spark.archives", "http://h/x.zip", "is a zip, which is not supported"}}) {
    const std::string got = hand_out(c.key, c.entry);
    INFO(got);
    CHECK(got.starts_with("error: "));
    CHECK(got.find(c.error) != std::string::npos);
  }
}

TEST_CASE("orders wait for the files before them, not for later ones", "[app_files]") {
  HeldOrders held;
  CHECK_FALSE(held.holds());
  held.files_ordered();
  held.hold(KeepProgram{StageProgram{1, {}, {}}});
  held.hold(StartTasks{Running::launch(1, {1, 2})});
  held.hold(DropProgram{1});
  held.files_ordered();
  held.hold(StartTasks{Running::launch(2, {3})});
  CHECK(shown(held.files_came()) == "keep 1\nstart 1 2\ndrop 1\n");
  CHECK(held.holds());
  CHECK(shown(held.files_came()) == "start 3\n");
  CHECK_FALSE(held.holds());
}

TEST_CASE("a task that is taken back is not in its launch any more", "[app_files]") {
  HeldOrders held;
  CHECK(held.take_back({TaskId{1}}).empty());
  held.files_ordered();
  LaunchTasks launch = Running::launch(1, {1, 2, 3});
  for (const char* address : {"a", "b"}) launch.resources.emplace_back()["gpu"] = {address};
  held.hold(StartTasks{launch});
  held.files_ordered();
  held.hold(StartTasks{Running::launch(1, {4})});
  CHECK(held.take_back({TaskId{4}, TaskId{9}, TaskId{1}}) == std::vector{TaskId{1}, TaskId{4}});
  CHECK(held.take_back({TaskId{1}}).empty());
  CHECK(shown(held.files_came()) == "start 2 3 b\n");
  CHECK(shown(held.files_came()) == "start\n");
}

TEST_CASE("shipped files are fetched in order beside their owner, whatever becomes of them",
          "[app_files]") {
  Gate server, done;
  std::vector<std::string> log;  // the fetching thread's, until `done`
  FileFetcher fetcher(
      [&](const AddFiles& what, const std::atomic<bool>&) -> Result<bool> {
        server.pass();
        log.push_back(what.files.at(0));
        if (what.files.at(0) == "bad") return Error{"none"};
        return true;
      },
      [&](Result<bool> got) {
        log.push_back(got ? "got" : got.error().message);
        if (log.size() == 4) done.open();
      });
  fetcher.add({{"bad"}, {}});
  fetcher.add({{"good"}, {}});
  server.open();
  done.pass();
  CHECK(log == std::vector<std::string>{"bad", "none", "good", "got"});
}

TEST_CASE("the stop waits no longer than it may for a fetch that is deaf", "[app_files]") {
  Gate begun, server;
  std::atomic<int> fetches{0};
  FileFetcher fetcher(
      [&](const AddFiles&, const std::atomic<bool>&) -> Result<bool> {
        ++fetches;
        begun.open();
        server.pass();
        return true;
      },
      [](Result<bool>) {});
  fetcher.add({{"a"}, {}});
  fetcher.add({{"b"}, {}});
  begun.pass();
  CHECK_FALSE(fetcher.stop_within(std::chrono::milliseconds(1)));
  server.open();
  CHECK(fetcher.stop_within(std::chrono::minutes(1)));
  CHECK(fetches == 1);
}
