// A stage as bytes: the table of nodes that its tasks pipe through, and the terminal operation.
// Encoded on the driver, rebuilt once an executor and stage attempt. Uses the record codec, not
// msgpack.
#pragma once

#include <memory>
#include <vector>

#include "core/plan/lineage/lineage.hpp"
#include "core/plan/tasks/task.hpp"

namespace tinderbox::core {

/// Nodes reachable from `root` by narrow dependencies, each once; shuffle dependencies become
/// leaves that carry shuffle id and shape. Each node's storage level says whether to read and keep
/// it in the block store.
Bytes encode_program(const Node& root, const Descriptor* terminal, std::string_view captured);

/// Bytes of every source partition that partition `p` of `root` reaches through narrow
/// dependencies. Empty when no source has data.
Bytes encode_inputs(const Node& root, int32_t p);

/// A rebuilt stage. Thread: run() may be called by several task threads at once.
class Program {
 public:
  /// Errors: a foreign offset (another build), malformed bytes.
  static Result<std::unique_ptr<Program>> decode(std::string_view bytes);
  virtual ~Program() = default;
  /// Runs one task attempt; `inputs` as made by encode_inputs. Throws what the user's code throws.
  virtual TaskOutput run(int32_t partition, std::string_view inputs,
                         TaskContext& context) const = 0;
  /// See core/plan/lineage/reads.hpp.
  virtual void add_reads(int32_t, std::vector<ShuffleRead>&) const {}
  virtual bool reads_shuffles() const { return false; }
};

}  // namespace tinderbox::core
