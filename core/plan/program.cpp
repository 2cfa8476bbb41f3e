#include "core/plan/program.hpp"

#include <set>
#include <unordered_map>
#include <utility>

#include "core/plan/bytes.hpp"

namespace tinderbox::core {
namespace {

enum class Link : uint8_t { OneToOne, Range, Table, Shuffle };

/// Parents before children, each node once.
class NodeTable {
 public:
  explicit NodeTable(const Node& root) { visit(root); }
  const std::vector<const Node*>& nodes() const { return nodes_; }
  size_t index_of(const Node& node) const { return index_.at(&node); }

 private:
  // An explicit stack: a chain of operators may be longer than a thread's stack.
  void visit(const Node& root) {
    std::vector<std::pair<const Node*, size_t>> path{{&root, 0}};
    std::set<const Node*> begun{&root};
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == node->dependencies.size()) {
        index_.emplace(node, nodes_.size());
        nodes_.push_back(node);
        path.pop_back();
        continue;
      }
      const auto* narrow = std::get_if<NarrowDependency>(&node->dependencies[next++]);
      if (!narrow) continue;
      const Node& parent = *narrow->parent;
      if (begun.insert(&parent).second) path.emplace_back(&parent, 0);
    }
  }
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> index_;
};

// Zero names no code: nothing registers at the image's first byte.
void encode_descriptor(Encoder& out, const Descriptor* descriptor) {
  out.varint(descriptor ? descriptor_offset(descriptor) : 0);
}

void encode_table(Encoder& out, const std::vector<std::vector<int32_t>>& table) {
  out.varint(table.size());
  for (const auto& row : table) {
    out.varint(row.size());
    for (const int32_t p : row) out.varint(static_cast<uint32_t>(p));
  }
}

std::vector<std::vector<int32_t>> decode_table(Decoder& in) {
  std::vector<std::vector<int32_t>> table(in.count());
  for (auto& row : table) {
    row.resize(in.count());
    for (int32_t& p : row) p = static_cast<int32_t>(in.varint());
  }
  return table;
}

void encode_dependency(Encoder& out, const Dependency& dependency, const NodeTable& table) {
  if (const auto* shuffle = std::get_if<ShufflePtr>(&dependency)) {
    out.scalar(Link::Shuffle);
    out.scalar((*shuffle)->id.value);
    out.scalar((*shuffle)->num_reduces);
    return;
  }
  const auto& narrow = std::get<NarrowDependency>(dependency);
  out.scalar(static_cast<Link>(narrow.kind));
  out.varint(table.index_of(*narrow.parent));
  if (narrow.kind == NarrowDependency::Kind::Range) {
    out.scalar(narrow.out_start);
    out.scalar(narrow.in_start);
    out.scalar(narrow.length);
  } else if (narrow.kind == NarrowDependency::Kind::Table) {
    encode_table(out, narrow.table);
  }
}

Dependency decode_dependency(Decoder& in, const std::vector<NodePtr>& nodes) {
  const auto link = in.scalar<Link>();
  if (link == Link::Shuffle) {
    auto shuffle = std::make_shared<ShuffleDependency>();
    shuffle->id.value = in.scalar<int32_t>();
    shuffle->num_reduces = in.scalar<int32_t>();
    return ShufflePtr(std::move(shuffle));
  }
  if (link > Link::Shuffle) Decoder::fail("an unknown kind of dependency");
  const uint64_t parent = in.varint();
  if (parent >= nodes.size()) Decoder::fail("a node comes before its parent");
  NarrowDependency narrow{
      .parent = nodes[parent], .kind = static_cast<NarrowDependency::Kind>(link), .table = {}};
  if (link == Link::Range) {
    narrow.out_start = in.scalar<int32_t>();
    narrow.in_start = in.scalar<int32_t>();
    narrow.length = in.scalar<int32_t>();
  } else if (link == Link::Table) {
    narrow.table = decode_table(in);
  }
  return narrow;
}

void encode_node(Encoder& out, const Node& node, const NodeTable& table) {
  out.scalar(node.id.value);
  encode_descriptor(out, node.descriptor());
  out.text(node.captured());
  out.scalar(node.num_partitions);
  out.scalar(node.storage_bits.load(std::memory_order_relaxed));
  out.varint(node.dependencies.size());
  for (const Dependency& d : node.dependencies) encode_dependency(out, d, table);
}

const Descriptor& decode_descriptor(Decoder& in, const char* what) {
  const uint64_t offset = in.varint();
  if (const Descriptor* found = find_descriptor(offset)) return *found;
  throw DecodeError("no " + std::string(what) + " is registered at offset " +
                    std::to_string(offset) +
                    " of this program: driver and executor must run the same file");
}

NodePtr decode_node(Decoder& in, const std::vector<NodePtr>& nodes) {
  const RddId id{in.scalar<int32_t>()};
  const Descriptor& descriptor = decode_descriptor(in, "operator");
  if (!descriptor.node) Decoder::fail("a terminal operation stands where an Rdd should");
  const std::string_view captured = in.text();
  const auto num_partitions = in.scalar<int32_t>();
  const auto storage = in.scalar<uint8_t>();
  std::vector<Dependency> dependencies;
  for (size_t n = in.count(); n > 0; --n) dependencies.push_back(decode_dependency(in, nodes));
  auto node = descriptor.node(id, captured, std::move(dependencies));
  node->num_partitions = num_partitions;
  node->storage_bits = storage;
  return node;
}

