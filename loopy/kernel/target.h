#pragma once

namespace rtcg::loopy {

/// What a kernel is made into.
enum class Target {
  host,    ///< C: grid axes as OpenMP loops, block axes as SIMD loops split at barriers
  opencl,  ///< OpenCL C
  cuda,    ///< CUDA C++
};

}  // namespace rtcg::loopy
