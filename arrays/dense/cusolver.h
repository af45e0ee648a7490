#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <string>

#include "rtcg/arrays/core/array.h"

// Factorisations of matrices on CUDA devices by cuSOLVER, which is opened at run time.

namespace rtcg::arrays::detail {

/// The functions of cuSOLVER that factorisations need; 0 is success. Matrices are column-major.
///
/// Types are values of cudaDataType. Functions in arrays are those of f32, f64, c64 and c128.
struct CusolverApi {
  using Long = std::int64_t;
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*create_options)(void** options) = nullptr;
  int (*lu_size)(void* handle, void* options, Long m, Long n, int type, const void* a, Long lda,
                 int compute, std::size_t* on_device, std::size_t* on_host) = nullptr;
  int (*lu)(void* handle, void* options, Long m, Long n, int type, void* a, Long lda, Long* pivots,
            int compute, void* work, std::size_t on_device, void* host_work, std::size_t on_host,
            int* info) = nullptr;
  int (*solve)(void* handle, void* options, int transposes, Long n, Long columns, int type,
               const void* lu, Long lda, const Long* pivots, int type_b, void* b, Long ldb,
               int* info) = nullptr;
  int (*cholesky_size)(void* handle, void* options, int triangle, Long n, int type, const void* a,
                       Long lda, int compute, std::size_t* on_device,
                       std::size_t* on_host) = nullptr;
  int (*cholesky)(void* handle, void* options, int triangle, Long n, int type, void* a, Long lda,
                  int compute, void* work, std::size_t on_device, void* host_work,
                  std::size_t on_host, int* info) = nullptr;
  int (*qr_size)(void* handle, void* options, Long m, Long n, int type, const void* a, Long lda,
                 int type_tau, const void* tau, int compute, std::size_t* on_device,
                 std::size_t* on_host) = nullptr;
  int (*qr)(void* handle, void* options, Long m, Long n, int type, void* a, Long lda, int type_tau,
            void* tau, int compute, void* work, std::size_t on_device, void* host_work,
            std::size_t on_host, int* info) = nullptr;
  int (*eigh_size)(void* handle, void* options, int job, int triangle, Long n, int type,
                   const void* a, Long lda, int type_values, const void* values, int compute,
                   std::size_t* on_device, std::size_t* on_host) = nullptr;
  int (*eigh)(void* handle, void* options, int job, int triangle, Long n, int type, void* a,
              Long lda, int type_values, void* values, int compute, void* work,
              std::size_t on_device, void* host_work, std::size_t on_host, int* info) = nullptr;
  /// Of many matrices; null before CUDA 12.6.
  int (*eigh_batch_size)(void* handle, void* options, int job, int triangle, Long n, int type,
                         const void* a, Long lda, int type_values, const void* values, int compute,
                         std::size_t* on_device, std::size_t* on_host, Long count) = nullptr;
  int (*eigh_batch)(void* handle, void* options, int job, int triangle, Long n, int type, void* a,
                    Long lda, int type_values, void* values, int compute, void* work,
                    std::size_t on_device, void* host_work, std::size_t on_host, int* info,
                    Long count) = nullptr;
  int (*svd_size)(void* handle, void* options, signed char job_u, signed char job_vt, Long m,
                  Long n, int type, const void* a, Long lda, int type_values, const void* values,
                  int type_u, const void* u, Long ldu, int type_vt, const void* vt, Long ldvt,
                  int compute, std::size_t* on_device, std::size_t* on_host) = nullptr;
  int (*svd)(void* handle, void* options, signed char job_u, signed char job_vt, Long m, Long n,
             int type, void* a, Long lda, int type_values, void* values, int type_u, void* u,
             Long ldu, int type_vt, void* vt, Long ldvt, int compute, void* work,
             std::size_t on_device, void* host_work, std::size_t on_host, int* info) = nullptr;
  using QSize = int (*)(void* handle, int m, int n, int k, const void* a, int lda, const void* tau,
                        int* work_elements);
  using Q = int (*)(void* handle, int m, int n, int k, void* a, int lda, const void* tau,
                    void* work, int work_elements, int* info);
  using CholeskyBatch = int (*)(void* handle, int triangle, int n, void** a, int lda, int* info,
                                int count);
  using SmallSvdSize = int (*)(void* handle, int job, int m, int n, const void* a, int lda,
                               const void* values, const void* u, int ldu, const void* v, int ldv,
                               int* work_elements, void* options, int count);
  using SmallSvd = int (*)(void* handle, int job, int m, int n, void* a, int lda, void* values,
                           void* u, int ldu, void* v, int ldv, void* work, int work_elements,
                           int* info, void* options, int count);
  int (*create_small_svd_options)(void** options) = nullptr;
  int (*destroy_small_svd_options)(void* options) = nullptr;
  QSize q_size[4]{};
  Q q[4]{};
  CholeskyBatch cholesky_batch[4]{};
  SmallSvdSize small_svd_size[4]{};  ///< up to 32 rows and columns, many matrices
  SmallSvd small_svd[4]{};
  std::string library{};  ///< the name it was opened by

  /// cuSOLVER 12 or 11, of CUDA 13 and 12, or the library of RTCG_LIBCUSOLVER; null if it is not
  /// found.
  [[nodiscard]] static const CusolverApi* find();
  /// Why find() gives null.
  [[nodiscard]] static const std::string& why_none();
};

// All take matrices of f32, f64, c64 or c128 one after the other in memory, in the order of
// FORTRAN: [count, columns, rows] in C order, and change them in place, in the order of the stream.
// `info` gets an i32 for each matrix: 0, or a positive number.
//
// @throws DeviceError  arrays.dense.call_failed
// @cost   asynchronous, but for what wants memory of the host; a call for each matrix unless a
//         function says otherwise

/// @shape pivots  [count, n] of i64, from 1 on
void cusolver_lu(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                 const AnyArray& pivots, const AnyArray& info);
/// @shape b  [count, right-hand sides, n]
void cusolver_solve(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& lu,
                    const AnyArray& pivots, const AnyArray& b);
/// Of the lower triangle; what is above is not defined. @cost  one call
void cusolver_cholesky(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                       const AnyArray& info);
/// What is on and above the diagonal is R. @shape tau  [count, min(m, n)]
void cusolver_qr(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                 const AnyArray& tau);
/// As many columns of Q as `a` has, at most its rows.
void cusolver_q(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                const AnyArray& tau);
/// Of the lower triangle: eigenvectors into `a`, values of the real type, [count, n].
///
/// @cost  one call from CUDA 12.6 on
void cusolver_eigh(const CusolverApi& api, runtime::StreamRef stream, const AnyArray& a,
                   const AnyArray& values, bool with_vectors, const AnyArray& info);

/// Singular values and vectors of [count, m, n] in C order, which stays as it is.
struct CusolverSvd {
  AnyArray u;       ///< [count, m, min(m, n)]
  AnyArray values;  ///< [count, min(m, n)]
  AnyArray vh;      ///< [count, min(m, n), n]
};
/// @cost  one call for several matrices of up to 32 rows and columns
[[nodiscard]] CusolverSvd cusolver_svd(const CusolverApi& api, runtime::StreamRef stream,
                                       const AnyArray& matrices, const AnyArray& info);

}  // namespace rtcg::arrays::detail
