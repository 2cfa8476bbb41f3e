// What waits for shipped files, and what becomes of it without them.
#include "core/executor/held_orders.hpp"

#include "tests/core/executor/running_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

const AddFiles kFiles{{"file:/f"}, {}}, kOthers{{}, {"file:/g.tgz"}};

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

/// The oldest files are there, which no task fails for.
std::string came(HeldOrders& held) {
  const HeldOrders::Released released = held.files_came(true);
  CHECK(released.failed.empty());
  return shown(released.orders);
}

/// They are not; the ends of tasks come last.
std::string did_not_come(HeldOrders& held) {
  const HeldOrders::Released released = held.files_came(Error{"no connection"});
  std::string text = shown(released.orders);
  for (const TaskUpdate& update : released.failed) {
    CHECK(update.state == TaskState::Failed);
    CHECK(update.reason->kind == TaskEndKind::ExceptionFailure);
    text += std::to_string(update.id.value) + ": " + update.reason->class_name + ": " +
            update.reason->description + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("orders wait for the files before them, not for later ones", "[held_orders]") {
  HeldOrders held;
  CHECK_FALSE(held.holds());
  held.files_ordered(kFiles);
  held.hold(KeepProgram{StageProgram{1, {}, {}}});
  held.hold(StartTasks{Running::launch(1, {1, 2})});
  held.hold(DropProgram{1});
  held.files_ordered(kFiles);
  held.hold(StartTasks{Running::launch(2, {3})});
  CHECK(came(held) == "keep 1\nstart 1 2\ndrop 1\n");
  CHECK(held.holds());
  CHECK(came(held) == "start 3\n");
  CHECK_FALSE(held.holds());
}

TEST_CASE("a task that is taken back is not in its launch any more", "[held_orders]") {
  HeldOrders held;
  CHECK(held.take_back({TaskId{1}}).empty());
  held.files_ordered(kFiles);
  LaunchTasks launch = Running::launch(1, {1, 2, 3});
  for (const char* address : {"a", "b"}) launch.resources.emplace_back()["gpu"] = {address};
  held.hold(StartTasks{launch});
  held.files_ordered(kFiles);
  held.hold(StartTasks{Running::launch(1, {4})});
  CHECK(held.take_back({TaskId{4}, TaskId{9}, TaskId{1}}) == std::vector{TaskId{1}, TaskId{4}});
  CHECK(held.take_back({TaskId{1}}).empty());
  CHECK(came(held) == "start 2 3 b\n");
  CHECK(came(held) == "start\n");
}

TEST_CASE("without a file all launches after it fail, and nothing else does", "[held_orders]") {
  HeldOrders held;
  held.files_ordered(kFiles);
  held.hold(KeepProgram{StageProgram{1, {}, {}}});
  held.hold(StartTasks{Running::launch(1, {1, 2})});
  held.files_ordered(kOthers);
  held.hold(StartTasks{Running::launch(1, {3})});
  held.hold(DropProgram{1});
  CHECK(held.take_back({TaskId{2}}) == std::vector{TaskId{2}});
  CHECK(did_not_come(held) ==
        "keep 1\n1: std::runtime_error: no connection\n3: std::runtime_error: no connection\n");
  CHECK(held.take_back({TaskId{1}}).empty());
  CHECK(came(held) == "drop 1\n");
  CHECK_FALSE(held.holds());
}

TEST_CASE("files that did not come are ordered again until they come", "[held_orders]") {
  HeldOrders held;
  CHECK(held.take_missing().empty());
  for (const AddFiles& files : {kFiles, kOthers}) held.files_ordered(files);
  CHECK(did_not_come(held).empty());
  CHECK(did_not_come(held).empty());
  const std::vector<AddFiles> missing = held.take_missing();
  CHECK(missing == std::vector{kFiles, kOthers});
  CHECK(held.take_missing().empty());
  for (const AddFiles& files : missing) held.files_ordered(files);
  held.hold(StartTasks{Running::launch(1, {1})});
  CHECK(did_not_come(held) == "1: std::runtime_error: no connection\n");
  CHECK(came(held).empty());
  CHECK(held.take_missing() == std::vector{kFiles});
  held.files_ordered(kFiles);
  held.hold(StartTasks{Running::launch(1, {2})});
  CHECK(came(held) == "start 2\n");
  CHECK(held.take_missing().empty());
}
