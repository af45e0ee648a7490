#pragma once

#include <memory>

#include "rtcg/arrays/matmul.h"
#include "rtcg/loopy/execute/executor.h"

// Kernels of products and who runs them. Internal to arrays.

namespace rtcg::arrays::detail {

struct PlannedMatmul {
  MatmulPlan plan{};
  std::shared_ptr<const loopy::Executor> kernel{};  ///< null: cuBLAS
};

/// Decided once for each device, type, size and option, and kept. @throws  as matmul
[[nodiscard]] PlannedMatmul planned_matmul(DType dtype, const MatmulSizes& sizes,
                                           runtime::Device device, const MatmulOptions& options);

}  // namespace rtcg::arrays::detail
