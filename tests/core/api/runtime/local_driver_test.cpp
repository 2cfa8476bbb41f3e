// The typed API on a real driver with a local executor: what fails in user code, and what listeners
// hear of it.
#include <future>
#include <stdexcept>

#include "conf/keys.hpp"
#include "core/api/runtime/driver_runtime.hpp"
#include "core/api/tinderbox.hpp"
#include "net/mutex.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;

namespace {

bool in_task() { return core::TaskContext::current() != nullptr; }

struct AddCounts {
  void operator()(std::map<int, int>& into, const std::map<int, int>& more) const {
    for (const auto& [key, n] : more) into[key] += n;
  }
};
/// Adds in tasks, and throws on the driver.
struct AddInTasks {
  void operator()(int64_t& into, int64_t value) const {
    if (!in_task()) throw std::runtime_error("not here");
    into += value;
  }
};
/// Adds on the driver, and throws in tasks.
struct AddOnDriver {
  void operator()(int64_t& into, int64_t value) const {
    if (in_task()) throw std::runtime_error("not there");
    into += value;
  }
};

/// Has no bytes.
struct Unwritable {
  int value = 0;
  template <class Self>
  static auto record_fields(Self& self) {
    if (in_task()) throw std::logic_error("it is open");
    return std::tie(self.value);
  }
};

/// Its events are read after stop().
struct Heard : core::Listener {
  std::vector<core::ListenerEvent> all;
  void on_events(std::span<const core::ListenerEvent> events) override {
    all.insert(all.end(), events.begin(), events.end());
  }
  template <class E>
  std::vector<E> of() const {
    std::vector<E> found;
    for (const core::ListenerEvent& e : all)
      if (auto* one = std::get_if<E>(&e)) found.push_back(*one);
    return found;
  }
};

struct LocalDriver {
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  std::unique_ptr<core::DriverRuntime> runtime;
  Context context;
  explicit LocalDriver(const conf::Conf& conf = {}, const std::string& master = "local[2]")
      : runtime(core::DriverRuntime::start(
            conf.with(conf::kMaster, master).with(conf::kAppName, "test"), {heard})),
        context(*runtime) {}
};

/// Listens to nothing until it may.
struct Held : core::Listener {
  std::promise<void> may;
  std::shared_future<void> allowed = may.get_future().share();
  void on_events(std::span<const core::ListenerEvent>) override { allowed.wait(); }
};

/// At each end of a task: what that and all earlier ones added was in the accumulator, though the
/// thread that waits for the job is held at its first result until the first end was heard.
struct Sums : core::Listener {
  static inline std::promise<void> first_heard;
  LongAccumulator sum;
  int64_t told = 0;
  int ends = 0;
  bool merged = true;
  explicit Sums(LongAccumulator s) : sum(std::move(s)) {}
  void on_events(std::span<const core::ListenerEvent> events) override {
    for (const core::ListenerEvent& e : events) {
      const auto* end = std::get_if<core::TaskEnded>(&e);
      if (!end) continue;
      ++ends;
      told += sum.added(end->accumulators).value_or(0);
      merged = merged && sum.value() >= told;
      if (ends == 1) first_heard.set_value();
    }
  }
};

std::atomic<int> runs{0};
/// The first task that comes here fails.
int square_at_last(int x) {
  if (runs++ == 0) throw std::runtime_error("once");
  return x * x;
}

}  // namespace

TEST_CASE("the settings tell the id that the application was given", "[local_driver]") {
  LocalDriver d;
  REQUIRE_FALSE(d.context.application_id().empty());
  CHECK(d.context.conf().find("spark.app.id") == d.context.application_id());
}

