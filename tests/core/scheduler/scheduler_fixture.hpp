// A Driver machine with executors that do what the test says, over virtual time.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/bytes.hpp"
#include "core/scheduler/driver.hpp"
#include "core/shuffle/blocks/map_status.hpp"

namespace tinderbox::core::scheduling {

using namespace std::chrono_literals;

/// Spark's defaults, with launch-ahead and the limits that a test asks for.
inline DriverOptions test_options(int32_t launch_ahead = 0) {
  DriverOptions o;
  o.app = AppId{"app-1"};
  o.build_id = "b1";
  o.code_hash = "c1";
  o.properties = {{"spark.app.name", "test"}};
  o.driver_block_address = "driver:7079";
  o.task_cpus = 1;
  o.max_task_failures = 4;
  o.launch_ahead = launch_ahead;
  o.max_consecutive_attempts = 4;
  o.max_stage_attempts = 1 << 30;
  o.max_cancelled_groups = 1000;
  o.locality_wait_process = o.locality_wait_node = 3s;
  o.reduce_locality = true;
  o.revive_interval = 1s;
  o.starvation_timeout = 15s;
  o.remove_delay = 5s;
  o.executor_timeout = 120s;
  o.executor_check_interval = 60s;
  o.max_result_size = int64_t{1} << 30;
  o.max_message_size = int64_t{128} << 20;
  o.barrier.sync_timeout = 24h * 365;
  o.barrier.slots_interval = 15s;
  o.barrier.slots_max_failures = 40;
  return o;
}

inline ProgramCodec test_codec() {
  return {[](const Node& root, const Descriptor*, std::string_view) {
            return "program of " + std::to_string(root.id.value);
          },
          [](const Node& root, int32_t p) {
            return root.source_data.empty() ? Bytes{} : root.source_data[static_cast<size_t>(p)];
          }};
}

// ---- lineage in one line -----------------------------------------------------------------------

inline int32_t& next_rdd() {
  static int32_t n = 0;
  return n;
}
inline int32_t& next_shuffle() {
  static int32_t n = 0;
  return n;
}
using Locations = std::vector<std::vector<std::string>>;

inline std::shared_ptr<Node> rdd(int32_t partitions, std::vector<Dependency> deps = {},
                                 Locations preferred = {}) {
  auto node = std::make_shared<Node>();
  node->id = RddId{next_rdd()++};
  node->name = "MapPartitionsRDD";
  node->call_site = "rdd at test";
  node->num_partitions = partitions;
  node->dependencies = std::move(deps);
  node->preferred = std::move(preferred);
  return node;
}
inline Dependency narrow(NodePtr parent) {
  return NarrowDependency{std::move(parent), NarrowDependency::Kind::OneToOne, 0, 0, 0, {}};
}
inline ShufflePtr shuffle(NodePtr parent, int32_t reduces) {
  ShuffleDependency s;
  s.id = ShuffleId{next_shuffle()++};
  s.parent = std::move(parent);
  s.num_reduces = reduces;
  return std::make_shared<const ShuffleDependency>(std::move(s));
}

/// A location string: an executor on its host.
inline std::string at(const std::string& host, const std::string& executor) {
  return "executor_" + host + "_" + executor;
}

// ---- the cluster -------------------------------------------------------------------------------

/// Those of one kind among events or effects, in order.
template <class T, class Variants>
std::vector<T> of_kind(const Variants& all) {
  std::vector<T> v;
  for (const auto& one : all)
    if (const T* x = std::get_if<T>(&one)) v.push_back(*x);
  return v;
}

/// An attempt as the executor got it.
struct Sent {
  TaskId id;
  std::string executor;
  StageId stage;
  int32_t stage_attempt = 0;
  int32_t index = 0, partition = 0, number = 0;
  int64_t epoch = 0;
  bool ended = false;
};

/// What the thread does that has written `node`, before the driver hears of it.
inline void write_checkpoint(const NodePtr& node, NodePtr as) {
  node->checkpoint = new Checkpoint{std::move(as), "/checkpoints"};
}

class Cluster {
 public:
  explicit Cluster(DriverOptions options, ProgramCodec codec = test_codec())
      : launch_ahead(options.launch_ahead), driver(std::move(options), std::move(codec)) {}
  /// Wherever a test ends: when its jobs are cancelled and what ran has ended, nothing is left.
  ~Cluster() {
    if (std::uncaught_exceptions() > 0) return;
    on(CancelAllJobs{});
    while (!fetching.empty()) on(ResultFetched{fetching.front(), Error{"the test is over"}});
    answer_revocations();
    for (const Sent& s : live()) killed(s);
    CHECK(driver.idle_state_is_clean());
  }

