#pragma once

#include <string>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"

// Kernels whose rows have computed lengths.

namespace rtcg::loopy {

inline constexpr const char* bounds_of_rows =
    "<> begin = first[i] {id=b}\n<> end = first[i + 1] {id=e}\n";

inline Kernel sparse_product() {
  return make_kernel("{[i]: 0 <= i < n} {[k]: begin <= k < end}",
                     bounds_of_rows + std::string("y[i] = sum(k, value[k]*x[column[k]]) {dep=b:e}"),
                     {.arguments = "value: f32[nz]; x: f32[m]; y: f32[n]; first: i32[n + 1]; "
                                   "column: i32[nz]; n, m, nz: i32",
                      .assumptions = "n >= 1 and m >= 1 and nz >= 1"});
}

/// The same with a dense matrix on the right.
inline Kernel sparse_times_dense() {
  return make_kernel(
      "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: begin <= k < end}",
      bounds_of_rows + std::string("y[i, j] = sum(k, value[k]*x[column[k], j]) {dep=b:e}"),
      {.arguments = "value: f32[nz]; x: f32[nz, m]; y: f32[n, m]; first: i32[n + 1]; "
                    "column: i32[nz]; n, m, nz: i32",
       .assumptions = "n >= 1 and m >= 1 and nz >= 1"});
}

inline Kernel at(const Kernel& kernel, std::int64_t n, std::int64_t m, std::int64_t nz) {
  return fix_parameters(kernel, {{"n", n}, {"m", m}, {"nz", nz}});
}

inline SlicingConstraints of_h100() {
  SlicingConstraints constraints;
  constraints.machine.shared_bytes = 227 * 1024;
  return constraints;
}

}  // namespace rtcg::loopy