TaskInputs decode_inputs(std::string_view bytes) {
  TaskInputs inputs;
  Decoder in(bytes);
  while (!in.done()) {
    TaskInputs::Entry entry;
    entry.node.value = in.scalar<int32_t>();
    entry.partition = in.scalar<int32_t>();
    entry.bytes = in.text();
    inputs.entries.push_back(entry);
  }
  return inputs;
}

/// The context of a run: this thread's while it lives.
class Current {
 public:
  Current(TaskContext& context, const TaskInputs& inputs) : context_(context), here_(&context) {
    context_.inputs = &inputs;
  }
  ~Current() {
    context_.inputs = nullptr;
    context_.pending_accumulators.clear();
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  TaskContext& context_;
  const CurrentContext here_;
};

class DecodedProgram final : public Program {
 public:
  DecodedProgram(NodePtr root, std::unique_ptr<Terminal> terminal)
      : root_(std::move(root)),
        terminal_(std::move(terminal)),
        reads_shuffles_(core::reads_shuffles(*root_)) {}
  void add_reads(int32_t partition, std::vector<ShuffleRead>& reads) const override {
    add_shuffle_reads(*root_, partition, reads);
  }
  bool reads_shuffles() const override { return reads_shuffles_; }
  TaskOutput run(int32_t partition, std::string_view inputs, TaskContext& context) const override {
    if (partition < 0 || partition >= root_->num_partitions) Decoder::fail("no such partition");
    const TaskInputs decoded = decode_inputs(inputs);
    Current current(context, decoded);
    TaskOutput output = terminal_->run(*root_, partition, context);
    if (context.failure) std::rethrow_exception(context.failure);
    for (const auto& [id, pending] : context.pending_accumulators) {
      context.accumulators.push_back({id, pending->encode(), false});
    }
    return output;
  }

 private:
  NodePtr root_;
  std::unique_ptr<Terminal> terminal_;
  bool reads_shuffles_;
};

/// Walks (node, partition) pairs that one task reaches; remembers them, since zips make diamonds.
class InputCollector {
 public:
  explicit InputCollector(Encoder& out) : out_(out) {}
  void visit(const Node& root, int32_t partition) {
    push(root, partition);
    while (!todo_.empty()) {
      const auto [node, p] = todo_.back();
      todo_.pop_back();
      emit(*node, p);
      // Reversed, so that inputs come in the order in which a task reads them.
      for (auto d = node->dependencies.rbegin(); d != node->dependencies.rend(); ++d) {
        if (const auto* narrow = std::get_if<NarrowDependency>(&*d)) {
          narrow->each_parent(p, [&](int32_t q) { push(*narrow->parent, q); });
        }
      }
    }
  }

 private:
  void push(const Node& node, int32_t partition) {
    if (seen_.insert({&node, partition}).second) todo_.emplace_back(&node, partition);
  }
  void emit(const Node& node, int32_t p) {
    if (static_cast<size_t>(p) >= node.source_data.size()) return;
    const Bytes& bytes = node.source_data[static_cast<size_t>(p)];
    if (bytes.empty()) return;
    out_.scalar(node.id.value);
    out_.scalar(p);
    out_.text(bytes);
  }
  Encoder& out_;
  std::set<std::pair<const Node*, int32_t>> seen_;
  std::vector<std::pair<const Node*, int32_t>> todo_;
};

/// The usual case, without a table of what was seen: a chain of one-to-one parents down to one
/// source.
bool chain_inputs(const Node& root, int32_t p, Encoder& out) {
  const Node* node = &root;
  while (node->dependencies.size() == 1) {
    const auto* narrow = std::get_if<NarrowDependency>(&node->dependencies[0]);
    if (!narrow) return true;
    if (narrow->kind != NarrowDependency::Kind::OneToOne || !node->source_data.empty())
      return false;
    node = narrow->parent.get();
  }
  if (!node->dependencies.empty()) return false;
  if (static_cast<size_t>(p) < node->source_data.size() &&
      !node->source_data[static_cast<size_t>(p)].empty()) {
    out.scalar(node->id.value);
    out.scalar(p);
    out.text(node->source_data[static_cast<size_t>(p)]);
  }
  return true;
}

}  // namespace

Bytes encode_program(const Node& root, const Descriptor* terminal, std::string_view captured) {
  const NodeTable table(root);
  Bytes bytes;
  Encoder out(bytes);
  out.varint(table.nodes().size());
  for (const Node* node : table.nodes()) encode_node(out, *node, table);
  encode_descriptor(out, terminal);
  out.text(captured);
  return bytes;
}

Bytes encode_inputs(const Node& root, int32_t p) {
  Bytes bytes;
  Encoder out(bytes);
  if (!chain_inputs(root, p, out)) InputCollector(out).visit(root, p);
  return bytes;
}

Result<std::unique_ptr<Program>> Program::decode(std::string_view bytes) try {
  Decoder in(bytes);
  std::vector<NodePtr> nodes;
  for (size_t n = in.count(); n > 0; --n) nodes.push_back(decode_node(in, nodes));
  if (nodes.empty()) Decoder::fail("a program without an Rdd");
  const Descriptor& terminal = decode_descriptor(in, "terminal operation");
  if (!terminal.terminal) Decoder::fail("an Rdd stands where a terminal operation should");
  const std::string_view captured = in.text();
  if (!in.done()) Decoder::fail("bytes are left over");
  return std::unique_ptr<Program>(
      std::make_unique<DecodedProgram>(nodes.back(), terminal.terminal(captured)));
} catch (const DecodeError& e) {
  return Error{std::string("this stage's program cannot be read: ") + e.what()};
}

}  // namespace tinderbox::core
