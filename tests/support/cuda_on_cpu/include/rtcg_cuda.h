// CUDA C++ for the host's compiler, as far as generated kernels use it: comes before their text.
#pragma once

#include "rtcg_cuda_library.h"
#include "rtcg_cuda_state.h"

#define __CUDACC__ 1
// of a device that generated text asks for no inline PTX
#define __CUDA_ARCH__ 700
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// A block runs on one thread of the CPU, so what its threads share is that thread's. One section,
// so that its begin and end are known; `used`, or else the optimiser takes what is never written for
// zero.
#define __shared__ static thread_local __attribute__((section("rtcg_shared"), used))

namespace rtcg_cuda {

// Nothing here has external linkage: every text loaded has its own.
static thread_local State state;

}  // namespace rtcg_cuda

extern "C" {
extern __thread char __start_rtcg_shared[] __attribute__((weak, visibility("hidden")));
extern __thread char __stop_rtcg_shared[] __attribute__((weak, visibility("hidden")));

__attribute__((visibility("default"))) rtcg_cuda::State* rtcg_cuda_state() {  // of the caller
  rtcg_cuda::state.static_shared = __start_rtcg_shared;
  rtcg_cuda::state.static_shared_end = __stop_rtcg_shared;
  return &rtcg_cuda::state;
}
}

#include "rtcg_cuda_math.h"
#include "rtcg_cuda_threads.h"
#include "rtcg_cuda_vectors.h"

namespace rtcg_cuda {

template <size_t... I>
struct Indices {};
template <size_t count, size_t... I>
struct MakeIndices : MakeIndices<count - 1, count - 1, I...> {};
template <size_t... I>
struct MakeIndices<0, I...> : Indices<I...> {};

template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** arguments, Indices<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}

template <class... A>
static void call(void (*kernel)(A...), void** arguments) {
  call(kernel, arguments, MakeIndices<sizeof...(A)>());
}

/// The count of the parameters, then the bytes of each.
template <class... A>
static const unsigned* parameters(void (*)(A...)) {
  static const unsigned bytes[] = {static_cast<unsigned>(sizeof...(A)),
                                   static_cast<unsigned>(sizeof(A))...};
  return bytes;
}

}  // namespace rtcg_cuda
