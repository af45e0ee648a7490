// What kernels use of the host's libraries, declared here: reading the system's headers takes most
// of the compiler's time for a small kernel. A text that includes them itself has them from there.
#pragma once

namespace rtcg_cuda {

template <class T>
constexpr bool is_real = __is_same(T, float) || __is_same(T, double);
template <class T>
constexpr bool is_integer = __is_same(T, bool) || __is_same(T, char) || __is_same(T, signed char) ||
                            __is_same(T, unsigned char) || __is_same(T, short) ||
                            __is_same(T, unsigned short) || __is_same(T, int) ||
                            __is_same(T, unsigned) || __is_same(T, long) ||
                            __is_same(T, unsigned long) || __is_same(T, long long) ||
                            __is_same(T, unsigned long long);
template <class T>
concept Integer = is_integer<T>;
template <class T>
concept Number = is_real<T> || is_integer<T>;
template <class A, class B>
concept Mixed = Number<A> && Number<B> &&(!__is_same(A, B) || is_integer<A>);
/// What arithmetic makes of the two.
template <class A, class B>
using Common = decltype(false ? A() : B());

}  // namespace rtcg_cuda

#ifdef RTCG_CUDA_SYSTEM_HEADERS
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#else

using size_t = decltype(sizeof 0);
using ptrdiff_t = __PTRDIFF_TYPE__;
using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;
using intptr_t = __INTPTR_TYPE__;
using uintptr_t = __UINTPTR_TYPE__;

#define NULL __null
#define M_PI 3.14159265358979323846
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define assert(condition) \
  ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __func__))

extern "C" {
[[noreturn]] void __assert_fail(const char*, const char*, unsigned, const char*) noexcept;
int printf(const char*, ...);
void* memcpy(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
double exp10(double) noexcept;
float exp10f(float) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double jn(int, double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
double yn(int, double) noexcept;
}

// One argument: the functions of double, of float, and of integers.
#define RTCG_CUDA_ONE(F, RESULT, RESULT_OF_FLOAT)  \
  extern "C" RESULT F(double) noexcept;            \
  extern "C" RESULT_OF_FLOAT F##f(float) noexcept; \
  static inline RESULT_OF_FLOAT F(float x) {       \
    return ::F##f(x);                              \
  }                                                \
  template <rtcg_cuda::Integer T>                  \
  static inline RESULT F(T x) {                    \
    return ::F(static_cast<double>(x));            \
  }
#define RTCG_CUDA_REAL(F) RTCG_CUDA_ONE(F, double, float)
#define RTCG_CUDA_TWO(F)                                        \
  extern "C" double F(double, double) noexcept;                 \
  extern "C" float F##f(float, float) noexcept;                 \
  static inline float F(float x, float y) {                     \
    return ::F##f(x, y);                                        \
  }                                                             \
  template <class A, class B>                                   \
  requires rtcg_cuda::Mixed<A, B>                               \
  static inline double F(A x, B y) {                            \
    return ::F(static_cast<double>(x), static_cast<double>(y)); \
  }
#define RTCG_CUDA_SCALE(F)                        \
  extern "C" double F(double, int) noexcept;      \
  extern "C" float F##f(float, int) noexcept;     \
  static inline float F(float x, int exponent) {  \
    return ::F##f(x, exponent);                   \
  }                                               \
  template <rtcg_cuda::Integer T>                 \
  static inline double F(T x, int exponent) {     \
    return ::F(static_cast<double>(x), exponent); \
  }
#define RTCG_CUDA_IS(F)               \
  static inline bool F(float x) {     \
    return __builtin_##F(x);          \
  }                                   \
  static inline bool F(double x) {    \
    return __builtin_##F(x);          \
  }                                   \
  template <rtcg_cuda::Integer T>     \
  static inline bool F(T x) {         \
    return F(static_cast<double>(x)); \
  }

RTCG_CUDA_REAL(acos)
RTCG_CUDA_REAL(acosh)
RTCG_CUDA_REAL(asin)
RTCG_CUDA_REAL(asinh)
RTCG_CUDA_REAL(atan)
RTCG_CUDA_REAL(atanh)
RTCG_CUDA_REAL(cbrt)
RTCG_CUDA_REAL(ceil)
RTCG_CUDA_REAL(cos)
RTCG_CUDA_REAL(cosh)
RTCG_CUDA_REAL(erf)
RTCG_CUDA_REAL(erfc)
RTCG_CUDA_REAL(exp)
RTCG_CUDA_REAL(exp2)
RTCG_CUDA_REAL(expm1)
RTCG_CUDA_REAL(fabs)
RTCG_CUDA_REAL(floor)
RTCG_CUDA_REAL(lgamma)
RTCG_CUDA_REAL(log)
RTCG_CUDA_REAL(log10)
RTCG_CUDA_REAL(log1p)
RTCG_CUDA_REAL(log2)
RTCG_CUDA_REAL(logb)
RTCG_CUDA_REAL(nearbyint)
RTCG_CUDA_REAL(rint)
RTCG_CUDA_REAL(round)
RTCG_CUDA_REAL(sin)
RTCG_CUDA_REAL(sinh)
RTCG_CUDA_REAL(sqrt)
RTCG_CUDA_REAL(tan)
RTCG_CUDA_REAL(tanh)
RTCG_CUDA_REAL(tgamma)
RTCG_CUDA_REAL(trunc)
RTCG_CUDA_ONE(ilogb, int, int)
RTCG_CUDA_ONE(lrint, long, long)
RTCG_CUDA_ONE(llrint, long long, long long)
RTCG_CUDA_ONE(lround, long, long)
RTCG_CUDA_ONE(llround, long long, long long)
RTCG_CUDA_TWO(atan2)
RTCG_CUDA_TWO(copysign)
RTCG_CUDA_TWO(fdim)
RTCG_CUDA_TWO(fmax)
RTCG_CUDA_TWO(fmin)
RTCG_CUDA_TWO(fmod)
RTCG_CUDA_TWO(hypot)
RTCG_CUDA_TWO(nextafter)
RTCG_CUDA_TWO(pow)
RTCG_CUDA_TWO(remainder)
RTCG_CUDA_SCALE(ldexp)
RTCG_CUDA_SCALE(scalbn)
RTCG_CUDA_IS(isfinite)
RTCG_CUDA_IS(isinf)
RTCG_CUDA_IS(isnan)
RTCG_CUDA_IS(isnormal)
RTCG_CUDA_IS(signbit)

#undef RTCG_CUDA_IS
#undef RTCG_CUDA_SCALE
#undef RTCG_CUDA_TWO
#undef RTCG_CUDA_REAL
#undef RTCG_CUDA_ONE

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
}

static inline float fma(float x, float y, float z) {
  return ::fmaf(x, y, z);
}
static inline float frexp(float x, int* exponent) {
  return ::frexpf(x, exponent);
}
static inline float modf(float x, float* whole) {
  return ::modff(x, whole);
}
static inline float abs(float x) {
  return ::fabsf(x);
}
static inline double abs(double x) {
  return ::fabs(x);
}
static inline long abs(long x) {
  return ::labs(x);
}
static inline long long abs(long long x) {
  return ::llabs(x);
}

#endif
