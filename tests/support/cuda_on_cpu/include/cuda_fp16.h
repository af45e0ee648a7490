// IEEE half precision.
#pragma once

#include "rtcg_cuda_small_float.h"

struct __half_raw {
  unsigned short x;
};
using __half = rtcg_cuda::SmallFloat<10, 15, 0x7e00U, true>;
using half = __half;

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
  return __half::of_bits(bits);
}

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
