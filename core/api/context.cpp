#include "core/api/context.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "conf/conf.hpp"
#include "conf/keys.hpp"
#include "conf/known_keys.hpp"
#include "conf/values/units.hpp"
#include "core/api/runtime/checkpoint_marks.hpp"
#include "core/api/runtime/input_paths.hpp"
#include "core/api/storage_levels.hpp"
#include "core/plan/bytes.hpp"
#include "core/plan/lineage/debug_string.hpp"
#include "core/plan/tasks/task.hpp"
#include "core/resources/resource_profile.hpp"
#include "core/scheduler/dag/stage_graph.hpp"
#include "core/status/status_tracker.hpp"
#include "net/files/files.hpp"
#include "net/log.hpp"
#include "net/mutex.hpp"
#include "net/process/environment.hpp"
#include "net/process/exec.hpp"

namespace tinderbox {
namespace {

using Properties = std::map<std::string, std::string>;

constexpr char kJobDescription[] = "spark.job.description";
constexpr char kInterrupt[] = "spark.job.interruptOnCancel";
constexpr char kCallSite[] = "callSite.short";
constexpr char kAllAncestors[] = "spark.checkpoint.checkpointAllMarkedAncestors";

/// Local properties of this thread by context. They end with the thread: one that comes later under
/// the same id has none.
std::map<int64_t, Properties>& own_properties() {
  thread_local std::map<int64_t, Properties> all;
  return all;
}

int64_t next_context() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

/// Source: Spark SparkContext.throwIfInvalidTag.
void check_tag(const std::string& tag) {
  if (tag.empty() || tag.find(',') != std::string::npos)
    throw std::invalid_argument("a job tag must not be empty or contain a comma, but was '" + tag +
                                "'");
}

}  // namespace

struct Context::State {
  explicit State(core::Runtime& r) : runtime(&r) {}
  void end(const std::function<void(core::Runtime&)>& what) {
    net::Lock lock(mutex);
    if (runtime) what(*runtime);
  }

