#pragma once

#include <string_view>

namespace rtcg::cgen {

/// Functions that every dialect has under some name. Which, is the dialect's matter.
enum class Intrinsic {
  // real functions of one floating-point value
  sqrt,
  rsqrt,
  cbrt,
  exp,
  exp2,
  exp10,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  tgamma,
  lgamma,
  floor,
  ceil,
  round,
  trunc,
  rint,
  // floating-point tests, giving bool
  isnan,
  isinf,
  isfinite,
  // of two or three floating-point values
  pow,
  fmod,
  atan2,
  hypot,
  copysign,
  fma,
  // of any arithmetic values; integers included
  abs,
  min,
  max,
  // of integers
  popcount,
  count_leading_zeros,
  // complex numbers; make_complex takes real and imaginary part
  make_complex,
  real,
  imag,
  conj,
  // one argument a lane; the node states the vector type
  make_vector,
  // the bits of the argument as another type of the same size; the node states the type
  bit_cast,
  // atomics: pointer, operand(s); they give the old value
  atomic_add,
  atomic_sub,
  atomic_min,
  atomic_max,
  atomic_and,
  atomic_or,
  atomic_xor,
  atomic_exchange,
  atomic_compare_exchange,  ///< pointer, expected value, new value
  // warp functions of all 32 lanes: value, lane or distance
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  warp_any,
  warp_all,
  warp_ballot,  ///< gives u32
  // images with texels, which are parameters: the image, coordinates, the number of a layer if it
  // has these; write_texel has the value between image and coordinates
  fetch,  ///< from a texture, at any position; of a mipmap a level follows
  read_texel,
  write_texel,
};

/// How arguments and result of an intrinsic are typed.
enum class IntrinsicFamily {
  floating,       ///< floating-point arguments, brought to their common type, which is the result
  floating_test,  ///< a floating-point argument; bool
  arithmetic,     ///< arithmetic arguments, brought to their common type, which is the result
  integral,       ///< an integer; i32
  complex_make,   ///< two floating-point arguments; complex
  complex_part,   ///< a complex argument; its element
  complex_same,   ///< a complex argument; the same
  stated,         ///< the node states the result
  atomic,         ///< pointer to a scalar and as many scalars as remain; the scalar
  shuffle_value,  ///< an arithmetic value and an integer; the value
  vote,           ///< a condition; bool
  ballot,         ///< a condition; u32
  image,          ///< an image and its coordinates; the texel
};

struct IntrinsicInfo {
  std::string_view name;
  int arguments;  ///< how many; -1 for one a lane, or as the image has dimensions
  IntrinsicFamily family;
};

[[nodiscard]] IntrinsicInfo intrinsic_info(Intrinsic intrinsic);

}  // namespace rtcg::cgen
