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

#endif
)";
}

}  // namespace rtcg::runtime
