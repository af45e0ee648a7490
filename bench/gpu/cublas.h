#pragma once

#include <cstdint>

#include "rtcg/runtime/device/stream.h"

namespace rtcg::bench {

/// The few functions of cuBLAS that are needed, from whatever version the machine has; matrices of
/// true single precision, row-major unless stated.
class Cublas {
 public:
  /// @throws std::runtime_error  there is none
  explicit Cublas(const runtime::Stream& stream);

  /// c[m, n] = a[m, k] b[k, n].
  void multiply(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k) const;
  /// c[m, n] = a[m, k] b[n, k]^T.
  void multiply_transposed(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n,
                           int k) const;
  /// So many products of matrices that follow each other in memory.
  void multiply_batched(std::uint64_t a, std::uint64_t b, std::uint64_t c, int m, int n, int k,
                        int count) const;

 private:
  using Sgemm = int(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                    int, const float*, float*, int);
  using SgemmBatched = int(void*, int, int, int, int, int, const float*, const float*, int,
                           long long, const float*, int, long long, const float*, float*, int,
                           long long, int);
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const;

  void* library_ = nullptr;
  void* handle_ = nullptr;
  Sgemm* sgemm_ = nullptr;
  SgemmBatched* batched_ = nullptr;
};

}  // namespace rtcg::bench
