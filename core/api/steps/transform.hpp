// The small functions that operators of Rdd are made of, and their untyped arithmetic.
#pragma once

#include <functional>

#include "core/api/steps/action.hpp"
#include "core/api/steps/cursor.hpp"
#include "core/api/steps/narrow/narrow.hpp"
#include "core/api/steps/values/order.hpp"
#include "core/api/steps/values/sum.hpp"

namespace tinderbox::core {

// ---- shapes ------------------------------------------------------------------------------------

/// Errors: throws std::invalid_argument when the numbers of partitions differ.
void require_zippable(const Node& a, const Node& b);
/// Errors: throws std::invalid_argument.
void require_fraction(bool with_replacement, double fraction);
void require_fractions(bool with_replacement, const std::vector<double>& fractions);
/// The error of a key that sample_by_key was given no fraction for: throws std::out_of_range.
[[noreturn]] void fail_fraction();
/// Cells [from, to) of [0, 1) in proportion to `weights`. Errors: throws std::invalid_argument.
std::vector<std::pair<double, double>> split_bounds(const std::vector<double>& weights);
/// Of n and m partitions, for n × m. Errors: throws std::invalid_argument when these are more than
/// 2^31 - 1.
int32_t cartesian_partitions(int32_t n, int32_t m);
std::vector<Dependency> cartesian_dependencies(const NodePtr& left, const NodePtr& right);
/// Inputs one behind the other, or partition by partition when all are partitioned alike: sets the
/// partitions and partitioner of `node` and its Spark name.
std::vector<Dependency> union_dependencies(const std::vector<NodePtr>& inputs, Node& node,
                                           const char*& name);
/// Keys are partition numbers.
Partitioner by_index_partitioner(int32_t n);

// ---- randomness that a seed fixes --------------------------------------------------------------

/// The seed of a caller who names none: another one each time. Source: Spark Utils.random.
uint64_t random_seed();
/// Streams of one seed, and of seeds near each other, begin far from each other: where they stand
/// is mixed, as of stream p + 1 moved by a step it would be what stream p gives a step later.
/// Source: Steele, Lea and Flood, SplitMix.
class Random {
 public:
  Random(uint64_t seed, int32_t stream)
      : state_(mixed(mixed(seed + kStep) ^ static_cast<uint64_t>(stream))) {}
  uint64_t bits() { return mixed(state_ += kStep); }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(bits()) * n >> 64);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ull;
  static constexpr uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};
/// How many copies of a record a sample with replacement takes.
int32_t poisson(Random& random, double mean);

// ---- records -----------------------------------------------------------------------------------

/// A value that says nothing.
struct Unit {
  auto operator<=>(const Unit&) const = default;
};
struct WithUnit {
  template <class T>
  std::pair<T, Unit> operator()(T&& record) const
    requires(!std::is_reference_v<T>)
  {
    return {std::move(record), {}};
  }
};
struct KeepFirst {
  template <class A, class B>
  A operator()(A&& a, B&&) const {
    return std::forward<A>(a);
  }
};
template <class F>
struct KeyBy {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T>
  auto operator()(T&& record) const {
    auto key = f(std::as_const(record));
    using Keyed = std::pair<std::decay_t<decltype(key)>, std::decay_t<T>>;
    // A short text that moves takes its bytes with it; the key may look at them until it is owned.
    if constexpr (holds_view<typename Keyed::first_type>())
      return Keyed(std::move(key), std::as_const(record));
    else
      return Keyed(std::move(key), std::move(record));
  }
};
struct FirstOf {
  template <class P>
  auto operator()(P&& pair) const {
    return std::move(pair.first);
  }
};
struct SecondOf {
  template <class P>
  auto operator()(P&& pair) const {
    return std::move(pair.second);
  }
};
struct OnBothSides {
  template <class R>
  bool operator()(const R& record) const {
    return !record.second.first.empty() && !record.second.second.empty();
  }
};
struct Plus {
  template <class A, class B>
  A operator()(A a, const B& b) const {
    return sum_of(std::move(a), b);
  }
};
struct Larger {
  template <class A, class B>
  A operator()(A&& a, B&& b) const {
    return before(a, b) ? A(std::forward<B>(b)) : std::forward<A>(a);
  }
};
struct Smaller {
  template <class A, class B>
  A operator()(A&& a, B&& b) const {
    return before(b, a) ? A(std::forward<B>(b)) : std::forward<A>(a);
  }
};
template <class Less>
struct Reversed {
  Less less;
  auto parts() const { return std::tie(less); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return less(b, a);
  }
};

// ---- whole partitions --------------------------------------------------------------------------

