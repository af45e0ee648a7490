#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "rtcg/arrays/sparse/sparse_matrix.h"

// Products of sparse matrices by cuSPARSE, which is opened at run time.

namespace rtcg::arrays::detail {

/// The functions of cuSPARSE that products need; 0 is success.
///
/// Types are values of cudaDataType. Descriptors of matrices and vectors are on the host.
struct CusparseApi {
  using Product = int (*)(void* handle, int transposes, const void* alpha, const void* a,
                          const void* x, const void* beta, void* y, int type, int algorithm,
                          void* work);
  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*create_rows)(void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t entries,
                     void* first, void* column, void* value, int type_of_first, int type_of_column,
                     int base, int type) = nullptr;
  int (*destroy_rows)(const void* matrix) = nullptr;
  int (*create_vector)(void** vector, std::int64_t count, void* value, int type) = nullptr;
  int (*destroy_vector)(const void* vector) = nullptr;
  int (*create_dense)(void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                      void* value, int type, int order) = nullptr;
  int (*destroy_dense)(const void* matrix) = nullptr;
  int (*vector_size)(void* handle, int transposes, const void* alpha, const void* a, const void* x,
                     const void* beta, void* y, int type, int algorithm,
                     std::size_t* bytes) = nullptr;
  Product prepare_vector = nullptr;  ///< null before CUDA 12.4
  Product times_vector = nullptr;
  int (*dense_size)(void* handle, int transposes, int transposes_b, const void* alpha,
                    const void* a, const void* b, const void* beta, void* c, int type,
                    int algorithm, std::size_t* bytes) = nullptr;
  int (*times_dense)(void* handle, int transposes, int transposes_b, const void* alpha,
                     const void* a, const void* b, const void* beta, void* c, int type,
                     int algorithm, void* work) = nullptr;
  std::string library{};  ///< the name it was opened by

  /// cuSPARSE 12, of CUDA 12 and 13, or the library of RTCG_LIBCUSPARSE; null if it is not found.
  [[nodiscard]] static const CusparseApi* find();
  /// Why find() gives null.
  [[nodiscard]] static const std::string& why_none();
};

/// Products of one matrix by cuSPARSE, and what that has found out about its rows. Any thread may
/// use it.
class CusparseProduct {
 public:
  /// @param a  in compressed rows, with entries, of f32, f64, c64 or c128
  CusparseProduct(const CusparseApi& api, const AnySparseMatrix& a);
  ~CusparseProduct();
  CusparseProduct(const CusparseProduct&) = delete;
  CusparseProduct& operator=(const CusparseProduct&) = delete;

  /// y = A x.
  ///
  /// @param x, y  contiguous, of one axis or two
  /// @throws DeviceError  arrays.sparse.call_failed
  /// @cost   asynchronous; the first product with a vector, unless it is captured, looks at rows
  void run(runtime::StreamRef stream, const AnyArray& x, const AnyArray& y);

 private:
  void times_vector(runtime::StreamRef stream, void* handle, const AnyArray& x, const AnyArray& y);
  void times_dense(runtime::StreamRef stream, void* handle, const AnyArray& x, const AnyArray& y);

  const CusparseApi& api_;
  const AnyArray first_;
  const AnyArray column_;
  const AnyArray value_;
  const int type_;
  std::mutex mutex_{};
  void* matrix_ = nullptr;
  std::optional<AnyArray> prepared_{};  ///< memory for products with vectors
};

}  // namespace rtcg::arrays::detail