  mutable net::Mutex mutex;
  core::Runtime* runtime GUARDED_BY(mutex);  // null: the context is gone
  const int64_t started_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(net::wall_clock().time_since_epoch())
          .count();
  const int64_t number = next_context();  // of the context among all of the process
  core::CheckpointMarks checkpoints;
  // Nodes point to these.
  std::set<core::ResourceProfile> profiles GUARDED_BY(mutex);
  std::set<std::string> labels GUARDED_BY(mutex);
  std::map<RddId, std::weak_ptr<const core::Node>> persistent GUARDED_BY(mutex);
  std::vector<std::string> files GUARDED_BY(mutex), archives GUARDED_BY(mutex);
};

std::string short_site(const char* operation, const Site& site) {
  std::string_view file = site.file_name();
  file = file.substr(file.rfind('/') + 1);
  return std::string(operation) + " at " + std::string(file) + ":" + std::to_string(site.line());
}

void require_positive(int32_t n, const char* message) {
  if (n <= 0) throw std::invalid_argument(message);
}

Context::Context(core::Runtime& runtime)
    : runtime_(runtime), state_(std::make_shared<State>(runtime)) {}

Context::~Context() {
  own_properties().erase(state_->number);
  net::Lock lock(state_->mutex);
  state_->runtime = nullptr;
}

int32_t Context::default_parallelism() const { return runtime_.default_parallelism(); }
int32_t Context::default_min_partitions() const { return std::min(default_parallelism(), 2); }

// ---- local properties ----

void Context::set_local_property(const std::string& key, std::optional<std::string> value) {
  Properties& mine = own_properties()[state_->number];
  if (value)
    mine[key] = std::move(*value);
  else
    mine.erase(key);
}

std::optional<std::string> Context::local_property(const std::string& key) const {
  const Properties mine = local_properties();
  const auto found = mine.find(key);
  return found == mine.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, std::string> Context::local_properties() const {
  const auto mine = own_properties().find(state_->number);
  return mine == own_properties().end() ? Properties() : mine->second;
}

void Context::set_local_properties(std::map<std::string, std::string> properties) {
  own_properties()[state_->number] = std::move(properties);
}

void Context::set_job_group(const std::string& id, const std::string& description,
                            bool interrupt_on_cancel) {
  set_local_property(core::kJobGroup, id);
  set_local_property(kJobDescription, description);
  set_local_property(kInterrupt, interrupt_on_cancel ? "true" : "false");
}

void Context::clear_job_group() {
  for (const char* key : {core::kJobGroup, kJobDescription, kInterrupt})
    set_local_property(key, std::nullopt);
}

void Context::set_job_description(const std::string& description) {
  set_local_property(kJobDescription, description);
}

std::vector<std::string> Context::job_tags() const { return core::job_tags(local_properties()); }

void Context::cancel_jobs_with_tag(const std::string& tag) {
  check_tag(tag);
  runtime_.cancel_jobs_with_tag(tag);
}

void Context::add_job_tag(const std::string& tag) {
  check_tag(tag);
  auto tags = job_tags();
  if (std::find(tags.begin(), tags.end(), tag) != tags.end()) return;
  const std::string old = local_property(core::kJobTags).value_or("");
  set_local_property(core::kJobTags, old.empty() ? tag : old + "," + tag);
}

void Context::remove_job_tag(const std::string& tag) {
  check_tag(tag);
  std::string left;
  for (const auto& t : job_tags()) {
    if (t != tag) left += (left.empty() ? "" : ",") + t;
  }
  set_local_property(core::kJobTags, left.empty() ? std::nullopt : std::optional(left));
}

void Context::clear_job_tags() { set_local_property(core::kJobTags, std::nullopt); }
void Context::set_interrupt_on_cancel(bool interrupt) {
  set_local_property(kInterrupt, interrupt ? "true" : "false");
}
void Context::set_call_site(const std::string& site) { set_local_property(kCallSite, site); }
void Context::clear_call_site() { set_local_property(kCallSite, std::nullopt); }
void Context::cancel_all_jobs() { runtime_.cancel_all_jobs(); }

namespace {

void check_number(int32_t executors, const char* what) {
  if (executors < 0)
    throw std::invalid_argument(std::string("Attempted to request a negative number of ") + what +
                                " " + std::to_string(executors) +
                                " from the cluster manager. Please specify a positive number!");
}

}  // namespace

bool Context::request_total_executors(int32_t executors) {
  check_number(executors, "executor(s)");
  return runtime_.request_executors(executors, true);
}
bool Context::request_executors(int32_t more) {
  check_number(more, "additional executor(s)");
  return runtime_.request_executors(more, false);
}
bool Context::kill_executors(const std::vector<ExecutorId>& executors) {
  if (runtime_.conf().get(conf::kDynamicAllocationEnabled))
    throw std::invalid_argument(
        "kill_executors() unsupported with Dynamic Resource Allocation turned on");
  return !executors.empty() && runtime_.kill_executors(executors);
}

// ---- lineage ----

void Context::adopt(core::Node& node, const Making& making,
                    std::vector<core::Dependency> dependencies) {
  if (core::TaskContext::current()) {
    throw std::logic_error(
        "RDD transformations and actions are NOT invoked by the driver, but inside of other "
        "transformations; "
        "collect what is needed first and pass it by capture() or broadcast(). For more "
        "information, see SPARK-5063.");
  }
  node.id = {next_rdd_++};
  node.name = making.name;
  node.call_site = call_site(making.operation, making.site);
  node.dependencies = std::move(dependencies);
  const auto* first = node.dependencies.empty()
                          ? nullptr
                          : std::get_if<core::NarrowDependency>(&node.dependencies[0]);
  if (first && first->kind == core::NarrowDependency::Kind::OneToOne)
    node.num_partitions = first->parent->num_partitions;
  core::derive(node);
}

std::string Context::call_site(const char* operation, const Site& site) const {
  const auto set = local_property(kCallSite);
  return set ? *set : short_site(operation, site);
}

std::shared_ptr<const void> Context::at_end(std::function<void(core::Runtime&)> end) const {
  using End = std::function<void(core::Runtime&)>;
  return std::shared_ptr<const End>(new End(std::move(end)), [state = state_](const End* e) {
    const std::unique_ptr<const End> last(e);
    state->end(*last);
  });
}

std::shared_ptr<core::ShuffleDependency> Context::new_shuffle(core::NodePtr parent) {
  auto forget = [state = state_](core::ShuffleDependency* shuffle) {
    const ShuffleId id = shuffle->id;
    delete shuffle;
    state->end([id](core::Runtime& runtime) { runtime.forget_shuffle(id); });
  };
  std::shared_ptr<core::ShuffleDependency> shuffle(
      std::make_unique<core::ShuffleDependency>().release(), forget);
  shuffle->id = {next_shuffle_++};
  shuffle->parent = std::move(parent);
  return shuffle;
}

/// What every job has, whatever it computes.
core::JobRequest Context::new_job(const char* operation, const Site& site) const {
  if (core::TaskContext::current()) {
    throw std::logic_error(
        "RDD transformations and actions are NOT invoked by the driver, but inside of other "
        "transformations; "
        "see SPARK-5063.");
  }
  core::JobRequest job;
  job.call_site = call_site(operation, site);
  job.properties = local_properties();
  net::Lock lock(state_->mutex);
  job.profiles = !state_->profiles.empty();
  return job;
}

std::vector<core::ShufflePtr> Context::shuffles_of(const core::NodePtr& node) {
  net::Lock lock(core::lineage_mutex());
  return core::shuffles_read_by(node);
}

MapOutputStatistics Context::submit_map_stage(const core::ShufflePtr& shuffle, Site site) {
  core::JobRequest job = new_job("submitMapStage", site);
  job.map_stage = shuffle;
  MapOutputStatistics statistics{shuffle->id, {}};
  runtime_.run_job(std::move(job), [&](int32_t, const Payload& bytes) {
    for (Decoder in(bytes.view()); !in.done();)
      statistics.bytes_by_partition.push_back(in.scalar<int64_t>());
  });
  return statistics;
}

void Context::run_job(core::NodePtr root, std::vector<int32_t> partitions, Action action,
                      const core::Runtime::OnResult& on_result) {
  core::JobRequest job = new_job(action.operation, action.site);
  for (const int32_t p : partitions) {
    if (p < 0 || p >= root->num_partitions) {
      throw std::invalid_argument(
          "Attempting to access a non-existent partition: " + std::to_string(p) +
          ". Total number of partitions: " + std::to_string(root->num_partitions));
    }
  }
  job.root = root;
  job.partitions = std::move(partitions);
  job.action = action.code;
  job.action_captured = std::move(action.captured);
  job.held = std::move(action.held);
  if (!job.partitions.empty()) runtime_.run_job(std::move(job), on_result);
  write_checkpoints(*root);
}

void Context::persist(const core::NodePtr& node, const core::StorageLevel& level) {
  const bool local = state_->checkpoints.is_local(*node);
  core::StorageLevel kept = level;
  kept.disk |= local;
  const uint8_t wanted = core::pack_level(kept), now = node->storage_bits;
  if (now != 0 && now != wanted && !local) {
    throw std::logic_error(
        "Cannot change storage level of an RDD after it was already assigned a level");
  }
  node->storage_bits = wanted;
  net::Lock lock(state_->mutex);
  std::erase_if(state_->persistent, [](const auto& entry) { return entry.second.expired(); });
  state_->persistent[node->id] = node;
  if (!node->stored)
    node->stored = at_end([id = node->id](core::Runtime& runtime) { runtime.unpersist(id); });
}

void Context::unpersist(const core::NodePtr& node) {
  node->storage_bits = 0;
  {
    net::Lock lock(state_->mutex);
    state_->persistent.erase(node->id);
  }
  // What tasks keep that run already goes with the node.
  runtime_.unpersist(node->id);
}

std::map<RddId, core::StorageLevel> Context::persistent_rdds() const {
  std::map<RddId, core::StorageLevel> all;
  std::vector<core::NodePtr> nodes;  // the end of a last one locks, too
  net::Lock lock(state_->mutex);
  for (const auto& [id, weak] : state_->persistent)
    if (nodes.emplace_back(weak.lock())) all[id] = core::unpack_level(nodes.back()->storage_bits);
  return all;
}

std::string Context::debug_string(const core::Node& node) const {
  return core::debug_string(node, [this](const core::Node& rdd) {
    const bool persisted = core::unpack_level(rdd.storage_bits).stored();
    const core::RddStorage held =
        persisted ? runtime_.status().rdd_storage(rdd.id) : core::RddStorage{};
    if (held.memory_bytes + held.disk_bytes == 0) return std::string();
    return "    CachedPartitions: " + std::to_string(held.cached_partitions) +
           "; MemorySize: " + conf::show_size(held.memory_bytes) +
           "; DiskSize: " + conf::show_size(held.disk_bytes);
  });
}

void Context::set_label(const core::NodePtr& node, const std::string& label) {
  net::Lock lock(state_->mutex);
  node->label = &*state_->labels.insert(label).first;
}

// ---- what it is ----

std::string_view Context::version() { return conf::kSparkVersion; }

int64_t Context::start_time() const { return state_->started_ms; }
void Context::set_log_level(const std::string& level) {
  const auto set = net::set_log_level(level);
  if (!set) throw std::invalid_argument(set.error().message);
}

void Context::add_file(const std::string& path) {
  runtime_.add_file(path, false);
  net::Lock lock(state_->mutex);
  state_->files.push_back(path);
}
void Context::add_archive(const std::string& path) {
  runtime_.add_file(path, true);
  net::Lock lock(state_->mutex);
  state_->archives.push_back(path);
}

namespace {

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace

std::vector<std::string> Context::list_files() const {
  net::Lock lock(state_->mutex);
  return joined(conf().get(conf::kFiles), state_->files);
}
std::vector<std::string> Context::list_archives() const {
  net::Lock lock(state_->mutex);
  return joined(conf().get(conf::kArchives), state_->archives);
}

// ---- resource profiles ----

namespace {

/// Source: Spark 4.3 ResourceProfileManager.isSupported.
void check_supported(const core::ResourceProfile& profile, const conf::Conf& conf) {
  const std::string master = conf.get(conf::kMaster);
  const bool cluster = !master.starts_with("local") || master.starts_with("local-cluster");
  if (profile.task_only() ? cluster : cluster && conf.get(conf::kDynamicAllocationEnabled)) return;
  if (profile.task_only())
    throw std::invalid_argument(
        "TaskResourceProfiles are only supported for standalone clusters: a resource profile has "
        "no effect with master " +
        master);
  throw std::invalid_argument(
      "ResourceProfiles are only supported for standalone clusters with dynamic allocation "
      "enabled: set spark.dynamicAllocation.enabled, or ask for task resources only");
}

}  // namespace

void Context::set_profile(const core::NodePtr& node, const core::ResourceProfile& profile) {
  const conf::Conf& conf = runtime_.conf();
  check_supported(profile, conf);
  auto usable = core::check_profile(profile, core::default_profile(conf));
  if (!usable) throw std::invalid_argument(usable.error().message);
  for (const std::string& line : *usable) net::log(net::Level::Warn, "Context", line);
  net::Lock lock(state_->mutex);
  node->profile = &*state_->profiles.insert(profile).first;
}

// ---- checkpoints ----

void Context::set_checkpoint_dir(const std::string& directory) {
  const auto need = [&](const auto& result) {
    if (result) return *result;
    throw std::runtime_error("Cannot use checkpoint directory " + directory + ": " +
                             result.error().message);
  };
  // One folder for each call: contexts share `directory`, and an application's id may come again.
  const std::string path = need(core::file_path(directory)) + "/" + net::unique_name();
  need(runtime_.files().make_directories(path));
  state_->checkpoints.set_directory(path);
}

void Context::mark_checkpoint(const core::NodePtr& node, core::CheckpointMarks::Write write) {
  const auto configured = runtime_.conf().get(conf::kCheckpointDir);
  if (configured && !state_->checkpoints.has_directory()) set_checkpoint_dir(*configured);
  state_->checkpoints.mark(node, std::move(write));
}

void Context::mark_local_checkpoint(const core::NodePtr& node, core::CheckpointMarks::Write write) {
  const conf::Conf& conf = runtime_.conf();
  if (conf.get(conf::kDynamicAllocationEnabled) &&
      conf.has(conf::kAllocationCachedIdleTimeout.spec))
    net::log(net::Level::Warn, "Context",
             "Local checkpointing is NOT safe to use with dynamic allocation, which removes "
             "executors along with their cached blocks: set "
             "spark.dynamicAllocation.cachedExecutorIdleTimeout to a high value, or use "
             "checkpoint()");
  if (!state_->checkpoints.mark_local(node, std::move(write))) return;
  const core::StorageLevel level = core::unpack_level(node->storage_bits);
  persist(node, level.stored() ? level : MEMORY_AND_DISK);
  // What is cached already would stay without the disk, and be lost where memory is short.
  if (level.stored() && !level.disk) runtime_.unpersist(node->id);
}

void Context::write_checkpoints(const core::Node& root) {
  const bool all = local_property(kAllAncestors) == "true";
  for (const RddId id : state_->checkpoints.to_write(root, all))
    if (const core::NodePtr written = state_->checkpoints.write(id, runtime_.files()))
      runtime_.checkpointed(written);
}

std::string shipped_file(const std::string& name) {
  const core::TaskContext* task = core::TaskContext::current();
  if (!task) throw std::logic_error("shipped_file(\"" + name + "\") was called outside of a task");
  return task->services->property(core::kFilesRoot).value_or(".") + "/" + name;
}

}  // namespace tinderbox
