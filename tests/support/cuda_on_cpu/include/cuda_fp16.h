// IEEE half precision: every operation goes through float and rounds once more, which is exact.
#pragma once

namespace rtcg_cuda {

static inline float from_half(unsigned short bits) {
  const unsigned sign = (bits & 0x8000U) << 16;
  const int exponent = bits >> 10 & 31;
  const unsigned fraction = bits & 0x3ffU;
  if (exponent == 31) {
    return rtcg_cuda::bits<float>(sign | 0x7f800000U | fraction << 13);
  }
  const float magnitude = exponent == 0
                              ? ldexpf(static_cast<float>(fraction), -24)
                              : ldexpf(static_cast<float>(fraction | 0x400U), exponent - 25);
  return sign != 0 ? -magnitude : magnitude;
}

// nearbyint rounds to nearest even at the last place that the result has.
static inline unsigned short to_half(double value) {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return static_cast<unsigned short>(sign | 0x7e00U);
  }
  if (magnitude >= 65520.0) {
    return static_cast<unsigned short>(sign | 0x7c00U);
  }
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A carry out of the fraction goes into the exponent, as it should.
  return static_cast<unsigned short>(sign | ((static_cast<unsigned>(exponent + 14) << 10) + steps));
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

struct __half {
  unsigned short bits;

  __half() = default;
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  __half(N value) : bits(rtcg_cuda::to_half(static_cast<double>(value))) {}
  operator float() const { return rtcg_cuda::from_half(bits); }
};

#define RTCG_CUDA_ARITHMETIC(OPERATOR)                                   \
  static inline __half operator OPERATOR(__half a, __half b) {           \
    return __half(static_cast<float>(a) OPERATOR static_cast<float>(b)); \
  }                                                                      \
  static inline __half& operator OPERATOR##=(__half& a, __half b) {      \
    return a = a OPERATOR b;                                             \
  }
RTCG_CUDA_ARITHMETIC(+)
RTCG_CUDA_ARITHMETIC(-)
RTCG_CUDA_ARITHMETIC(*)
RTCG_CUDA_ARITHMETIC(/)
#undef RTCG_CUDA_ARITHMETIC

#define RTCG_CUDA_COMPARISON(OPERATOR, NAME)                     \
  static inline bool operator OPERATOR(__half a, __half b) {     \
    return static_cast<float>(a) OPERATOR static_cast<float>(b); \
  }                                                              \
  static inline bool NAME(__half a, __half b) {                  \
    return a OPERATOR b;                                         \
  }
RTCG_CUDA_COMPARISON(==, __heq)
RTCG_CUDA_COMPARISON(!=, __hne)
RTCG_CUDA_COMPARISON(<, __hlt)
RTCG_CUDA_COMPARISON(<=, __hle)
RTCG_CUDA_COMPARISON(>, __hgt)
RTCG_CUDA_COMPARISON(>=, __hge)
#undef RTCG_CUDA_COMPARISON

static inline __half operator-(__half a) {
  a.bits ^= 0x8000U;
  return a;
}
static inline __half __hneg(__half a) {
  return -a;
}
static inline __half __hadd(__half a, __half b) {
  return a + b;
}
static inline __half __hsub(__half a, __half b) {
  return a - b;
}
static inline __half __hmul(__half a, __half b) {
  return a * b;
}
static inline __half __hdiv(__half a, __half b) {
  return a / b;
}
// The product is exact in a double; where the sum is not, rounding it to odd keeps one rounding.
static inline __half __hfma(__half a, __half b, __half c) {
  const double product = static_cast<double>(static_cast<float>(a)) * static_cast<float>(b);
  return __half(rtcg_cuda::add_to_odd(product, static_cast<float>(c)));
}
static inline __half __hmin(__half a, __half b) {
  return __half(fminf(a, b));
}
static inline __half __hmax(__half a, __half b) {
  return __half(fmaxf(a, b));
}
static inline __half __float2half(float a) {
  return __half(a);
}
static inline __half __float2half_rn(float a) {
  return __half(a);
}
static inline __half __double2half(double a) {
  return __half(a);
}
static inline float __half2float(__half a) {
  return a;
}
static inline __half __int2half_rn(int a) {
  return __half(a);
}
static inline int __half2int_rn(__half a) {
  return static_cast<int>(lrintf(a));
}
static inline int __half2int_rz(__half a) {
  return static_cast<int>(static_cast<float>(a));
}
static inline unsigned short __half_as_ushort(__half a) {
  return a.bits;
}
static inline __half __ushort_as_half(unsigned short bits) {
  __half a;
  a.bits = bits;
  return a;
}
static inline __half hsqrt(__half a) {
  return __half(sqrtf(a));
}
static inline __half hexp(__half a) {
  return __half(expf(a));
}
static inline __half hlog(__half a) {
  return __half(logf(a));
}
static inline __half __habs(__half a) {
  return __ushort_as_half(a.bits & 0x7fffU);
}
static inline bool __hisnan(__half a) {
  return std::isnan(static_cast<float>(a));
}

using half = __half;
struct alignas(4) __half2 {
  __half x, y;
};
using half2 = __half2;
static inline __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
static inline __half2 __float2half2_rn(float a) {
  return {__half(a), __half(a)};
}
static inline __half2 __hadd2(__half2 a, __half2 b) {
  return {a.x + b.x, a.y + b.y};
}
static inline __half2 __hmul2(__half2 a, __half2 b) {
  return {a.x * b.x, a.y * b.y};
}
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
static inline float __low2float(__half2 a) {
  return a.x;
}
static inline float __high2float(__half2 a) {
  return a.y;
}
