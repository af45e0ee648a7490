#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/cgen/build/block_builder.h"

// Discrete Fourier transforms of a few values in registers, as code without loops.

namespace rtcg::arrays::detail {

/// A complex value in generated code, by its parts.
struct ComplexExpr {
  cgen::Expr re = 0;
  cgen::Expr im = 0;
};

[[nodiscard]] ComplexExpr multiply(const ComplexExpr& a, const ComplexExpr& b);

/// The greatest prime that butterflies consist of, and the greatest length that passes use.
inline constexpr int greatest_prime_radix = 13;
inline constexpr int greatest_radix = 16;

/// Declares in `body` the values of X[k] = sum of x[j] exp(-2 pi i j k / n) over j, where n is the
/// number of values.
///
/// @param x     names of variables of type `real`; n has no prime factor above
///              greatest_prime_radix
/// @returns     names of variables too
/// @source      Cooley and Tukey 1965; primes use the symmetry of sine and cosine
[[nodiscard]] std::vector<ComplexExpr> emit_butterfly(const std::vector<ComplexExpr>& x,
                                                      const cgen::Type& real,
                                                      cgen::BlockBuilder& body);

}  // namespace rtcg::arrays::detail