TEST_CASE("D46 an accumulator whose add or merge throws leaves the others and the context usable",
          "[local_driver]") {
  LocalDriver d;
  auto good = d.context.long_accumulator("good");
  auto bad = d.context.accumulator(int64_t{0}, AddInTasks{}, "bad");
  auto worse = d.context.accumulator(int64_t{0}, AddOnDriver{}, "worse");
  const auto numbers = d.context.range(0, 10, 1, 2);
  numbers.foreach (capture(bad, good, [](const auto& b, const auto& g, int64_t) {
    b.add(int64_t{1});
    g.add(int64_t{1});
  }));
  CHECK(good.value() == 10);
  CHECK(bad.value() == 0);
  CHECK_THROWS_WITH(
      numbers.foreach (capture(worse, [](const auto& w, int64_t) { w.add(int64_t{1}); })),
      Catch::Contains("not there"));
  CHECK(numbers.count() == 10);
}

TEST_CASE("status shows those accumulators with a name that a stage's tasks added to",
          "[local_driver]") {
  struct JobEnd : core::Listener {
    std::promise<void> heard;
    void on_events(std::span<const core::ListenerEvent> events) override {
      for (const core::ListenerEvent& e : events)
        if (std::holds_alternative<core::JobEnded>(e)) heard.set_value();
    }
  };
  LocalDriver d;
  const auto end = std::make_shared<JobEnd>();
  d.context.add_listener(end);  // after the status, which has heard of the end when this one does
  auto lines = d.context.long_accumulator("lines");
  auto unnamed = d.context.long_accumulator();
  auto untouched = d.context.long_accumulator("untouched");
  auto mean = d.context.average_accumulator("mean");
  auto kinds = d.context.collection_accumulator<std::string>("kinds");
  auto odd = d.context.accumulator(std::map<int, int>{}, AddCounts{}, "odd");
  d.context.range(0, 4, 1, 1)
      .foreach (capture(
          lines, unnamed, mean, kinds, odd,
          [](const auto& l, const auto& u, const auto& m, const auto& k, const auto& o, int64_t x) {
            l.add(x), u.add(x), m.add(x);
            if (x % 2 == 1) k.add("k" + std::to_string(x)), o.add(std::map<int, int>{{1, 1}});
          }));
  end->heard.get_future().wait();
  const auto stage = d.context.status_tracker().stage_info(StageId{0});
  REQUIRE(stage);
  std::map<std::string, std::string> shown;
  for (const core::AccumulatorStatus& a : stage->accumulators) shown[a.name] = a.value;
  CHECK(shown == std::map<std::string, std::string>{
                     {"kinds", "[k1, k3]"}, {"lines", "6"}, {"mean", "1.5"}, {"odd", ""}});
  kinds = {};
  lines = {};  // status has what it was at last
  CHECK(d.context.status_tracker().stage_info(StageId{0})->accumulators.at(0) ==
        core::AccumulatorStatus{{0}, "lines", "6"});
}

TEST_CASE("D47 what throws over a result on the driver reaches the caller; the next job works",
          "[local_driver]") {
  LocalDriver d;
  const auto numbers = d.context.range(0, 8, 1, 4);
  CHECK_THROWS_WITH(numbers.reduce([](int64_t a, int64_t b) {
    if (!in_task()) throw std::out_of_range("the handler's own");
    return a + b;
  }),
                    "the handler's own");
  CHECK(numbers.reduce([](int64_t a, int64_t b) { return a + b; }) == 28);
}

TEST_CASE("D65 jobs whose tasks can't fetch end, one after the other; once is survived",
          "[local_driver]") {
  LocalDriver d;
  const auto grouped = d.context.range(0, 4, 1, 2)
                           .map([](int64_t x) { return std::pair<int64_t, int64_t>(x, 1); })
                           .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 2);
  const auto failing = [&](int32_t times) {
    return grouped.map(capture(grouped.shuffles()[0]->id.value, times,
                               [](int32_t shuffle, int32_t until, const auto& pair) {
                                 if (TaskContext::current()->stage_attempt < until) {
                                   core::FetchFailedException lost;
                                   lost.reason.kind = TaskEndKind::FetchFailed;
                                   lost.reason.shuffle = {shuffle};
                                   throw lost;
                                 }
                                 return pair.second;
                               }));
  };
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH(failing(1000).count(), Catch::Contains("FetchFailed"));
  CHECK(failing(1).count() == 4);
}

