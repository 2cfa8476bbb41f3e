// What encoded values refer to at the driver: it must be there as long as those bytes are.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

namespace tinderbox::core {

/// To the broadcast variables and accumulators that some bytes name. Kept beside these.
struct References {
  std::vector<std::shared_ptr<const void>> all;
  /// Two are alike where the bytes are.
  bool operator==(const References&) const { return true; }
  /// It does not travel.
  template <class Self>
  static std::tuple<> record_fields(Self&) {
    return {};
  }
};

/// While it lives what this thread encodes is noted in `held`. May be nested: all hear of it.
class Holding {
 public:
  explicit Holding(References& held);
  ~Holding();
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  /// That something was encoded. Nothing happens where nobody asks, or for null.
  static void note(const std::shared_ptr<const void>& what);

 private:
  References& held_;
  Holding* const outer_;
};

}  // namespace tinderbox::core
