// Clusters of blocks, for texts with cgen's functions for them: comes after rtcg_cuda.h.
#pragma once

#include "rtcg_cuda_cluster_calls.h"

#define cluster_dims(...) unused

namespace rtcg_cuda {

// The harness writes it before a launch.
static const ClusterCalls* cluster_calls;

}  // namespace rtcg_cuda

extern "C" __attribute__((visibility("default"))) const rtcg_cuda::ClusterCalls**
rtcg_cluster_calls() {
  return &rtcg_cuda::cluster_calls;
}

/// What waits for the cluster becomes; arriving alone is nothing.
#define RTCG_CUDA_CLUSTER_WAIT()                        \
  do {                                                  \
    __syncthreads();                                    \
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) { \
      ::rtcg_cuda::cluster_calls->wait();               \
    }                                                   \
    __syncthreads();                                    \
  } while (false)
