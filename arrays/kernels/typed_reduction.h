#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/arrays/kernels/reduction_kernel.h"

// Reductions of expressions.

namespace rtcg::arrays::detail {

/// The implementation of a ReductionKernel of an expression.
class TypedReduction {
 public:
  /// @throws  as ReductionKernel
  TypedReduction(Expression reduction, std::vector<KernelArgument> arguments);
  [[nodiscard]] std::vector<AnyArray> run(const std::vector<Expression>& values,
                                          const ReductionLaunch& launch) const;
  [[nodiscard]] loopy::Kernel as_loop_kernel() const;

 private:
  Expression reduction_;
  std::vector<KernelArgument> arguments_;
};

}  // namespace rtcg::arrays::detail
