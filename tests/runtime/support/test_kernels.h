#pragma once

#include "tests/runtime/support/every_device.h"

namespace rtcg::runtime {

// Kernels, each in the three languages:
//   multiply(dest, a, b)        one element a thread
//   twice(x, n)                 the first n elements
//   twice_4x4(x)                one block of 4x4
//   index_of_thread(x)          x[i] = i
//   scalars(out, ...)           the sum of a scalar of each kind
//   sum_of_pair(out, pair)      a struct by value
//   slow_chain(x, rounds)       one thread; *x goes through `rounds` steps of x * 3 + 1
inline constexpr Texts test_kernels = {R"(#include <rtcg/host_kernel.h>
#define ARGUMENT(type, i) (*(type *)arguments[i])
typedef struct pair { int first; double second; } pair;

RTCG_PARAMETER_BYTES(multiply, 3, sizeof(float *), sizeof(float *), sizeof(float *));
RTCG_KERNEL void multiply(const rtcg_launch *launch, void *const *arguments) {
  float *dest = ARGUMENT(float *, 0);
  const float *a = ARGUMENT(const float *, 1);
  const float *b = ARGUMENT(const float *, 2);
  const long n = (long)(launch->grid[0] * launch->block[0]);
#pragma omp parallel for
  for (long i = 0; i < n; ++i) dest[i] = a[i] * b[i];
}

RTCG_PARAMETER_BYTES(twice, 2, sizeof(float *), sizeof(int));
RTCG_KERNEL void twice(const rtcg_launch *launch, void *const *arguments) {
  float *x = ARGUMENT(float *, 0);
  const long n = ARGUMENT(int, 1);
  const long threads = (long)(launch->grid[0] * launch->block[0]);
  for (long i = 0; i < threads; ++i)
    if (i < n) x[i] *= 2;
}

RTCG_PARAMETER_BYTES(twice_4x4, 1, sizeof(float *));
RTCG_KERNEL void twice_4x4(const rtcg_launch *launch, void *const *arguments) {
  float *x = ARGUMENT(float *, 0);
  for (unsigned j = 0; j < launch->block[1]; ++j)
    for (unsigned i = 0; i < launch->block[0]; ++i) x[i + 4 * j] *= 2;
}

RTCG_PARAMETER_BYTES(index_of_thread, 1, sizeof(int *));
RTCG_KERNEL void index_of_thread(const rtcg_launch *launch, void *const *arguments) {
  int *x = ARGUMENT(int *, 0);
  const long n = (long)(launch->grid[0] * launch->block[0]);
  for (long i = 0; i < n; ++i) x[i] = (int)i;
}

RTCG_PARAMETER_BYTES(scalars, 7, sizeof(double *), 1, 2, 4, 8, 4, 8);
RTCG_KERNEL void scalars(const rtcg_launch *launch, void *const *arguments) {
  *ARGUMENT(double *, 0) = ARGUMENT(signed char, 1) + ARGUMENT(unsigned short, 2) +
                           ARGUMENT(int, 3) + (double)ARGUMENT(long, 4) + ARGUMENT(float, 5) +
                           ARGUMENT(double, 6);
}

RTCG_PARAMETER_BYTES(sum_of_pair, 2, sizeof(double *), sizeof(pair));
RTCG_KERNEL void sum_of_pair(const rtcg_launch *launch, void *const *arguments) {
  const pair p = ARGUMENT(pair, 1);
  *ARGUMENT(double *, 0) = p.first + p.second;
}

RTCG_PARAMETER_BYTES(slow_chain, 2, sizeof(unsigned *), sizeof(int));
RTCG_KERNEL void slow_chain(const rtcg_launch *launch, void *const *arguments) {
  unsigned *x = ARGUMENT(unsigned *, 0);
  unsigned y = *x;
  for (int i = 0; i < ARGUMENT(int, 1); ++i) {
    y = y * 3 + 1;
    __asm__ volatile("" : "+r"(y));
  }
  *x = y;
}
)",
                                       R"(
typedef struct pair { int first; double second; } pair;
kernel void multiply(global float *dest, global const float *a, global const float *b) {
  const size_t i = get_global_id(0);
  dest[i] = a[i] * b[i];
}
kernel void twice(global float *x, int n) {
  const int i = get_global_id(0);
  if (i < n) x[i] *= 2;
}
kernel void twice_4x4(global float *x) { x[get_local_id(0) + 4 * get_local_id(1)] *= 2; }
kernel void index_of_thread(global int *x) { x[get_global_id(0)] = get_global_id(0); }
kernel void scalars(global double *out, char c, ushort s, int i, long l, float f, double d) {
  *out = c + s + i + (double)l + f + d;
}
kernel void sum_of_pair(global double *out, pair p) { *out = p.first + p.second; }
kernel void slow_chain(global uint *x, int rounds) {
  uint y = *x;
  for (int i = 0; i < rounds; ++i) y = y * 3 + 1;
  *x = y;
}
)",
                                       R"(
struct pair { int first; double second; };
extern "C" {
__global__ void multiply(float *dest, const float *a, const float *b) {
  const size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x;
  dest[i] = a[i] * b[i];
}
__global__ void twice(float *x, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) x[i] *= 2;
}
__global__ void twice_4x4(float *x) { x[threadIdx.x + 4 * threadIdx.y] *= 2; }
__global__ void index_of_thread(int *x) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  x[i] = i;
}
__global__ void scalars(double *out, signed char c, unsigned short s, int i, long long l, float f,
                        double d) {
  *out = c + s + i + (double)l + f + d;
}
__global__ void sum_of_pair(double *out, pair p) { *out = p.first + p.second; }
__global__ void slow_chain(unsigned *x, int rounds) {
  unsigned y = *x;
  for (int i = 0; i < rounds; ++i) {
    y = y * 3 + 1;
    asm volatile("" : "+r"(y));
  }
  *x = y;
}
}
)"};

struct Pair {
  int first;
  double second;
};

inline Program OnEveryDevice::program() {
  return Program::compile(device(), test_kernels.of(device()));
}

inline unsigned slow_chain_result(unsigned x, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    x = x * 3 + 1;
  }
  return x;
}

}  // namespace rtcg::runtime
