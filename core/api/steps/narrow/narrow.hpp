// Nodes of the narrow operators: their records flow through without leaving the task.
#pragma once

#include <array>
#include <functional>

#include "core/api/steps/node.hpp"
#include "core/api/steps/values/held_bytes.hpp"
#include "core/plan/lineage/reads.hpp"
#include "core/shuffle/spilling/task_memory.hpp"

namespace tinderbox::core {

// ---- one record in, any number out -------------------------------------------------------------

struct MapOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    return out(Out(f(std::move(record))));
  }
};
struct FilterOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    return !f(std::as_const(record)) || out(std::move(record));
  }
};
/// f returns a container.
struct FlatMapOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    return each_returned(f(std::move(record)),
                         [&]<class R>(R&& result) { return out(Out(std::forward<R>(result))); });
  }
};
/// f calls an emitter.
struct EmitOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    Emitter<Out> emit(out);
    f(std::move(record), emit);
    return emit.going();
  }
};
struct MapValuesOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    return out(Out(std::move(record.first), f(std::move(record.second))));
  }
};
struct FlatMapValuesOp {
  template <class Out, class F, class In>
  static bool apply(const F& f, In&& record, const Sink<Out>& out) {
    return each_returned(f(std::move(record.second)), [&]<class R>(R&& result) {
      return out(Out(record.first, typename Out::second_type(std::forward<R>(result))));
    });
  }
};

/// Out = Op of In by f, record by record.
template <class In, class Out, class Op, class F>
class OpNode final : public OperatorNode<OpNode<In, Out, Op, F>, Out> {
 public:
  explicit OpNode(F f) : f_(std::move(f)) {}
  explicit OpNode(Decoder& in) : f_(ClosureCodec<F>::decode(in)) {}
  void encode(Encoder& out) const { ClosureCodec<F>::encode(out, f_); }
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    return std::make_unique<OpCursor>(open_parent<In>(*this, 0, partition, context), f_);
  }
  bool has_runs() const override {
    const Node& parent = *narrow_dependency(*this, 0).parent;
    return parent.storage_bits.load(std::memory_order_relaxed) == 0 && parent.has_runs();
  }
  std::unique_ptr<Cursor<Out>> open_run(int32_t first, int32_t count,
                                        TaskContext& context) const override {
    const auto& parent = as_typed<In>(*narrow_dependency(*this, 0).parent);
    return std::make_unique<OpCursor>(parent.open_run(first, count, context), f_);
  }

 private:
  class OpCursor final : public Cursor<Out> {
   public:
    OpCursor(std::unique_ptr<Cursor<In>> parent, const F& f) : parent_(std::move(parent)), f_(f) {}
    bool next(Sink<Out> out) override {
      auto push = [this, out](In&& record) {
        return Op::template apply<Out>(f_, std::move(record), out);
      };
      return parent_->next(sink_to<In>(push));
    }

   private:
    std::unique_ptr<Cursor<In>> parent_;
    const F& f_;
  };
  F f_;
};

/// Like OpNode, with state: f(partition) makes what is called as step(In&&, const Sink<Out>&) → go
/// on.
template <class In, class Out, class F>
class StatefulNode final : public OperatorNode<StatefulNode<In, Out, F>, Out> {
 public:
  explicit StatefulNode(F f) : f_(std::move(f)) {}
  explicit StatefulNode(Decoder& in) : f_(ClosureCodec<F>::decode(in)) {}
  void encode(Encoder& out) const { ClosureCodec<F>::encode(out, f_); }
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    return std::make_unique<StatefulCursor>(open_parent<In>(*this, 0, partition, context),
                                            f_(partition));
  }

 private:
  using Step = std::invoke_result_t<const F&, int32_t>;
  class StatefulCursor final : public Cursor<Out> {
   public:
    StatefulCursor(std::unique_ptr<Cursor<In>> parent, Step step)
        : parent_(std::move(parent)), step_(std::move(step)) {}
    bool next(Sink<Out> out) override {
      auto push = [this, out](In&& record) { return step_(std::move(record), out); };
      return parent_->next(sink_to<In>(push));
    }

   private:
    std::unique_ptr<Cursor<In>> parent_;
    Step step_;
  };
  F f_;
};