TEST_CASE("D67 each end of a task brings what it added, which is merged by then",
          "[local_driver]") {
  LocalDriver d;
  auto sum = d.context.long_accumulator("sum");
  const auto sums = std::make_shared<Sums>(sum);
  d.context.add_listener(sums);
  const auto added = d.context.range(1, 11, 1, 10).map(capture(sum, [](const auto& s, int64_t x) {
    s.add(x);
    return x;
  }));
  const auto heard = Sums::first_heard.get_future().share();
  static const std::shared_future<void>* first;
  first = &heard;
  CHECK(added.fold(int64_t{0}, [](int64_t a, int64_t b) {
    if (!in_task()) first->wait();
    return a + b;
  }) == 55);
  CHECK(sum.value() == 55);
  d.runtime->stop();
  CHECK(sums->ends == 10);
  CHECK(sums->told == 55);
  CHECK(sums->merged);
}

TEST_CASE("T53 a result that can't be encoded fails its job at the first attempt",
          "[local_driver]") {
  LocalDriver d;
  const auto open = d.context.range(0, 2, 1, 1).map([](int64_t) { return Unwritable(); });
  const std::string why =
      "Task 0 in stage 0.0 had a not serializable result: it is open; not retrying";
  SECTION("collect") { CHECK_THROWS_WITH(open.collect(), Catch::Contains(why)); }
  SECTION("take") { CHECK_THROWS_WITH(open.take(1), Catch::Contains(why)); }
  SECTION("reduce") {
    CHECK_THROWS_WITH(open.reduce([](Unwritable a, Unwritable) { return a; }),
                      Catch::Contains(why));
  }
  CHECK(d.context.range(0, 2).count() == 2);
  d.runtime->stop();
  const std::vector<core::TaskEnded> ends = d.heard->of<core::TaskEnded>();
  REQUIRE_FALSE(ends.empty());
  CHECK(ends[0].reason->kind == TaskEndKind::ExceptionFailure);
  CHECK(ends[0].reason->class_name == "tinderbox::core::NotSerializableException");
  CHECK_THAT(ends[0].reason->stack, Catch::Contains("Caused by: std::logic_error: it is open"));
  CHECK(d.heard->of<core::StageSubmitted>()[1].stage.stage.value == 1);
}

TEST_CASE("D79 sorting nothing runs no map task", "[local_driver]") {
  LocalDriver d;
  CHECK(d.context.empty_rdd<int>().sort_by([](int x) { return x; }).collect().empty());
  d.runtime->stop();
  for (const core::StageSubmitted& s : d.heard->of<core::StageSubmitted>())
    CHECK(s.stage.shuffle.value < 0);
  CHECK(d.heard->of<core::TaskStarted>().size() <= 1);
  CHECK(d.heard->of<core::ApplicationEnded>().size() == 1);
}

TEST_CASE("events that find the listeners' queue full are dropped", "[local_driver]") {
  const bool bounded = GENERATE(true, false);
  LocalDriver d(conf::Conf{}.with("spark.scheduler.listenerbus.eventqueue.capacity",
                                  bounded ? "20" : "10000"));
  const auto held = std::make_shared<Held>();
  d.context.add_listener(held);
  CHECK(d.context.range(0, 200, 1, 200).count() == 200);
  held->may.set_value();
  d.runtime->stop();
  CHECK((d.heard->of<core::TaskEnded>().size() < 200) == bounded);
}

