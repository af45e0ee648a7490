#pragma once
// Internal header: it is not installed.

#include <memory>

#include "rtcg/arrays/interop/matmul.h"
#include "rtcg/loopy/execute/executor.h"

// Kernels of products and who runs them.

namespace rtcg::arrays::detail {

struct PlannedMatmul {
  MatmulPlan plan{};
  std::shared_ptr<const loopy::Executor> kernel{};  ///< null: cuBLAS
};

/// Decided once for each device, type, size and option, and kept.
///
/// @param is_batched  the kernel multiplies many matrices in one launch: a, b and c have an axis
///                    more, the first
/// @throws  as matmul
[[nodiscard]] PlannedMatmul planned_matmul(DType dtype, const MatmulSizes& sizes,
                                           runtime::Device device, const MatmulOptions& options,
                                           bool is_batched = false);

}  // namespace rtcg::arrays::detail