/// f(partition index, Partition<In>&…, Emitter<Out>&) over whole partitions, in one batch each:
/// what f emits is pushed on at once, but f itself is not interrupted between records.
template <class Out, class F, class... In>
class PartitionsNode final : public OperatorNode<PartitionsNode<Out, F, In...>, Out> {
 public:
  explicit PartitionsNode(F f) : f_(std::move(f)) {}
  explicit PartitionsNode(Decoder& in) : f_(ClosureCodec<F>::decode(in)) {}
  void encode(Encoder& out) const { ClosureCodec<F>::encode(out, f_); }
  std::unique_ptr<Cursor<Out>> open(int32_t partition, TaskContext& context) const override {
    return open_all(partition, context, std::index_sequence_for<In...>{});
  }

 private:
  template <size_t... I>
  std::unique_ptr<Cursor<Out>> open_all(int32_t partition, TaskContext& context,
                                        std::index_sequence<I...>) const {
    return std::make_unique<PartitionsCursor>(f_, partition, context,
                                              open_parent<In>(*this, I, partition, context)...);
  }
  class PartitionsCursor final : public Cursor<Out> {
   public:
    PartitionsCursor(const F& f, int32_t partition, TaskContext& context,
                     std::unique_ptr<Cursor<In>>... in)
        : f_(f), partition_(partition), in_(Partition<In>(std::move(in), context)...) {}
    bool next(Sink<Out> out) override {
      Emitter<Out> emit(out);
      std::apply([&](auto&... in) { f_(partition_, in..., emit); }, in_);
      return false;
    }

   private:
    const F& f_;
    int32_t partition_;
    std::tuple<Partition<In>...> in_;
  };
  F f_;
};

// ---- several parents, same type: union, coalesce, pruning --------------------------------------

/// The partitions of all parents that partition p depends on, one after the other; adjacent ones
/// that a shuffle can give in one go together.
template <class T>
class ChainNode final : public OperatorNode<ChainNode<T>, T> {
 public:
  ChainNode() = default;
  explicit ChainNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<T>> open(int32_t partition, TaskContext& context) const override {
    return std::make_unique<ChainCursor>(*this, partition, context);
  }

 private:
  class ChainCursor final : public Cursor<T> {
   public:
    ChainCursor(const ChainNode& node, int32_t partition, TaskContext& context)
        : context_(context) {
      for (size_t i = 0; i < node.dependencies.size(); ++i) {
        const auto& d = narrow_dependency(node, i);
        const TypedNode<T>& parent = as_typed<T>(*d.parent);
        each_run(d, partition, [&](int32_t first, int32_t count) {
          parts_.push_back({parent, first, count});
        });
      }
    }
    bool next(Sink<T> out) override {
      if (at_ == parts_.size()) return false;
      if (!open_) open_ = open(parts_[at_]);
      bool going = true;
      auto push = [&going, out](T&& record) { return going = out(std::move(record)); };
      if (open_->next(sink_to<T>(push))) return true;
      open_.reset();
      return going && ++at_ < parts_.size();
    }

   private:
    struct Part {
      const TypedNode<T>& node;
      int32_t first, count;
    };
    std::unique_ptr<Cursor<T>> open(const Part& part) const {
      if (part.count > 1) return part.node.open_run(part.first, part.count, context_);
      return open_partition(part.node, part.first, context_);
    }

    TaskContext& context_;
    std::vector<Part> parts_;
    size_t at_ = 0;
    std::unique_ptr<Cursor<T>> open_;
  };
};

// ---- two parents side by side ------------------------------------------------------------------

template <class A, class B>
class ZipNode final : public OperatorNode<ZipNode<A, B>, std::pair<A, B>> {
 public:
  ZipNode() = default;
  explicit ZipNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<std::pair<A, B>>> open(int32_t partition,
                                                TaskContext& context) const override {
    return std::make_unique<ZipCursor>(
        Puller<A>(open_parent<A>(*this, 0, partition, context), context),
        Puller<B>(open_parent<B>(*this, 1, partition, context), context));
  }

