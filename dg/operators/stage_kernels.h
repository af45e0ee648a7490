#pragma once

#include <variant>
#include <vector>

#include "rtcg/dg/operators/fused_shape.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::dg::detail {

/// `rhs` becomes the product of operators_kernel.
struct ApplyOperators {};
using StageLaunch = std::variant<KernelPlan, ApplyOperators>;

/// Generated kernels that together do one stage of a time step:
///
///   residual = a * residual + time_step * right-hand side;  state' = state + b * residual
///
/// with `a`, `b` and `time_step` as numbers. Where a is 0 the old residual is not read.
struct StageKernels {
  cgen::Module module;
  std::vector<StageLaunch> launches;  ///< in their order

  /// Those of the module's kernels.
  [[nodiscard]] std::vector<KernelPlan> plans() const;
};

/// Kernels for volume flux, surface flux and update, without barriers and shared memory, for any
/// target. The operators are applied before the update.
///
/// Arrays between them: `volume_fluxes` [axis][element][field][node], contravariant;
/// `surface_fluxes` [element][field][face][node of face]; `rhs` as the state, which is changed in
/// place.
[[nodiscard]] StageKernels split_kernels(const KernelWriter& writer);

/// Adds the last of them, which makes residual and state of `rhs`: the sums before scale and
/// source.
void add_update_kernel(StageKernels& kernels, const KernelWriter& writer);

/// rhs[c, i] = sum over axes of d[i, m] g[c, m] + sum of lift[i, k] fluxes[c, k], with one column c
/// for each field of each element.
[[nodiscard]] loopy::Kernel operators_kernel(const KernelShape& shape, const cgen::Type& real);

/// One kernel for a whole stage; it reads `state` and writes `next`, which must not be the same.
/// Or, with FusedShape::updates_apart, one that writes `rhs`, and the update of add_update_kernel.
/// With GhostPlace::peers it waits for neighbours, and announces the stage to them (peer_stores.h).
///
/// A block keeps the values of its elements, one column for each field of an element, evaluates the
/// fluxes at all nodes, and multiplies them by [derivatives | lift] in the way of FusedShape.
[[nodiscard]] StageKernels fused_kernel(const KernelWriter& writer,
                                        const std::vector<Matrix>& derivatives, const Matrix& lift,
                                        const FusedShape& fused);

}  // namespace rtcg::dg::detail
