#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/core/array.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/tune/search.h"

namespace rtcg::arrays {

/// Who multiplies matrices of f32 and f64.
enum class MatmulMethod {
  /// cuBLAS if it is found, unless wisdom has times of both and our kernel is faster; tune_matmul()
  /// writes them. Without cuBLAS our own kernel.
  automatic,
  engine,  ///< a kernel of the loop engine
  cublas,  ///< @throws Unsupported  arrays.matmul.no_cublas: it is not found or cannot
};

struct MatmulOptions {
  /// The slicing of the engine's kernel. The default is the one that wisdom has for these sizes, or
  /// for sizes within a factor of two, and otherwise the best of the cost model. Its inames are i
  /// (rows), j (columns) and k. A given slicing selects the engine.
  std::optional<loopy::Slicing> slicing{};
  MatmulMethod method = MatmulMethod::automatic;
  std::string wisdom_path{};  ///< as of loopy::Wisdom
};

struct MatmulSizes {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;  ///< over which products are summed
  friend auto operator<=>(const MatmulSizes&, const MatmulSizes&) = default;
};

/// Who multiplies matrices of some sizes, and why.
struct MatmulPlan {
  enum class Source {
    given,   ///< the caller's slicing
    wisdom,  ///< the result of a search
    model,   ///< the model's best that fits
    plain,   ///< the product as described, without a slicing
    cublas,
  };
  Source source = Source::plain;
  std::string slicing{};  ///< of the engine's kernel
  /// Slicings that were to be used and do not fit, each with the reason.
  std::vector<std::string> refused{};
};

/// The matrix product of the last two axes; axes before them broadcast, and an array of one axis is
/// a row on the left and a column on the right; its axis is removed from the result.
///
/// f32 and f64 run cuBLAS or a kernel of the loop engine, made for the sizes at first use; other
/// types, whose products are accumulated as in sum(), run the reduction of their broadcast product.
///
/// @throws InvalidInput  arrays.matmul.shape_mismatch; as apply() of a given slicing
/// @throws Unsupported   arrays.matmul.no_slicing: no first choice of the model fits;
///                       arrays.matmul.no_cublas
/// @throws DeviceError   arrays.cublas.call_failed
/// @cost   the engine: one launch for all matrices, and a copy of each operand that is not in C
///         order; cuBLAS: one call if the matrices have a constant distance, and a copy of each
///         operand with neither contiguous rows nor columns. Asynchronous
[[nodiscard]] AnyArray matmul(const AnyArray& a, const AnyArray& b,
                              const MatmulOptions& options = {});
template <Element T>
requires std::floating_point<T>
[[nodiscard]] Array<T> matmul(const Array<T>& a, const Array<T>& b,
                              const MatmulOptions& options = {}) {
  return Array<T>(matmul(a.any(), b.any(), options));
}

/// The choice of matmul() for contiguous matrices of these sizes. @throws  as matmul
[[nodiscard]] MatmulPlan plan_matmul(DType dtype, const MatmulSizes& sizes, runtime::Device device,
                                     const MatmulOptions& options = {});

/// Searches the fastest slicing for these sizes by running candidates, times cuBLAS too if it is
/// found, and stores both: later calls of matmul() use the faster one.
///
/// @param dtype   f32 or f64
/// @param search  its time, 30 s unless told, and other limits
/// @throws Unsupported  loopy.tune.nothing_works
/// @cost   the search, or none if wisdom has these sizes; waits
MatmulPlan tune_matmul(DType dtype, const MatmulSizes& sizes, runtime::Device device,
                       const loopy::SearchOptions& search = {},
                       const std::string& wisdom_path = {});

}  // namespace rtcg::arrays