template <class F>
struct ReturnAll {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T, class Out>
  void operator()(int32_t, Partition<T>& in, Emitter<Out>& emit) const {
    each_returned(f(in), [&]<class R>(R&& r) { return emit(Out(std::forward<R>(r))); });
  }
};
template <class F>
struct ReturnIndexed {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T, class Out>
  void operator()(int32_t p, Partition<T>& in, Emitter<Out>& emit) const {
    each_returned(f(p, in), [&]<class R>(R&& r) { return emit(Out(std::forward<R>(r))); });
  }
};
template <class F>
struct EmitAll {
  F f;
  auto parts() const { return std::tie(f); }
  template <class... A>
  void operator()(int32_t, A&... in_and_emit) const {
    f(in_and_emit...);
  }
};
template <class F>
struct EmitIndexed {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T, class Out>
  void operator()(int32_t p, Partition<T>& in, Emitter<Out>& emit) const {
    f(p, in, emit);
  }
};
struct Glom {
  template <class T, class Out>
  void operator()(int32_t, Partition<T>& in, Emitter<Out>& emit) const {
    Out all;
    in.for_each([&](T&& record) { all.push_back(own<T>(std::move(record))); });
    emit(std::move(all));
  }
};

// ---- record by record, with state --------------------------------------------------------------

struct NumberFrom {
  Datum<std::vector<int64_t>> starts;
  auto parts() const { return std::tie(starts); }
  struct Step {
    int64_t next;
    template <class T, class Out>
    bool operator()(T&& record, const Sink<Out>& out) {
      return out(Out(std::move(record), next++));
    }
  };
  Step operator()(int32_t partition) const {
    return Step{starts.value.at(static_cast<size_t>(partition))};
  }
};
struct NumberApart {
  Datum<int32_t> n;
  auto parts() const { return std::tie(n); }
  struct Step {
    int64_t next, stride;
    template <class T, class Out>
    bool operator()(T&& record, const Sink<Out>& out) {
      return out(Out(std::move(record), std::exchange(next, next + stride)));
    }
  };
  Step operator()(int32_t partition) const { return Step{partition, n.value}; }
};
/// Targets of a repartition: even whatever the input, from a start that differs by partition.
struct RoundRobin {
  Datum<int32_t> n;
  auto parts() const { return std::tie(n); }
  struct Step {
    int32_t at, n;
    template <class T, class Out>
    bool operator()(T&& record, const Sink<Out>& out) {
      at = at + 1 < n ? at + 1 : 0;
      return out(Out(at, std::move(record)));
    }
  };
  Step operator()(int32_t partition) const {
    return Step{static_cast<int32_t>(Random(0, partition).below(static_cast<uint64_t>(n.value))),
                n.value};
  }
};
struct Sample {
  Datum<bool> with_replacement;
  Datum<double> fraction;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(with_replacement, fraction, seed); }
  struct Step {
    Random random;
    bool with_replacement;
    double fraction;
    template <class T>
    bool operator()(T&& record, const Sink<T>& out) {
      if (!with_replacement) return random.unit() >= fraction || out(std::move(record));
      for (int32_t copies = poisson(random, fraction); copies > 0; --copies) {
        if (!out(T(record))) return false;
      }
      return true;
    }
  };
  Step operator()(int32_t partition) const {
    return Step{Random(seed.value, partition), with_replacement.value, fraction.value};
  }
};
struct SplitCell {
  Datum<double> from, to;
  Datum<uint64_t> seed;
  auto parts() const { return std::tie(from, to, seed); }
  struct Step {
    Random random;
    double from, to;
    template <class T>
    bool operator()(T&& record, const Sink<T>& out) {
      const double x = random.unit();
      return x < from || x >= to || out(std::move(record));
    }
  };
  Step operator()(int32_t partition) const {
    return Step{Random(seed.value, partition), from.value, to.value};
  }
};

// ---- the n smallest ----------------------------------------------------------------------------

/// Both are sorted.
template <class T, class Less>
void keep_smallest(std::vector<T>& best, std::vector<T> more, int64_t n, const Less& less) {
  std::vector<T> merged;
  merged.reserve(best.size() + more.size());
  std::merge(std::make_move_iterator(best.begin()), std::make_move_iterator(best.end()),
             std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()),
             std::back_inserter(merged), [&](const T& a, const T& b) { return less(a, b); });
  if (static_cast<int64_t>(merged.size()) > n) merged.erase(merged.begin() + n, merged.end());
  best = std::move(merged);
}
template <class T, class Less>
struct SmallestRecords {
  Datum<int64_t> n;
  Less less;
  auto parts() const { return std::tie(n, less); }
  std::vector<owned_t<T>> operator()(Cursor<T>& in, TaskContext& context) const {
    // A heap with the largest of the kept on top.
    std::vector<owned_t<T>> heap;
    auto before = [&](const auto& a, const auto& b) { return less(a, b); };
    drive<T>(in, context, [&](T&& record) {
      if (static_cast<int64_t>(heap.size()) < n.value) {
        heap.push_back(own<T>(std::move(record)));
        std::push_heap(heap.begin(), heap.end(), before);
      } else if (less(record, heap.front())) {
        std::pop_heap(heap.begin(), heap.end(), before);
        heap.back() = own<T>(std::move(record));
        std::push_heap(heap.begin(), heap.end(), before);
      }
      return true;
    });
    std::sort_heap(heap.begin(), heap.end(), before);
    return heap;
  }
};

}  // namespace tinderbox::core