 private:
  class ZipCursor final : public Cursor<std::pair<A, B>> {
   public:
    ZipCursor(Puller<A> left, Puller<B> right) : left_(std::move(left)), right_(std::move(right)) {}
    bool next(Sink<std::pair<A, B>> out) override {
      do {
        auto* a = left_.peek();
        auto* b = right_.peek();
        if (!a != !b)
          throw std::runtime_error(
              "Can only zip RDDs with same number of elements in each partition");
        if (!a) return false;
        const bool going = out(std::pair<A, B>(release<A>(*a), release<B>(*b)));
        left_.advance();
        right_.advance();
        if (!going) return false;
      } while (left_.at_hand() > 0);
      return true;
    }

   private:
    Puller<A> left_;
    Puller<B> right_;
  };
};

/// Partition i·m + j holds the pairs of left partition i and right partition j.
template <class A, class B>
class CartesianNode final : public OperatorNode<CartesianNode<A, B>, std::pair<A, B>> {
 public:
  CartesianNode() = default;
  explicit CartesianNode(Decoder&) {}
  void encode(Encoder&) const {}
  std::unique_ptr<Cursor<std::pair<A, B>>> open(int32_t partition,
                                                TaskContext& context) const override {
    const auto& left = narrow_dependency(*this, 0);
    const auto& right = narrow_dependency(*this, 1);
    std::unique_ptr<Cursor<A>> outer;
    int32_t inner = 0;
    left.each_parent(partition, [&](int32_t p) {
      outer = open_partition(as_typed<A>(*left.parent), p, context);
    });
    right.each_parent(partition, [&](int32_t p) { inner = p; });
    const Node& node = *right.parent;
    return std::make_unique<CartesianCursor>(std::move(outer), context, [&node, &context, inner] {
      return open_partition(as_typed<B>(node), inner, context);
    });
  }

 private:
  using OpenInner = std::function<std::unique_ptr<Cursor<B>>()>;
  /// The right side is kept where it fits in memory, else made again for each record of the left
  /// one, as Spark does.
  class CartesianCursor final : public Cursor<std::pair<A, B>> {
   public:
    CartesianCursor(std::unique_ptr<Cursor<A>> outer, TaskContext& context, OpenInner open)
        : outer_(std::move(outer), context),
          context_(context),
          open_(std::move(open)),
          memory_(context) {}
    bool next(Sink<std::pair<A, B>> out) override {
      int left = kBatch;
      bool going = true;
      while (const owned_t<A>* a = outer_.peek()) {
        if (left <= 0) return true;
        if (!std::exchange(looked_, true)) whole_ = keep();
        auto pair = [&](B&& b) {
          --left;
          return going = out(std::pair<A, B>(borrow<A>(*a), std::move(b)));
        };
        if (!(whole_ ? some_kept(pair, left) : some_of_inner(pair))) {
          if (!going) return false;
          outer_.advance();
        }
      }
      return false;
    }

   private:
    static constexpr int kBatch = 1024;
    /// Pairs for the record at hand. False: those were all, or the reader wants no more.
    template <class F>
    bool some_kept(F& pair, const int& left) {
      for (; at_ < kept_.size(); ++at_) {
        if (left <= 0) return true;
        if (!pair(borrow<B>(kept_[at_]))) return false;
      }
      at_ = 0;
      return false;
    }
    template <class F>
    bool some_of_inner(F& pair) {
      if (!inner_) inner_ = open_();
      check_killed(context_);
      if (inner_->next(sink_to<B>(pair))) return true;
      check_killed(context_);
      inner_.reset();
      return false;
    }
    bool keep() {
      int64_t held = 0;
      const bool fits = drive<B>(*open_(), context_, [&](B&& b) {
        kept_.push_back(own<B>(std::move(b)));
        held += held_bytes(kept_.back());
        return memory_.hold(held + static_cast<int64_t>(kept_.capacity() * sizeof(owned_t<B>)));
      });
      if (fits) return true;
      std::vector<owned_t<B>>().swap(kept_);
      memory_.release();
      return false;
    }

    Puller<A> outer_;
    TaskContext& context_;
    OpenInner open_;
    TaskMemory memory_;
    std::vector<owned_t<B>> kept_;
    size_t at_ = 0;                     // of kept_
    std::unique_ptr<Cursor<B>> inner_;  // where it is not kept
    bool looked_ = false, whole_ = false;
  };
};

}  // namespace tinderbox::core
