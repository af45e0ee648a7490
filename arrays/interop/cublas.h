#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/arrays/core/array.h"

// Products of matrices by cuBLAS, which is opened at run time.

namespace rtcg::arrays::detail {

/// The functions of cuBLAS that products need. Matrices are column-major there; 0 is success.
struct CublasApi {
  template <class T>
  using Multiply = int (*)(void* handle, int transposes_a, int transposes_b, int m, int n, int k,
                           const T* alpha, const T* a, int lda, long long stride_a, const T* b,
                           int ldb, long long stride_b, const T* beta, T* c, int ldc,
                           long long stride_c, int count);

  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*set_workspace)(void* handle, void* memory, std::size_t bytes) = nullptr;
  Multiply<float> multiply_f32 = nullptr;
  Multiply<double> multiply_f64 = nullptr;
  std::string library{};  ///< the name it was opened by

  /// cuBLAS 13 or 12, or the library of RTCG_LIBCUBLAS; null if it is not found.
  [[nodiscard]] static const CublasApi* find();
  /// Why find() gives null.
  [[nodiscard]] static const std::string& why_none();
};

/// Whether cuBLAS accepts the layout of the matrices of the last two axes: rows or columns are
/// contiguous and do not overlap.
[[nodiscard]] bool has_cublas_layout(const AnyArray& array);

/// c = a b for each index of the axes before the last two, which all three share.
///
/// @shape a [..., m, k], b [..., k, n]: of has_cublas_layout; c [..., m, n], in C order; f32 or
/// f64,
///        lengths below 2^31
/// @throws DeviceError  arrays.cublas.call_failed
/// @cost   one call if the matrices have a constant distance, otherwise one call for each group
///         that has; asynchronous
void multiply_with(const CublasApi& api, runtime::StreamRef stream, const AnyArray& a,
                   const AnyArray& b, const AnyArray& c);

}  // namespace rtcg::arrays::detail
