#include "rtcg/cgen/ast/intrinsic.h"

#include <iterator>

namespace rtcg::cgen {

IntrinsicInfo intrinsic_info(Intrinsic intrinsic) {
  using F = IntrinsicFamily;
  // In the order of the enumerators.
  static constexpr IntrinsicInfo infos[] = {
      {"sqrt", 1, F::floating},
      {"rsqrt", 1, F::floating},
      {"cbrt", 1, F::floating},
      {"exp", 1, F::floating},
      {"exp2", 1, F::floating},
      {"exp10", 1, F::floating},
      {"expm1", 1, F::floating},
      {"log", 1, F::floating},
      {"log2", 1, F::floating},
      {"log10", 1, F::floating},
      {"log1p", 1, F::floating},
      {"sin", 1, F::floating},
      {"cos", 1, F::floating},
      {"tan", 1, F::floating},
      {"asin", 1, F::floating},
      {"acos", 1, F::floating},
      {"atan", 1, F::floating},
      {"sinh", 1, F::floating},
      {"cosh", 1, F::floating},
      {"tanh", 1, F::floating},
      {"asinh", 1, F::floating},
      {"acosh", 1, F::floating},
      {"atanh", 1, F::floating},
      {"erf", 1, F::floating},
      {"erfc", 1, F::floating},
      {"tgamma", 1, F::floating},
      {"lgamma", 1, F::floating},
      {"floor", 1, F::floating},
      {"ceil", 1, F::floating},
      {"round", 1, F::floating},
      {"trunc", 1, F::floating},
      {"rint", 1, F::floating},
      {"isnan", 1, F::floating_test},
      {"isinf", 1, F::floating_test},
      {"isfinite", 1, F::floating_test},
      {"pow", 2, F::floating},
      {"fmod", 2, F::floating},
      {"atan2", 2, F::floating},
      {"hypot", 2, F::floating},
      {"copysign", 2, F::floating},
      {"fma", 3, F::floating},
      {"abs", 1, F::arithmetic},
      {"min", 2, F::arithmetic},
      {"max", 2, F::arithmetic},
      {"popcount", 1, F::integral},
      {"count_leading_zeros", 1, F::integral},
      {"make_complex", 2, F::complex_make},
      {"real", 1, F::complex_part},
      {"imag", 1, F::complex_part},
      {"conj", 1, F::complex_same},
      {"make_vector", -1, F::stated},
      {"bit_cast", 1, F::stated},
      {"atomic_add", 2, F::atomic},
      {"atomic_sub", 2, F::atomic},
      {"atomic_min", 2, F::atomic},
      {"atomic_max", 2, F::atomic},
      {"atomic_and", 2, F::atomic},
      {"atomic_or", 2, F::atomic},
      {"atomic_xor", 2, F::atomic},
      {"atomic_exchange", 2, F::atomic},
      {"atomic_compare_exchange", 3, F::atomic},
      {"shuffle", 2, F::shuffle_value},
      {"shuffle_up", 2, F::shuffle_value},
      {"shuffle_down", 2, F::shuffle_value},
      {"shuffle_xor", 2, F::shuffle_value},
      {"warp_any", 1, F::vote},
      {"warp_all", 1, F::vote},
      {"warp_ballot", 1, F::ballot},
  };
  static_assert(std::size(infos) == static_cast<std::size_t>(Intrinsic::warp_ballot) + 1);
  return infos[static_cast<std::size_t>(intrinsic)];
}

}  // namespace rtcg::cgen