  // -- events --
  template <class E>
  void on(E event) {
    DriverEffects out;
    if constexpr (std::is_same_v<E, ResultFetched>) std::erase(fetching, event.task);
    driver.on(DriverEvent(std::move(event)), now, out);
    last = out;
    for (DriverEffect& e : out) std::visit([&](auto& effect) { carry_out(effect); }, e);
  }
  template <class M>
  void from(const std::string& executor, M message) {
    on(Received<ToDriver>{peers.at(executor), ToDriver(std::move(message))});
  }
  void advance(Duration d) {
    const Time until = now + d;
    for (;;) {
      auto due = timers.end();
      for (auto it = timers.begin(); it != timers.end(); ++it)
        if (it->first <= until && (due == timers.end() || it->first < due->first)) due = it;
      if (due == timers.end()) break;
      const DriverTimer timer = due->second;
      now = std::max(now, due->first);
      timers.erase(due);
      on(timer);
    }
    now = until;
  }

  // -- executors --
  /// Its host is "h" + its id unless given.
  void executor(const std::string& id, int32_t cores = 4, std::string host = "") {
    hello(id);
    registers(id, cores, host);
    from(id, ExecutorReady{ExecutorId{id}});
  }
  void hello(const std::string& id) {
    peers[id] = ++next_peer;
    from(id, ExecutorHello{Identity{"", AppId{"app-1"}, 0, ""}, ExecutorId{id}, "b1", "c1"});
  }
  void registers(const std::string& id, int32_t cores = 4, std::string host = "") {
    hosts[id] = host.empty() ? "h" + id : host;
    RegisterExecutor m;
    m.id = ExecutorId{id};
    m.host = hosts[id];
    m.block_address = hosts[id] + ":7079";
    m.cores = cores;
    m.local_dirs = {"/tmp/" + id};
    from(id, m);
  }
  /// Its process ended with `code`; none: nobody knows how.
  void lose(const std::string& id, std::optional<int32_t> code = 1, std::string worker_host = "") {
    for (Sent& s : sent)
      if (s.executor == id) s.ended = true;
    on(BackendExecutorExited{ExecutorId{id}, code, "Command exited with code", worker_host});
  }
  BlockManagerId place(const std::string& id) const {
    return {ExecutorId{id}, hosts.at(id), hosts.at(id) + ":7079"};
  }

  // -- jobs --
  uint64_t job(NodePtr root, std::vector<int32_t> partitions,
               std::map<std::string, std::string> properties = {}) {
    JobRequest r;
    r.ticket = ++next_ticket;
    r.root = std::move(root);
    r.partitions = std::move(partitions);
    r.properties = std::move(properties);
    r.call_site = "";
    on(SubmitJob{std::move(r)});
    return next_ticket;
  }
  uint64_t job(NodePtr root) {
    std::vector<int32_t> all;
    for (int32_t p = 0; p < root->num_partitions; ++p) all.push_back(p);
    return job(std::move(root), all);
  }
  uint64_t map_stage_job(ShufflePtr shuffle) {
    JobRequest r;
    r.ticket = ++next_ticket;
    r.map_stage = std::move(shuffle);
    on(SubmitJob{std::move(r)});
    return next_ticket;
  }
  /// What a map-stage job gave: estimated bytes by reducer.
  std::vector<int64_t> statistics(uint64_t ticket) const {
    std::vector<int64_t> bytes;
    const std::string& result = results.at(ticket).at(0);
    for (Decoder in(result); !in.done();) bytes.push_back(in.scalar<int64_t>());
    return bytes;
  }
  bool ended(uint64_t ticket) const { return ends.contains(ticket); }
  std::string error(uint64_t ticket) const { return ends.at(ticket).error; }

