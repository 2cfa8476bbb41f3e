// What the master knows of a worker that is about to go.
#include <catch2/catch.hpp>

#include "tests/core/deploy/master/master_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;
using namespace tinderbox::core::test::of_master;

namespace {

/// A decommissioned worker with one executor, which still runs.
struct Decommissioned : Run {
  AppId app;
  Decommissioned() {
    from(1, worker_of("a"));
    app = add_app(100, app_of(4));
    from(1, change(app, 0, ExecutorState::Running));
    REQUIRE(worker("a").cores_used == 4);
    from(1, WorkerDecommissioning{{"worker-a"}});
    REQUIRE(worker("a").state == WorkerState::Decommissioned);
  }
};

}  // namespace

TEST_CASE("M20 an executor that ends on a decommissioned worker gives its cores back", "[master]") {
  Decommissioned r;
  CHECK(r.worker("a").cores_used == 4);
  auto out = r.from(1, change(r.app, 0, ExecutorState::Exited, 0));
  CHECK(to_worker<ExecutorStateAccepted>(out).size() == 1);
  CHECK(to_app<ExecutorUpdated>(out).empty());  // it was told when the worker was decommissioned
  CHECK(r.worker("a").cores_used == 0);
  CHECK(r.worker("a").memory_used_mib == 0);
}

TEST_CASE("M20 a decommissioned worker that comes back without its executors holds nothing",
          "[master]") {
  Decommissioned r;
  r.from(2, worker_of("a"));
  r.from(2, WorkerLatestState{{"worker-a"}, {}, {}});
  CHECK(r.worker("a").cores_used == 0);
}
