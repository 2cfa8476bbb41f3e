// How numbers are added up.
#pragma once

#include <type_traits>
#include <utility>

namespace tinderbox::core {

/// a + b as an A. A sum of integers that is too large for it wraps around as Java's
/// does; C++ has no answer there.
template <class A, class B>
A sum_of(A a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && std::is_signed_v<A>) {
    using Bits = std::make_unsigned_t<A>;
    return static_cast<A>(static_cast<Bits>(static_cast<Bits>(a) + static_cast<Bits>(b)));
  } else
    return static_cast<A>(std::move(a) + b);
}

}  // namespace tinderbox::core