  // -- tasks --
  /// Attempts sent and not ended, in order; of one stage, of one stage attempt.
  std::vector<Sent> live(int32_t stage = -1, int32_t attempt = -1) const {
    std::vector<Sent> v;
    for (const Sent& s : sent)
      if (!s.ended && (stage < 0 || s.stage.value == stage) &&
          (attempt < 0 || s.stage_attempt == attempt))
        v.push_back(s);
    return v;
  }
  std::vector<int32_t> live_partitions(int32_t stage, int32_t attempt) const {
    std::vector<int32_t> v;
    for (const Sent& s : live(stage, attempt)) v.push_back(s.partition);
    std::sort(v.begin(), v.end());
    return v;
  }
  std::vector<std::string> preferred_hosts(int32_t stage, int32_t index) {
    std::vector<std::string> v;
    const TaskSet* set = driver.tasks().task_set(StageId{stage}, 0);
    REQUIRE(set);
    for (const Place& p : set->spec().places.of(index))
      v.push_back(driver.executors().host_name(p.host));
    return v;
  }
  Sent task(int32_t stage, int32_t attempt, int32_t partition) const {
    for (const Sent& s : live(stage, attempt))
      if (s.partition == partition) return s;
    FAIL("no live task for partition " << partition << " of stage " << stage << "." << attempt);
    return {};
  }
  /// The first live one there.
  Sent one_on(const std::string& executor) const {
    for (const Sent& s : live())
      if (s.executor == executor) return s;
    FAIL("no live task on " << executor);
    return {};
  }
  Sent by_id(TaskId id) const {
    for (const Sent& s : sent)
      if (s.id == id) return s;
    FAIL("no task " << id.value);
    return {};
  }
  TaskUpdate result(const Sent& s, std::string value) const {
    TaskUpdate u;
    u.id = s.id;
    u.state = TaskState::Finished;
    u.result = Payload(std::move(value));
    return u;
  }
  TaskUpdate output(const Sent& s, std::vector<int64_t> sizes = {1, 1, 1, 1, 1, 1, 1, 1}) const {
    TaskUpdate u;
    u.id = s.id;
    u.state = TaskState::Finished;
    u.map_status = MapStatus{place(s.executor), s.id.value, encode_sizes(sizes), 1};
    u.metrics = TaskMetrics{};
    return u;
  }
  void update(const Sent& s, TaskUpdate u) {
    for (Sent& x : sent)
      if (x.id == s.id && u.state != TaskState::Running) x.ended = true;
    from(s.executor, StatusUpdates{{std::move(u)}});
  }
  void succeed(const Sent& s, std::string value) { update(s, result(s, std::move(value))); }
  void map_ok(const Sent& s, std::vector<int64_t> sizes = {1, 1, 1, 1, 1, 1, 1, 1}) {
    update(s, output(s, std::move(sizes)));
  }
  void running(const Sent& s) {
    TaskUpdate u;
    u.id = s.id;
    update(s, u);
  }
  void fail(const Sent& s, TaskEndReason reason, TaskState state = TaskState::Failed) {
    TaskUpdate u;
    u.id = s.id;
    u.state = state;
    u.reason = std::move(reason);
    update(s, std::move(u));
  }
  void fail(const Sent& s, std::string description = "boom") {
    TaskEndReason r;
    r.kind = TaskEndKind::ExceptionFailure;
    r.class_name = "std::runtime_error";
    r.description = std::move(description);
    fail(s, r);
  }
  void killed(const Sent& s, std::string description = "") {
    TaskEndReason r;
    r.kind = TaskEndKind::TaskKilled;
    r.description = std::move(description);
    fail(s, r, TaskState::Killed);
  }
  /// A reduce task could not get map `map_index` of `shuffle` from `executor` ("" : no status at
  /// all).
  void fetch_failed(const Sent& s, ShuffleId shuffle, int32_t map_index,
                    const std::string& executor) {
    TaskEndReason r;
    r.kind = TaskEndKind::FetchFailed;
    r.shuffle = shuffle;
    r.reduce = s.partition;
    r.description = "ignored";
    if (!executor.empty()) {
      r.map_index = map_index;
      r.map_id = 0;
      r.address = place(executor);
    }
    fail(s, r);
  }
  void maps_ok(int32_t stage, int32_t attempt = 0) {
    for (const Sent& s : live(stage, attempt)) map_ok(s);
  }
  /// Exactly these run in that attempt, and succeed.
  void maps_ok(int32_t stage, int32_t attempt, const std::vector<int32_t>& partitions) {
    CAPTURE(stage, attempt);
    CHECK(live_partitions(stage, attempt) == partitions);
    maps_ok(stage, attempt);
  }
  void results_ok(int32_t stage, int32_t attempt = 0) {
    for (const Sent& s : live(stage, attempt)) succeed(s, std::to_string(42 + s.partition));
  }

