// Rdd<T>: a distributed collection of T as its lineage. Operators are thin; actions run jobs.
//
// T is the type of what flows, which may be a view (text_file gives std::string_view). Functions
// given to operators run on executors: they capture nothing, or list what they need with
// capture(values..., lambda).
#pragma once

#include "core/api/input/files.hpp"
#include "core/api/input/record_files.hpp"
#include "core/api/input/sequence_file.hpp"
#include "core/api/input/sources.hpp"
#include "core/api/shared.hpp"
#include "core/api/steps/action.hpp"
#include "core/api/steps/by_key/joined.hpp"
#include "core/api/steps/by_key/partitioner.hpp"
#include "core/api/steps/by_key/sorted.hpp"
#include "core/api/steps/narrow/coalesce.hpp"
#include "core/api/steps/narrow/narrow.hpp"
#include "core/api/steps/narrow/pipe.hpp"
#include "core/api/steps/output.hpp"
#include "core/api/steps/transform.hpp"
#include "core/api/storage_levels.hpp"
#include "core/plan/lineage/preference.hpp"

namespace tinderbox {

namespace core {

/// What flows on of an element that a function returned: without what only its container needs.
template <class E>
struct RecordOf {
  using type = E;
};
template <class K, class V>
struct RecordOf<std::pair<const K, V>> {
  using type = std::pair<K, V>;
};
template <>
struct RecordOf<std::vector<bool>::reference> {
  using type = bool;
};

/// The range type that a flat_map function returns gives the type of what flows on.
template <class R>
struct ElementOf {
  static_assert(
      requires(R& range) { *range.begin(); },
      "the function must return a container of records, such as std::vector; to send them "
      "on one by one name their type: flat_map<U>([](auto record, auto& emit) {...})");
  using type = typename RecordOf<std::remove_cvref_t<decltype(*std::declval<R&>().begin())>>::type;
};
template <class R>
using Element = typename ElementOf<R>::type;

template <class K, class V>
struct PartitionByFirst;  // core/api/operations/pair_rdd.hpp

}  // namespace core

template <class T>
class Actions;  // core/api/operations/actions.hpp
template <class T>
class ApproximateActions;  // core/api/operations/approximate.hpp
template <class T>
class AsyncActions;  // core/api/operations/async.hpp
template <class T>
class NumericOperations;  // core/api/operations/numeric_rdd.hpp
template <class T>
class PairOperations;  // core/api/operations/pair_rdd.hpp
template <class T>
class PairSamples;  // core/api/operations/pair_samples.hpp
template <class T>
class RddBarrier;  // core/api/operations/barrier.hpp

template <class T>
class Rdd : public Actions<T>,
            public ApproximateActions<T>,
            public AsyncActions<T>,
            public NumericOperations<T>,
            public PairOperations<T>,
            public PairSamples<T> {
 public:
  using value_type = T;
  using NodeType = core::TypedNode<T>;
  Rdd(Context& context, std::unique_ptr<NodeType> node)
      : context_(&context),
        node_(std::static_pointer_cast<const NodeType>(core::share(std::move(node)))) {}

  // ---- transformations, record by record ----

  template <class F>
  auto map(F f, Site site = Site::current()) const {
    using Out = typename core::RecordOf<std::decay_t<core::Given<F, T>>>::type;
    static_assert(!std::is_void_v<Out>,
                  "map() needs a function that returns a record: foreach() is for others");
    if constexpr (!std::is_void_v<Out>) return op<Out, core::MapOp>(std::move(f), "map", site);
  }
  template <class F>
  Rdd filter(F f, Site site = Site::current()) const {
    static_assert(std::is_constructible_v<bool, core::Given<F, const T&>>,
                  "filter() needs a function that returns a bool");
    return op<T, core::FilterOp>(std::move(f), "filter", site, true);
  }
  /// flat_map(f): f(record) returns a container. flat_map<U>(f): f(record, emit) calls emit(U) any
  /// number of times.
  template <class U = void, class F>
  auto flat_map(F f, Site site = Site::current()) const {
    if constexpr (std::is_void_v<U>) {
      using Out = core::Element<core::Given<F, T>>;
      return op<Out, core::FlatMapOp>(std::move(f), "flatMap", site);
    } else {
      return op<U, core::EmitOp>(std::move(f), "flatMap", site);
    }
  }
  template <class F>
  auto key_by(F f, Site site = Site::current()) const {
    return op<std::pair<std::decay_t<core::Given<F, const T&>>, T>, core::MapOp>(
        core::KeyBy<F>{std::move(f)}, "keyBy", site);
  }

  // ---- transformations of whole partitions ----

  /// map_partitions(f): f(Partition<T>&) returns a container. map_partitions<U>(f): f(partition,
  /// emit) emits.
  template <class U = void, class F>
  auto map_partitions(F f, bool preserves_partitioning = false, Site site = Site::current()) const {
    if constexpr (std::is_void_v<U>) {
      using Out = core::Element<core::Given<F, Partition<T>&>>;
      return whole<Out>(core::ReturnAll<F>{std::move(f)}, "mapPartitions", site,
                        preserves_partitioning);
    } else {
      return whole<U>(core::EmitAll<F>{std::move(f)}, "mapPartitions", site,
                      preserves_partitioning);
    }
  }
  /// The same with the partition's index first.
  template <class U = void, class F>
  auto map_partitions_with_index(F f, bool preserves_partitioning = false,
                                 Site site = Site::current()) const {
    if constexpr (std::is_void_v<U>) {
      using Out = core::Element<core::Given<F, int32_t, Partition<T>&>>;
      return whole<Out>(core::ReturnIndexed<F>{std::move(f)}, "mapPartitionsWithIndex", site,
                        preserves_partitioning);
    } else {
      return whole<U>(core::EmitIndexed<F>{std::move(f)}, "mapPartitionsWithIndex", site,
                      preserves_partitioning);
    }
  }
  /// For map_partitions whose tasks start together and wait for each other.
  RddBarrier<T> barrier() const;
  /// One vector a partition.
  auto glom(Site site = Site::current()) const {
    return whole<std::vector<owned_t<T>>>(core::Glom{}, "glom", site, false);
  }

  /// Each record as a line through a program a partition: what it prints, line by line. `command`
  /// is split on white space. Errors: the task fails when the program cannot be started or ends
  /// with another code than 0.
  auto pipe(const std::string& command, PipeOptions options = {},
            Site site = Site::current()) const {
    return this->pipe(core::split_command(command), std::move(options), site);
  }
  auto pipe(std::vector<std::string> command, PipeOptions options = {},
            Site site = Site::current()) const {
    auto node = std::make_unique<core::PipeNode<T>>(std::move(command), std::move(options));
    return this->template make<std::string_view>(std::move(node), {"PipedRDD", "pipe", site},
                                                 {narrow()});
  }

  // ---- several Rdds ----

  Rdd union_with(const Rdd& other, Site site = Site::current()) const {
    return context_->union_all<T>({*this, other}, site);
  }
  /// Same number of partitions, same number of records in each.
  template <class U>
  Rdd<std::pair<T, U>> zip(const Rdd<U>& other, Site site = Site::current()) const {
    core::require_zippable(*node_, *other.node());
    auto node = std::make_unique<core::ZipNode<T, U>>();
    node->preferred = core::zipped_preference({node_.get(), other.node().get()});
    return make<std::pair<T, U>>(std::move(node), {"ZippedPartitionsRDD2", "zip", site},
                                 {narrow(), other.narrow()});
  }
  /// f(Partition<T>&, Partition<U>&, emit) over partitions of the same index.
  template <class Out, class U, class F>
  Rdd<Out> zip_partitions(const Rdd<U>& other, F f, bool preserves_partitioning = false,
                          Site site = Site::current()) const {
    return zip_all<Out>("ZippedPartitionsRDD2", std::move(f), preserves_partitioning, site, other);
  }
  template <class Out, class U, class V, class F>
  Rdd<Out> zip_partitions(const Rdd<U>& b, const Rdd<V>& c, F f,
                          bool preserves_partitioning = false, Site site = Site::current()) const {
    return zip_all<Out>("ZippedPartitionsRDD3", std::move(f), preserves_partitioning, site, b, c);
  }
  template <class Out, class U, class V, class W, class F>
  Rdd<Out> zip_partitions(const Rdd<U>& b, const Rdd<V>& c, const Rdd<W>& d, F f,
                          bool preserves_partitioning = false, Site site = Site::current()) const {
    return zip_all<Out>("ZippedPartitionsRDD4", std::move(f), preserves_partitioning, site, b, c,
                        d);
  }
  /// Numbers the records over all partitions. Runs a job when there are two partitions or more.
  Rdd<std::pair<T, int64_t>> zip_with_index(Site site = Site::current()) const {
    using Out = std::pair<T, int64_t>;
    std::vector<int64_t> starts(1);
    std::vector<int64_t> counts(static_cast<size_t>(std::max(num_partitions() - 1, 0)));
    act(core::CountRecords{}, core::partition_range(0, num_partitions() - 1), "zipWithIndex", site,
        [&](int32_t p, int64_t n) { counts[static_cast<size_t>(p)] = n; });
    for (const int64_t n : counts) starts.push_back(starts.back() + n);
    return stateful<Out>(core::NumberFrom{{std::move(starts)}}, "zipWithIndex", site, false);
  }
  /// The k-th record of partition i of n gets k·n + i. No job.
  Rdd<std::pair<T, int64_t>> zip_with_unique_id(Site site = Site::current()) const {
    return stateful<std::pair<T, int64_t>>(core::NumberApart{{num_partitions()}}, "zipWithUniqueId",
                                           site, false);
  }
  template <class U>
  Rdd<std::pair<T, U>> cartesian(const Rdd<U>& other, Site site = Site::current()) const {
    auto node = std::make_unique<core::CartesianNode<T, U>>();
    node->num_partitions = core::cartesian_partitions(num_partitions(), other.num_partitions());
    return make<std::pair<T, U>>(std::move(node), {"CartesianRDD", "cartesian", site},
                                 core::cartesian_dependencies(node_, other.node()));
  }

  // ---- choosing and regrouping records ----

  /// About `fraction` of the records, the same ones for the same seed.
  Rdd sample(bool with_replacement, double fraction, uint64_t seed = core::random_seed(),
             Site site = Site::current()) const {
    core::require_fraction(with_replacement, fraction);
    return stateful<T>(core::Sample{{with_replacement}, {fraction}, {seed}}, "sample", site, true,
                       true);
  }
  /// Disjoint parts in about these proportions.
  std::vector<Rdd> random_split(const std::vector<double>& weights,
                                uint64_t seed = core::random_seed(),
                                Site site = Site::current()) const {
    std::vector<Rdd> parts;
    for (const auto& [from, to] : core::split_bounds(weights)) {
      parts.push_back(
          stateful<T>(core::SplitCell{{from}, {to}, {seed}}, "randomSplit", site, true, true));
    }
    return parts;
  }
  /// Each value once; order is lost. n = 0: as many partitions as now.
  Rdd distinct(int32_t n = 0, Site site = Site::current()) const {
    const int32_t into = core::choose_count(n, num_partitions());
    if (partitioner() && into == num_partitions()) return distinct_in_place(site);
    return with_unit("distinct", site).reduce_by_key(core::KeepFirst{}, into, site).keys(site);
  }
  /// Without shuffle: fewer partitions, neighbours joined, or those that lie on one host. With
  /// shuffle: n even ones.
  Rdd coalesce(int32_t n, bool shuffle = false, Site site = Site::current()) const {
    require_positive(n, "Number of partitions (n) must be positive.");
    if (!shuffle) {
      auto node = std::make_unique<core::ChainNode<T>>();
      core::Coalesced made = core::coalesced(*node_, n);
      node->num_partitions = static_cast<int32_t>(made.groups.size());
      node->preferred = std::move(made.preferred);
      return make<T>(std::move(node), {"CoalescedRDD", "coalesce", site},
                     {core::NarrowDependency{.parent = node_,
                                             .kind = core::NarrowDependency::Kind::Table,
                                             .table = std::move(made.groups)}});
    }
    auto spread =
        stateful<std::pair<int32_t, T>>(core::RoundRobin{{n}}, "coalesce", site, false, true);
    return spread.partition_by(core::by_index_partitioner(n), site).values(site);
  }
  Rdd repartition(int32_t n, Site site = Site::current()) const { return coalesce(n, true, site); }
  /// In the order of f(record). Runs a job that samples the keys.
  template <class F>
  Rdd sort_by(F f, bool ascending = true, int32_t n = 0, Site site = Site::current()) const {
    return key_by(std::move(f), site).sort_by_key(ascending, n, site).values(site);
  }
  template <class F>
  auto group_by(F f, const core::Into& into = 0, Site site = Site::current()) const {
    return key_by(std::move(f), site).group_by_key(into, site);
  }
  /// Values that are in both, each once.
  Rdd intersection(const Rdd& other, const core::Into& into = 0,
                   Site site = Site::current()) const {
    return with_unit("intersection", site)
        .cogroup(other.with_unit("intersection", site), into, site)
        .filter(core::OnBothSides{}, site)
        .keys(site);
  }
  /// Records of this whose value is not in `other`.
  Rdd subtract(const Rdd& other, const core::Into& into = 0, Site site = Site::current()) const {
    const auto others = other.with_unit("subtract", site);
    if constexpr (core::kIs<T, std::pair>) {
      if (partitioner() &&
          (!into.told() || core::choose_partitioner(*context_, {}, into) == partitioner())) {
        using ByFirst = core::PartitionByFirst<typename T::first_type, typename T::second_type>;
        const auto by = ByFirst::make(*partitioner());
        return with_unit("subtract", site, by).subtract_by_key(others, by, site).keys(site);
      }
    }
    return with_unit("subtract", site).subtract_by_key(others, into, site).keys(site);
  }

  // ---- keeping ----

  /// Partitions are kept once they are computed. Errors: std::logic_error when it has another level
  /// already; after local_checkpoint() the new one takes its place, with the disk.
  const Rdd& persist(const StorageLevel& level = MEMORY_ONLY) const {
    context_->persist(node_, level);
    return *this;
  }
  const Rdd& cache() const { return persist(); }
  const Rdd& unpersist() const {
    context_->unpersist(node_);
    return *this;
  }
  /// What executors and tasks of the stages that compute it need, instead of what the settings say.
  /// A profile of task resources alone runs on the executors that there are; any other one needs
  /// dynamic allocation. Errors: std::invalid_argument when this cluster cannot have it.
  /// Source: Spark RDD.withResources.
  const Rdd& with_resources(const core::ResourceProfile& profile) const {
    context_->set_profile(node_, profile);
    return *this;
  }
  StorageLevel storage_level() const { return core::unpack_level(node_->storage_bits); }
  /// Written to the checkpoint directory after the next job that uses it; its lineage is cut there.
  void checkpoint(Site site = Site::current()) const {
    std::weak_ptr<const NodeType> weak = node_;
    context_->mark_checkpoint(
        node_, [context = context_, weak, site](const std::string& directory) -> core::NodePtr {
          const auto node = weak.lock();
          if (!node) return nullptr;
          return Rdd(context, node).write_checkpoint(directory, site);
        });
  }
  /// Its partitions are kept by the executors, whatever its level on disk too, and its lineage is
  /// cut after the next job that uses it. Faster than checkpoint(), but gone with an executor that
  /// is lost. When it was unpersisted meanwhile, that action throws std::logic_error and the
  /// lineage stays. Source: Spark RDD.localCheckpoint.
  const Rdd& local_checkpoint(Site site = Site::current()) const {
    std::weak_ptr<const NodeType> weak = node_;
    context_->mark_local_checkpoint(
        node_, [context = context_, weak, site](const std::string&) -> core::NodePtr {
          const auto node = weak.lock();
          if (!node) return nullptr;
          Rdd(context, node)
              .act(core::KeepPartition{}, core::all_partitions(*node), "localCheckpoint", site,
                   [](int32_t) {});
          return core::share(std::make_unique<core::LocalCheckpointNode<T>>(*node));
        });
    return *this;
  }
  bool is_checkpointed() const { return node_->checkpoint != nullptr; }
  /// Where checkpoint() has written it. Source: Spark RDD.getCheckpointFile.
  std::optional<std::string> checkpoint_file() const {
    const core::Checkpoint* written = node_->checkpoint;
    if (!written || written->directory.empty()) return {};
    return written->directory;
  }

  // ---- what it is ----

  RddId id() const { return node_->id; }
  /// Stands before its class in to_debug_string(); empty: none was set.
  std::string name() const {
    const std::string* label = node_->label;
    return label ? *label : std::string();
  }
  const Rdd& set_name(const std::string& name) const {
    context_->set_label(node_, name);
    return *this;
  }
  /// Its lineage in Spark's layout, a line an Rdd.
  std::string to_debug_string() const { return context_->debug_string(*node_); }
  int32_t num_partitions() const { return node_->num_partitions; }
  /// Those that the stage which computes it reads; for Context::submit_map_stage.
  std::vector<core::ShufflePtr> shuffles() const { return Context::shuffles_of(node_); }
  const std::optional<core::Partitioner>& partitioner() const { return node_->partitioner; }
  Context& context() const { return *context_; }

  // ---- for operators ----

  const std::shared_ptr<const NodeType>& node() const { return node_; }
  core::NarrowDependency narrow() const { return {.parent = node_, .table = {}}; }
  /// A new Rdd over `node`.
  template <class Out>
  Rdd<Out> make(std::unique_ptr<core::TypedNode<Out>> node, const Context::Making& making,
                std::vector<core::Dependency> dependencies) const {
    context_->adopt(*node, making, std::move(dependencies));
    return Rdd<Out>(*context_, std::move(node));
  }
  template <class Out, class Op, class F>
  Rdd<Out> op(F f, const char* operation, Site site, bool keeps_partitioner = false) const {
    auto node = std::make_unique<core::OpNode<T, Out, Op, F>>(std::move(f));
    if (keeps_partitioner) node->partitioner = node_->partitioner;
    return make<Out>(std::move(node), {"MapPartitionsRDD", operation, site}, {narrow()});
  }
  template <class Out, class F>
  Rdd<Out> whole(F f, const char* operation, Site site, bool keeps_partitioner) const {
    auto node = std::make_unique<core::PartitionsNode<Out, F, T>>(std::move(f));
    if (keeps_partitioner) node->partitioner = node_->partitioner;
    return make<Out>(std::move(node), {"MapPartitionsRDD", operation, site}, {narrow()});
  }
  template <class Out, class F>
  Rdd<Out> stateful(F f, const char* operation, Site site, bool keeps_partitioner,
                    bool order_sensitive = false) const {
    auto node = std::make_unique<core::StatefulNode<T, Out, F>>(std::move(f));
    if (keeps_partitioner) node->partitioner = node_->partitioner;
    node->order_sensitive = order_sensitive;
    return make<Out>(std::move(node), {"MapPartitionsRDD", operation, site}, {narrow()});
  }
  template <class F, class Handle>
  void act(const F& f, std::vector<int32_t> partitions, const char* operation, Site site,
           Handle&& handle) const {
    core::run_action<T>(*context_, node_, std::move(partitions), operation, site, f, handle);
  }
  std::vector<int32_t> all() const { return core::all_partitions(*node_); }

 private:
  template <class U>
  friend class Rdd;
  Rdd(Context* context, std::shared_ptr<const NodeType> node)
      : context_(context), node_(std::move(node)) {}

  template <class Out, class F, class... U>
  Rdd<Out> zip_all(const char* name, F f, bool preserves_partitioning, Site site,
                   const Rdd<U>&... others) const {
    (core::require_zippable(*node_, *others.node()), ...);
    using Call = core::EmitAll<F>;
    auto node = std::make_unique<core::PartitionsNode<Out, Call, T, U...>>(Call{std::move(f)});
    node->preferred = core::zipped_preference({node_.get(), others.node().get()...});
    if (preserves_partitioning) node->partitioner = partitioner();
    return make<Out>(std::move(node), {name, "zipPartitions", site},
                     {narrow(), others.narrow()...});
  }
  /// Every record as a key. `partitioner`: of these keys, if one is known.
  auto with_unit(const char* operation, Site site,
                 std::optional<core::Partitioner> partitioner = {}) const {
    using Out = std::pair<T, core::Unit>;
    using Node = core::OpNode<T, Out, core::MapOp, core::WithUnit>;
    auto node = std::make_unique<Node>(core::WithUnit{});
    node->partitioner = std::move(partitioner);
    return make<Out>(std::move(node), {"MapPartitionsRDD", operation, site}, {narrow()});
  }
  Rdd distinct_in_place(Site site) const {
    using Once = core::ReduceAggregator<core::Unit, core::KeepFirst>;
    const auto units = with_unit("distinct", site);
    auto node = std::make_unique<core::AggregatedNode<T, core::Unit, Once>>(false, Once{});
    node->partitioner = partitioner();
    return units
        .template make<std::pair<T, core::Unit>>(
            std::move(node), {"MapPartitionsRDD", "distinct", site}, {units.narrow()})
        .template op<T, core::MapOp>(core::FirstOf{}, "distinct", site, true);
  }
  core::NodePtr write_checkpoint(const std::string& directory, Site site) const {
    act(core::WriteCheckpointPart{{directory}}, all(), "checkpoint", site, [](int32_t) {});
    auto node = std::make_unique<core::CheckpointNode<T>>(directory);
    node->num_partitions = num_partitions();
    node->partitioner = node_->partitioner;
    context_->adopt(*node, {"ReliableCheckpointRDD", "checkpoint", site}, {});
    return core::share(std::move(node));
  }

  Context* context_;
  std::shared_ptr<const NodeType> node_;
};

template <class T>
Rdd<T> Context::parallelize(const std::vector<T>& values, int32_t slices, Site site) {
  if (slices == 0) slices = default_parallelism();
  require_positive(slices, "Positive number of partitions required");
  auto node = std::make_unique<core::ParallelizeNode<T>>();
  node->num_partitions = slices;
  const core::Holding holding(node->held);
  for (int32_t i = 0; i < slices; ++i) {
    Encoder out(node->source_data.emplace_back());
    const uint64_t end = core::slice_start(values.size(), i + 1, slices);
    for (uint64_t k = core::slice_start(values.size(), i, slices); k < end; ++k)
      core::encode<T>(out, values[k]);
  }
  adopt(*node, {"ParallelCollectionRDD", "parallelize", site}, {});
  return {*this, std::move(node)};
}

template <class T>
Rdd<T> Context::make_rdd(const std::vector<std::pair<T, std::vector<std::string>>>& values,
                         Site site) {
  auto node = std::make_unique<core::ParallelizeNode<T>>();
  node->num_partitions = static_cast<int32_t>(values.size());
  const core::Holding holding(node->held);
  for (const auto& [value, hosts] : values) {
    Encoder out(node->source_data.emplace_back());
    core::encode<T>(out, value);
    node->preferred.push_back(hosts);
  }
  adopt(*node, {"ParallelCollectionRDD", "makeRDD", site}, {});
  return {*this, std::move(node)};
}

template <class T>
Rdd<T> Context::object_file(const std::string& path, Site site) {
  auto node = std::make_unique<core::ObjectFileNode<T>>();
  for (const std::string& file : files_at(path)) node->source_data.push_back(core::to_bytes(file));
  node->num_partitions = static_cast<int32_t>(node->source_data.size());
  adopt(*node, {"MapPartitionsRDD", "objectFile", site}, {});
  return {*this, std::move(node)};
}

template <class K, class V>
Rdd<std::pair<K, V>> Context::sequence_file(const std::string& path, int32_t min_partitions,
                                            Site site) {
  auto node = std::make_unique<core::SequenceFileNode<K, V>>();
  node->source_data = sequence_splits(path, min_partitions);
  node->num_partitions = static_cast<int32_t>(node->source_data.size());
  adopt(*node, {"HadoopRDD", "sequenceFile", site}, {});
  return {*this, std::move(node)};
}

template <class T>
Rdd<T> Context::empty_rdd(Site site) {
  auto node = std::make_unique<core::ParallelizeNode<T>>();
  adopt(*node, {"EmptyRDD", "emptyRDD", site}, {});
  return {*this, std::move(node)};
}

template <class T>
Rdd<T> Context::union_all(const std::vector<Rdd<T>>& inputs, Site site) {
  std::vector<core::NodePtr> nodes;
  for (const auto& input : inputs) nodes.push_back(input.node());
  auto node = std::make_unique<core::ChainNode<T>>();
  const char* name = "UnionRDD";
  auto dependencies = core::union_dependencies(nodes, *node, name);
  adopt(*node, {name, "union", site}, std::move(dependencies));
  return {*this, std::move(node)};
}

}  // namespace tinderbox

#include "core/api/operations/actions.hpp"
#include "core/api/operations/approximate.hpp"
#include "core/api/operations/async.hpp"
#include "core/api/operations/barrier.hpp"
#include "core/api/operations/numeric_rdd.hpp"
#include "core/api/operations/pair_rdd.hpp"
#include "core/api/operations/pair_samples.hpp"
