// bfloat16: the upper half of a float.
#pragma once

#include "rtcg_cuda_small_float.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
using __nv_bfloat16 = rtcg_cuda::SmallFloat<7, 127, 0x7fffU, false>;

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
  return __nv_bfloat16::of_bits(bits);
}

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