  // -- what was seen --
  template <class E>
  std::vector<E> seen() const {
    return of_kind<E>(events);
  }
  template <class E>
  std::vector<E> effects() const {
    return of_kind<E>(last);
  }
  template <class M>
  std::vector<M> messages(const std::string& executor = "") const {
    std::vector<M> v;
    for (const Send<ToExecutor>& s : effects<Send<ToExecutor>>())
      if (const M* m = std::get_if<M>(&s.message))
        if (executor.empty() || peers.at(executor) == s.to) v.push_back(*m);
    return v;
  }
  /// Stages with a completion, failed or not, in order.
  std::vector<int32_t> completed(bool failed) const {
    std::vector<int32_t> v;
    for (const StageCompleted& e : seen<StageCompleted>())
      if (e.stage.failure_reason.empty() != failed) v.push_back(e.stage.stage.value);
    return v;
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> v;
    for (const Log& l : logs)
      if (l.level == Level::Warn) v.push_back(l.line);
    return v;
  }
  int32_t resubmitted() const {
    int32_t n = 0;
    for (const TaskEnded& e : seen<TaskEnded>()) n += e.kind() == TaskEndKind::Resubmitted;
    return n;
  }
  /// One task after another succeeds, and what is asked back is given at once, until none is left.
  void drain() {
    for (int guard = 0; guard < 10000; ++guard) {
      answer_revocations();
      if (live().empty()) return;
      succeed(live()[0], "x");
    }
  }
  /// All tasks succeed and what is asked back is given, round after round, until the job is over.
  void finish(uint64_t ticket, Duration pause = {}) {
    for (int guard = 0; guard < 1000 && !ended(ticket); ++guard) {
      for (const Sent& s : live()) succeed(s, "x");
      answer_revocations();
      if (pause > Duration{}) advance(pause);
    }
    REQUIRE(ended(ticket));
  }
  void answer_revocations() {
    while (!revocations.empty()) {
      const auto [executor, tasks] = revocations.front();
      revocations.pop_front();
      for (Sent& s : sent)
        if (std::find(tasks.begin(), tasks.end(), s.id) != tasks.end()) s.ended = true;
      from(executor, TasksRevoked{tasks});
    }
  }

  int32_t launch_ahead;
  Time now{std::chrono::duration_cast<Duration>(1000s)};
  Driver driver;
  DriverEffects last;
  std::vector<ListenerEvent> events;
  std::vector<Sent> sent;
  std::vector<Log> logs;
  std::map<uint64_t, std::map<int32_t, std::string>> results;
  std::map<uint64_t, DeliverJobEnd> ends;
  std::vector<AccumulatorUpdate> accumulated;
  std::deque<TaskId> fetching;     // results in blocks
  std::vector<std::string> kills;  // executors that the cluster manager was asked to end
  std::vector<std::pair<Time, DriverTimer>> timers;
  std::deque<std::pair<std::string, std::vector<TaskId>>> revocations;
  /// Blocks of decommissioned executors, and who is to take them.
  struct Take {
    std::string executor;
    TakeBlock what;
  };
  std::deque<Take> takes;
  std::map<std::string, PeerId> peers;
  std::map<std::string, std::string> hosts;
  PeerId next_peer = 100;
  uint64_t next_ticket = 0;

 private:
  std::string name_of(PeerId peer) const {
    for (const auto& [name, p] : peers)
      if (p == peer) return name;
    return {};
  }
  void carry_out(Send<ToExecutor>& s) {
    if (const auto* m = std::get_if<LaunchTasks>(&s.message))
      for (const TaskLaunch& t : m->tasks)
        sent.push_back({t.id, name_of(s.to), m->stage, m->stage_attempt, t.index, t.partition,
                        t.attempt, m->epoch, false});
    if (const auto* m = std::get_if<RevokeTasks>(&s.message))
      revocations.emplace_back(name_of(s.to), m->tasks);
    if (const auto* m = std::get_if<TakeBlock>(&s.message)) takes.push_back({name_of(s.to), *m});
  }
  void carry_out(After<DriverTimer>& a) { timers.emplace_back(now + a.delay, a.event); }
  void carry_out(Log& l) { logs.push_back(l); }
  void carry_out(DeliverResult& r) {
    REQUIRE_FALSE(ends.contains(r.ticket));
    REQUIRE(results[r.ticket].emplace(r.position, std::string(r.value.view())).second);
  }
  void carry_out(DeliverJobEnd& e) { REQUIRE(ends.emplace(e.ticket, e).second); }
  void carry_out(ApplyAccumulators& a) {
    accumulated.insert(accumulated.end(), a.updates.begin(), a.updates.end());
  }
  void carry_out(FetchResult& f) { fetching.push_back(f.task); }
  void carry_out(KillBackendExecutor& k) { kills.push_back(k.executor.value); }
  void carry_out(Publish& p) { events.insert(events.end(), p.events.begin(), p.events.end()); }
  template <class T>
  void carry_out(T&) {}
};

}  // namespace tinderbox::core::scheduling
