// The device's mathematical and bit functions that the host's library does not have.
#pragma once

#include "rtcg_cuda_library.h"

// The C library declares these names and does not define them.
#define __expf(x) ::expf(x)
#define __exp10f(x) ::exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)
#define __powf(x, y) ::powf(x, y)
#define __sincosf(x, s, c) ::sincosf(x, s, c)

namespace rtcg_cuda {

template <class To, class From>
static inline To bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &value, sizeof(to));
  return to;
}

}  // namespace rtcg_cuda

static inline float __int_as_float(int x) {
  return rtcg_cuda::bits<float>(x);
}
static inline float __uint_as_float(unsigned x) {
  return rtcg_cuda::bits<float>(x);
}
static inline int __float_as_int(float x) {
  return rtcg_cuda::bits<int>(x);
}
static inline unsigned __float_as_uint(float x) {
  return rtcg_cuda::bits<unsigned>(x);
}
static inline double __longlong_as_double(long long x) {
  return rtcg_cuda::bits<double>(x);
}
static inline long long __double_as_longlong(double x) {
  return rtcg_cuda::bits<long long>(x);
}

static inline float rsqrtf(float x) {
  return 1.0F / sqrtf(x);
}
static inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
static inline float rsqrt(float x) {
  return rsqrtf(x);
}
static inline float rcbrtf(float x) {
  return 1.0F / cbrtf(x);
}
static inline double rcbrt(double x) {
  return 1.0 / cbrt(x);
}
static inline float sinpif(float x) {
  return static_cast<float>(sin(M_PI * x));
}
static inline float cospif(float x) {
  return static_cast<float>(cos(M_PI * x));
}
static inline double sinpi(double x) {
  return sin(M_PI * x);
}
static inline double cospi(double x) {
  return cos(M_PI * x);
}
static inline float __fdividef(float x, float y) {
  return x / y;
}
static inline float __saturatef(float x) {
  return x > 1.0F ? 1.0F : x > 0.0F ? x : 0.0F;
}

#define RTCG_CUDA_ROUNDED(F, D, OPERATOR)      \
  static inline float F(float x, float y) {    \
    return x OPERATOR y;                       \
  }                                            \
  static inline double D(double x, double y) { \
    return x OPERATOR y;                       \
  }
RTCG_CUDA_ROUNDED(__fadd_rn, __dadd_rn, +)
RTCG_CUDA_ROUNDED(__fsub_rn, __dsub_rn, -)
RTCG_CUDA_ROUNDED(__fmul_rn, __dmul_rn, *)
RTCG_CUDA_ROUNDED(__fdiv_rn, __ddiv_rn, /)
#undef RTCG_CUDA_ROUNDED
static inline float __fmaf_rn(float x, float y, float z) {
  return fmaf(x, y, z);
}
static inline double __fma_rn(double x, double y, double z) {
  return fma(x, y, z);
}
static inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
static inline double __dsqrt_rn(double x) {
  return sqrt(x);
}
static inline int __float2int_rn(float x) {
  return static_cast<int>(lrintf(x));
}
static inline int __float2int_rz(float x) {
  return static_cast<int>(x);
}
static inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}

// Integers of two types become their common type, as on the device.
template <class A, class B>
static inline rtcg_cuda::Common<A, B> min(A a, B b) {
  using C = rtcg_cuda::Common<A, B>;
  if constexpr (rtcg_cuda::is_real<C>) {
    return ::fmin(static_cast<C>(a), static_cast<C>(b));
  } else {
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
  }
}
template <class A, class B>
static inline rtcg_cuda::Common<A, B> max(A a, B b) {
  using C = rtcg_cuda::Common<A, B>;
  if constexpr (rtcg_cuda::is_real<C>) {
    return ::fmax(static_cast<C>(a), static_cast<C>(b));
  } else {
    return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
  }
}

static inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
static inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
static inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) {
  return __builtin_ffs(x);
}
static inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
static inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) {
    reversed |= (x >> i & 1U) << (31 - i);
  }
  return reversed;
}
static inline int __mul24(int a, int b) {
  return (a << 8 >> 8) * (b << 8 >> 8);
}
static inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
template <class T>
static inline T __ldg(const T* address) {
  return *address;
}
