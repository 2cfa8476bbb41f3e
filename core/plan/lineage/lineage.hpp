// Untyped lineage: what the scheduler knows of an Rdd, and what executors rebuild to run it.
//
// A typed API object (core/api) owns a Node. The scheduler reads only the plain fields below; typed
// code overrides the virtual functions. A Node is immutable once published, but for its storage
// level, its checkpoint, and what the application says of it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/plan/references.hpp"
#include "net/types.hpp"

namespace tinderbox::net {
class Mutex;
}

namespace tinderbox::core {

struct Node;
struct Descriptor;
struct ResourceProfile;
using NodePtr = std::shared_ptr<const Node>;

/// Child partition p reads these partitions of `parent`.
struct NarrowDependency {
  NodePtr parent;
  enum class Kind : uint8_t { OneToOne, Range, Table } kind = Kind::OneToOne;
  int32_t out_start = 0, in_start = 0,
          length = 0;                       // Range: out_start+i reads in_start+i, i < length
  std::vector<std::vector<int32_t>> table;  // Table: table[p] = parent partitions of p
  /// Calls f(parent partition) for each that `p` reads, in order.
  template <class F>
  void each_parent(int32_t p, F&& f) const {
    if (kind == Kind::OneToOne)
      f(p);
    else if (kind == Kind::Range) {
      if (p >= out_start && p < out_start + length) f(p - out_start + in_start);
    } else
      for (int32_t q : table[static_cast<size_t>(p)]) f(q);
  }
};

/// Children read partition r of the shuffle: a piece of every map output.
/// Shape: num_maps = parent->num_partitions.
struct ShuffleDependency {
  ShuffleId id;
  NodePtr parent;
  int32_t num_reduces = 0;
  bool map_side_combine = false;
  bool key_ordering = false;
  bool aggregator = false;
  const Descriptor* writer = nullptr;  // runs as the map task's terminal operation
  Bytes writer_captured;
  References held;  // by writer_captured
};
using ShufflePtr = std::shared_ptr<const ShuffleDependency>;
using Dependency = std::variant<NarrowDependency, ShufflePtr>;

/// How keys map to partitions. Equal partitioners put equal keys into the same partition.
struct Partitioner {
  enum class Kind : uint8_t { Hash, Range, Custom } kind = Kind::Hash;
  int32_t num_partitions = 0;
  Bytes parameters;  // Range, Custom: the keys' type; then encoded bounds, or code and captured
                     // values
  References held;   // by those
  bool operator==(const Partitioner&) const = default;
};

/// Source: Spark StorageLevel.
struct StorageLevel {
  bool disk = false, memory = false, off_heap = false, deserialized = false;
  int32_t replication = 1;
  bool stored() const { return disk || memory; }
  bool operator==(const StorageLevel&) const = default;
};
/// Of what is kept without being asked for: pieces of broadcast variables, large results.
inline constexpr StorageLevel kMemoryAndDisk{.disk = true, .memory = true};

/// Where an Rdd was written, and what reads it from there.
struct Checkpoint {
  NodePtr node;           // takes the place of the Rdd in later jobs
  std::string directory;  // empty: executors keep it
};

enum class Determinism : uint8_t { Determinate, Unordered, Indeterminate };

/// One Rdd.
/// Shape: preferred[p] and source_data[p] are partition p's; either may be empty as a whole.
struct Node {
  RddId id;
  std::string name;       // MapPartitionsRDD, ShuffledRDD, … as Spark prints them
  std::string call_site;  // short form: "map at wordcount.cpp:12"
  int32_t num_partitions = 0;
  std::vector<Dependency> dependencies;
  std::optional<Partitioner> partitioner;
  std::vector<std::vector<std::string>> preferred;  // Spark's location strings
  std::vector<Bytes> source_data;  // travels with the task of its partition, never with the lineage
  References held;                 // by source_data
  bool order_sensitive = false;    // what it gives depends on the order of its input
  bool starts_barrier = false;     // its tasks run together or not at all
  // What follows from these and from the ancestors; see derive().
  Determinism determinism = Determinism::Determinate;
  bool barrier = false;  // the stage that computes it runs its tasks together
  /// Thread: set by the user's thread, read by the driver's loop when a job is submitted.
  mutable std::atomic<uint8_t> storage_bits{0};  // pack_level(StorageLevel)
  /// Ends with the node, and with it what is cached of it. Thread: the user's.
  mutable std::shared_ptr<const void> stored;
  /// What its stage needs, if it says so; owned by the application's Context. Thread: as above.
  mutable std::atomic<const ResourceProfile*> profile{nullptr};
  /// Null: none is written. Set once, before the driver's loop hears of it; owned by the node.
  /// Thread: set by the user's thread that wrote it, read by any.
  mutable std::atomic<const Checkpoint*> checkpoint{nullptr};
  /// What the application calls it; owned as above. Thread: the user's only.
  mutable std::atomic<const std::string*> label{nullptr};

  /// A lineage of any length ends in constant stack. Thread: whichever drops the last reference.
  virtual ~Node();
  /// Names the code that rebuilds this node on an executor. Null in nodes that only tests use.
  virtual const Descriptor* descriptor() const { return nullptr; }
  /// The values that travel with that code.
  virtual Bytes captured() const { return {}; }
  /// Adjacent partitions of it may be read as one: what they hold is what comes of a shuffle,
  /// record by record. See each_run().
  virtual bool has_runs() const { return false; }
};

/// The Rdd at the other end.
const NodePtr& parent_of(const Dependency& dependency);
/// Held by whoever walks along dependencies beside the driver's loop, which alone cuts them.
/// Nothing is locked, and no node ends, under it.
net::Mutex& lineage_mutex();
/// `node` lets go of its ancestors: its checkpoint is read instead. Thread: the driver's loop,
/// which runs nothing that reads them.
void cut_lineage(const Node& node);
/// Sets what follows from the dependencies of `node`, which are complete. Source: Spark
/// RDD.getOutputDeterministicLevel, RDD.isBarrier.
void derive(Node& node);

uint8_t pack_level(const StorageLevel& level);
StorageLevel unpack_level(uint8_t bits);

}  // namespace tinderbox::core
