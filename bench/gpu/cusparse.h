#pragma once

#include <cstdint>

#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/stream.h"

namespace rtcg::bench {

/// What libraries need to know of a matrix in compressed rows, and of two vectors.
struct SparseOperands {
  bool is_double = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
  std::uint64_t first = 0;  ///< addresses
  std::uint64_t column = 0;
  std::uint64_t value = 0;
};

/// The product y = A x of cuSPARSE, from whatever version the machine has, by the algorithm that it
/// prefers.
class CusparseProduct {
 public:
  /// @throws std::runtime_error  there is no cuSPARSE
  CusparseProduct(const runtime::Stream& stream, const SparseOperands& operands, std::uint64_t x,
                  std::uint64_t y);

  void run() const;

 private:
  using Product = int(void*, int, const void*, void*, void*, const void*, void*, int, int, void*);
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const;

  void* library_ = nullptr;
  void* handle_ = nullptr;
  void* matrix_ = nullptr;
  void* x_ = nullptr;
  void* y_ = nullptr;
  bool is_double_;
  Product* product_ = nullptr;
  runtime::Buffer<std::byte> work_;
};

/// The method of conjugate gradients as textbooks have it: products by cuSPARSE, five operations of
/// cuBLAS an iteration, two of which wait for the host.
class TextbookGradients {
 public:
  /// @param right  the address of b
  /// @throws std::runtime_error  there is no cuSPARSE or no cuBLAS
  TextbookGradients(const runtime::Stream& stream, const SparseOperands& operands,
                    std::uint64_t right);

  /// So many iterations from x = 0. @returns the square of the last residual
  double run(int iterations);

 private:
  double dot(std::uint64_t a, std::uint64_t b) const;
  void add(double factor, std::uint64_t x, std::uint64_t y) const;
  void scale(double factor, std::uint64_t x) const;

  const runtime::Stream& stream_;
  SparseOperands operands_;
  std::uint64_t right_;
  runtime::Buffer<std::byte> x_;
  runtime::Buffer<std::byte> r_;
  runtime::Buffer<std::byte> p_;
  runtime::Buffer<std::byte> image_;
  CusparseProduct product_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
};

}  // namespace rtcg::bench
