// A job's last step over each partition, and the call that runs it from the user's thread.
#pragma once

#include <numeric>

#include "core/api/context.hpp"
#include "core/api/steps/node.hpp"

namespace tinderbox::core {

/// Bytes that are a result as they are.
struct RawResult {
  Bytes bytes;
};

/// Called in a catch block. Throws what was caught as NotSerializableException, unless memory was
/// short.
[[noreturn]] void fail_result();

/// Errors: NotSerializableException when a part of the value throws.
template <class T>
void encode_result(Encoder& out, const T& value) {
  if constexpr (kPlainMemory<T> || TextLike<T>) {
    encode<T>(out, value);
  } else {
    try {
      encode<T>(out, value);
    } catch (...) {
      fail_result();
    }
  }
}

/// f(Cursor<T>&, TaskContext&) → R; R travels by the record codec.
template <class T, class F>
class PartitionAction final : public RegisteredTerminal<PartitionAction<T, F>> {
 public:
  explicit PartitionAction(Decoder& in) : f_(ClosureCodec<F>::decode(in)) {}
  TaskOutput run(const Node& root, int32_t partition, TaskContext& context) const override {
    const auto cursor = open_partition(as_typed<T>(root), partition, context);
    using R = std::invoke_result_t<const F&, Cursor<T>&, TaskContext&>;
    if constexpr (std::is_void_v<R>) {
      f_(*cursor, context);
      return {};
    } else if constexpr (std::is_same_v<R, RawResult>) {
      return {Payload(f_(*cursor, context).bytes), {}};
    } else {
      Bytes bytes;
      Encoder out(bytes);
      encode_result<R>(out, f_(*cursor, context));
      return {Payload(std::move(bytes)), {}};
    }
  }

 private:
  F f_;
};

/// Thrown by actions that need a record. Source: Spark's UnsupportedOperationException("empty
/// collection").
[[noreturn]] void fail_empty();
std::vector<int32_t> all_partitions(const Node& node);
std::vector<int32_t> partition_range(int32_t from, int32_t to);

/// Runs f over partitions of an Rdd; handle(position, value) in order of completion.
template <class T, class F, class Handle>
void run_action(Context& context, const std::shared_ptr<const TypedNode<T>>& node,
                std::vector<int32_t> partitions, const char* operation, Site site, const F& f,
                Handle&& handle) {
  using R = std::invoke_result_t<const F&, Cursor<T>&, TaskContext&>;
  Bytes captured;
  References held;
  {
    const Holding holding(held);
    Encoder out(captured);
    ClosureCodec<F>::encode(out, f);
  }
  context.run_job(
      node, std::move(partitions),
      {PartitionAction<T, F>::code(), std::move(captured), std::move(held), operation, site},
      [&](int32_t position, Payload value) {
        if constexpr (std::is_void_v<R>)
          handle(position);
        else if constexpr (std::is_same_v<R, RawResult>)
          handle(position, std::move(value));
        else
          handle(position, from_bytes<R>(value.view()));
      });
}

// ---- what the actions do in a partition --------------------------------------------------------

struct CountRecords {
  template <class T>
  int64_t operator()(Cursor<T>& in, TaskContext& context) const {
    int64_t n = 0;
    drive<T>(in, context, [&](T&&) { return ++n, true; });
    return n;
  }
};
/// Records encoded behind each other.
struct CollectRecords {
  template <class T>
  RawResult operator()(Cursor<T>& in, TaskContext& context) const {
    RawResult result;
    Encoder out(result.bytes);
    drive<T>(in, context, [&](T&& record) { return encode_result<T>(out, record), true; });
    return result;
  }
};
/// The first n of them.
struct TakeRecords {
  Datum<int64_t> n;
  auto parts() const { return std::tie(n); }
  template <class T>
  RawResult operator()(Cursor<T>& in, TaskContext& context) const {
    RawResult result;
    Encoder out(result.bytes);
    int64_t left = n.value;
    if (left > 0)
      drive<T>(in, context, [&](T&& record) { return encode_result<T>(out, record), --left > 0; });
    return result;
  }
};
template <class F>
struct ReduceRecords {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T>
  std::optional<owned_t<T>> operator()(Cursor<T>& in, TaskContext& context) const {
    std::optional<owned_t<T>> sum;
    drive<T>(in, context, [&](T&& record) {
      if (!sum)
        sum.emplace(own<T>(std::move(record)));
      else
        sum = owned_t<T>(f(std::move(*sum), std::move(record)));
      return true;
    });
    return sum;
  }
};
/// Starts from a zero of its own; f changes the sum or returns a new one.
template <class U, class F>
struct FoldRecords {
  Datum<U> zero;
  F f;
  auto parts() const { return std::tie(zero, f); }
  template <class T>
  U operator()(Cursor<T>& in, TaskContext& context) const {
    U sum = zero.value;
    drive<T>(in, context,
             [&](T&& record) { return sum = U(f(std::move(sum), std::move(record))), true; });
    return sum;
  }
};
template <class F>
struct ForeachRecord {
  F f;
  auto parts() const { return std::tie(f); }
  template <class T>
  void operator()(Cursor<T>& in, TaskContext& context) const {
    drive<T>(in, context, [&](T&& record) { return f(std::move(record)), true; });
  }
};

/// Reads records that lie encoded behind each other.
template <class T, class F>
void each_encoded(std::string_view bytes, F&& f) {
  Decoder in(bytes);
  while (!in.done()) f(decode<T>(in));
}

}  // namespace tinderbox::core