TEST_CASE("B17 a task that fails once runs again: in a job, behind a shuffle, before one",
          "[local_driver]") {
  LocalDriver driver({}, "local[1,2]");
  auto numbers = driver.context.parallelize(std::vector{1, 2, 3}, 3);
  runs = 0;
  CHECK(numbers.map([](int x) { return square_at_last(x); }).collect() == std::vector{1, 4, 9});
  CHECK(runs == 4);
  auto keyed = numbers.map([](int x) { return std::pair(x, x); });
  runs = 0;
  auto behind = keyed.group_by_key(3)
                    .map([](const auto& group) { return square_at_last(group.first); })
                    .collect();
  std::sort(behind.begin(), behind.end());
  CHECK(behind == std::vector{1, 4, 9});
  CHECK(runs == 4);
  runs = 0;
  const auto before =
      numbers.map([](int x) { return std::pair(x, square_at_last(x)); }).partition_by(2);
  driver.context.submit_map_stage(before.shuffles().at(0));
  CHECK(runs == 4);
  CHECK(before.values().sum() == 14);
  CHECK(runs == 4);
}

TEST_CASE("B18 a task that always fails fails its job, and the next one too", "[local_driver]") {
  LocalDriver driver({}, "local[2,2]");
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_WITH(driver.context.parallelize(std::vector{1, 2, 3}, 3)
                          .map([](int) -> int { throw std::runtime_error("always"); })
                          .count(),
                      Catch::Contains("failed 2 times") && Catch::Contains("always"));
  CHECK(driver.context.range(0, 5).count() == 5);
}

TEST_CASE("threads may look at a lineage while a checkpoint cuts it", "[local_driver]") {
  LocalDriver d;
  for (int round = 0; round < 20; ++round) {
    const auto sums = d.context.range(0, 100, 1, 4)
                          .map([](int64_t x) { return std::pair(x % 7, x); })
                          .reduce_by_key([](int64_t a, int64_t b) { return a + b; }, 3);
    const auto values = sums.values();
    sums.local_checkpoint();
    const auto is_cut = [&] {
      net::Lock lock(core::lineage_mutex());
      return sums.node()->dependencies.empty();
    };
    auto looking = std::async(std::launch::async, [&] {
      int64_t total = 0;
      while (!is_cut()) {
        if (values.to_debug_string().empty() || values.shuffles().size() > 1) return int64_t{-1};
        total = values.coalesce(1).sum();
      }
      return total;
    });
    CHECK(sums.count() == 7);
    const int64_t total = looking.get();
    CHECK((total == 4950 || total == 0));
    CHECK(values.sum() == 4950);
  }
}

TEST_CASE("R31 an action after the end throws, whenever its Rdd was made", "[local_driver]") {
  LocalDriver d;
  const auto numbers = d.context.range(0, 10, 1, 2);
  CHECK(numbers.count() == 10);
  auto shared = d.context.broadcast(std::string("known to all"));
  d.runtime->stop();
  const std::string why = "SparkContext has been shutdown";
  CHECK_THROWS_WITH(numbers.count(), why);
  CHECK_THROWS_WITH(numbers.count_async().get(), why);
  CHECK_THROWS_WITH(d.context.range(0, 10).collect(), why);
  CHECK_THROWS_WITH(d.context.add_file("/etc/hostname"), why);
  CHECK_THROWS_WITH(d.context.add_archive("/opt/a.tgz"), why);
  CHECK_NOTHROW(shared.unpersist());
  CHECK_NOTHROW(shared.destroy());
}

TEST_CASE("within a process the tasks of a barrier may say more than a message may have",
          "[local_driver]") {
  LocalDriver d(conf::Conf{}.with("spark.rpc.message.maxSize", "1"));
  const auto sizes =
      d.context.range(0, 2, 1, 2).barrier().map_partitions<int64_t>([](auto&, auto& emit) {
        const std::string own(2 << 20, 'x');
        for (const std::string& said : BarrierTaskContext::get().all_gather(own))
          emit(static_cast<int64_t>(said.size()));
      });
  CHECK(sizes.collect() == std::vector<int64_t>(4, 2 << 20));
}
