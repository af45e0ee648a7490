// bfloat16: every operation goes through float, whose 24 bits suffice for one correct rounding.
#pragma once

namespace rtcg_cuda {

static inline float from_bfloat16(unsigned short bits) {
  return rtcg_cuda::bits<float>(static_cast<unsigned>(bits) << 16);
}

// nearbyint rounds to nearest even at the last place that the result has.
static inline unsigned short to_bfloat16(double value) {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return 0x7fffU;
  }
  if (magnitude >= 0x1.ffp127) {
    return static_cast<unsigned short>(sign | 0x7f80U);
  }
  const int exponent = magnitude < 0x1p-126 ? -126 : std::ilogb(magnitude);
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 7 - exponent)));
  // A carry out of the fraction goes into the exponent, as it should.
  return static_cast<unsigned short>(sign | ((static_cast<unsigned>(exponent + 126) << 7) + steps));
}

#ifndef RTCG_CUDA_ADD_TO_ODD
#define RTCG_CUDA_ADD_TO_ODD
static inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const auto sum_bits = bits<unsigned long long>(sum);
  if (error == 0 || !std::isfinite(sum) || (sum_bits & 1U) != 0) {
    return sum;
  }
  return bits<double>((error > 0) == (sum > 0) ? sum_bits + 1 : sum_bits - 1);
}
#endif

}  // namespace rtcg_cuda

struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  __nv_bfloat16(N value) : bits(rtcg_cuda::to_bfloat16(static_cast<double>(value))) {}
  operator float() const { return rtcg_cuda::from_bfloat16(bits); }
};

#define RTCG_CUDA_ARITHMETIC(OPERATOR)                                                   \
  static inline __nv_bfloat16 operator OPERATOR(__nv_bfloat16 a, __nv_bfloat16 b) {      \
    return __nv_bfloat16(static_cast<float>(a) OPERATOR static_cast<float>(b));          \
  }                                                                                      \
  static inline __nv_bfloat16& operator OPERATOR##=(__nv_bfloat16& a, __nv_bfloat16 b) { \
    return a = a OPERATOR b;                                                             \
  }
RTCG_CUDA_ARITHMETIC(+)
RTCG_CUDA_ARITHMETIC(-)
RTCG_CUDA_ARITHMETIC(*)
RTCG_CUDA_ARITHMETIC(/)
#undef RTCG_CUDA_ARITHMETIC

#define RTCG_CUDA_COMPARISON(OPERATOR, NAME)                               \
  static inline bool operator OPERATOR(__nv_bfloat16 a, __nv_bfloat16 b) { \
    return static_cast<float>(a) OPERATOR static_cast<float>(b);           \
  }                                                                        \
  static inline bool NAME(__nv_bfloat16 a, __nv_bfloat16 b) {              \
    return a OPERATOR b;                                                   \
  }
RTCG_CUDA_COMPARISON(==, __heq)
RTCG_CUDA_COMPARISON(!=, __hne)
RTCG_CUDA_COMPARISON(<, __hlt)
RTCG_CUDA_COMPARISON(<=, __hle)
RTCG_CUDA_COMPARISON(>, __hgt)
RTCG_CUDA_COMPARISON(>=, __hge)
#undef RTCG_CUDA_COMPARISON

static inline __nv_bfloat16 operator-(__nv_bfloat16 a) {
  a.bits ^= 0x8000U;
  return a;
}
static inline __nv_bfloat16 __hneg(__nv_bfloat16 a) {
  return -a;
}
static inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a + b;
}
static inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a - b;
}
static inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a * b;
}
static inline __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) {
  return a / b;
}
// The product is exact in a double; where the sum is not, rounding it to odd keeps one rounding.
static inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  const double product = static_cast<double>(static_cast<float>(a)) * static_cast<float>(b);
  return __nv_bfloat16(rtcg_cuda::add_to_odd(product, static_cast<float>(c)));
}
static inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(fminf(a, b));
}
static inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(fmaxf(a, b));
}
static inline __nv_bfloat16 __float2bfloat16(float a) {
  return __nv_bfloat16(a);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float a) {
  return __nv_bfloat16(a);
}
static inline __nv_bfloat16 __double2bfloat16(double a) {
  return __nv_bfloat16(a);
}
static inline float __bfloat162float(__nv_bfloat16 a) {
  return a;
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) {
  return a.bits;
}
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 a;
  a.bits = bits;
  return a;
}

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
