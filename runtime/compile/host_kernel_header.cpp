#include "rtcg/runtime/compile/host_compiler.h"

namespace rtcg::runtime {

std::string_view host_kernel_header() {
  return R"(/* How a kernel for rtcg's host back end is declared. C99 and C++. */
#ifndef RTCG_HOST_KERNEL_H
#define RTCG_HOST_KERNEL_H

/* The shape of a launch: blocks, threads of a block, dynamic shared bytes of a block. */
typedef struct rtcg_launch {
  unsigned long long grid[3];
  unsigned block[3];
  unsigned long long shared_bytes;
} rtcg_launch;

#ifdef __cplusplus
#define RTCG_EXTERN extern "C"
#define RTCG_KERNEL extern "C" __attribute__((visibility("default")))
#else
#define RTCG_EXTERN extern
#define RTCG_KERNEL __attribute__((visibility("default")))
#endif

/* The count and then the bytes of each parameter of the kernel NAME:
   RTCG_PARAMETER_BYTES(axpy, 3, sizeof(float), sizeof(float *), sizeof(int)); */
#define RTCG_PARAMETER_BYTES(NAME, ...)                                                           \
  RTCG_EXTERN __attribute__((visibility("default"))) const char NAME##_parameter_text[];          \
  const char NAME##_parameter_text[] = #__VA_ARGS__;                                              \
  RTCG_EXTERN __attribute__((visibility("default"))) const unsigned NAME##_parameter_bytes[];     \
  const unsigned NAME##_parameter_bytes[] = {__VA_ARGS__}

/* Work that is worth waking threads, in operations as rtcg counts them: axpy has about 13 an element.
   Microseconds of axpy on 2 cores of an AMD EPYC, gcc 12.2, 22 November 2026, one thread against
   two: 0.8 and 1.6 for 1024 elements, 2.4 and 2.4 for 4096, 8.5 and 5.7 for 16384. On a busy machine
   two threads take 0.7 to 6 ms on average, since each has to be scheduled. */
#define RTCG_PARALLEL_OPERATIONS 131072.0
/* The operations of a thread whose loops have no known length. */
#define RTCG_MANY 1e30

/* Whether the blocks of a launch are worth several threads. */
static inline int rtcg_is_parallel(const rtcg_launch *launch, double operations) {
  const double blocks = (double)launch->grid[0] * (double)launch->grid[1] * (double)launch->grid[2];
  const double threads = (double)launch->block[0] * launch->block[1] * launch->block[2];
  return blocks > 1.0 && blocks * threads * operations >= RTCG_PARALLEL_OPERATIONS;
}

#endif
)";
}

}  // namespace rtcg::runtime
