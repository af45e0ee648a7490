#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::dg::detail {

/// Generated kernels that together do one stage of a time step:
///
///   residual = a * residual + time_step * right-hand side;  state' = state + b * residual
///
/// with `a`, `b` and `time_step` as numbers. Where a is 0 the old residual is not read.
struct StageKernels {
  cgen::Module module;
  std::vector<KernelPlan> plans;  ///< in the order of the launches
};

/// Kernels for volume flux, surface flux and update, without barriers and shared memory, for any
/// target. Between the second and the third, `rhs` must become the product of operators_kernel.
///
/// Arrays between them: `volume_fluxes` [axis][element][field][node], contravariant;
/// `surface_fluxes` [element][field][face][node of face]; `rhs` as the state, which is changed in
/// place.
[[nodiscard]] StageKernels split_kernels(const KernelWriter& writer);

/// rhs[c, i] = sum over axes of d[i, m] g[c, m] + sum of lift[i, k] fluxes[c, k], with one column c
/// for each field of each element.
[[nodiscard]] loopy::Kernel operators_kernel(const KernelShape& shape, const cgen::Type& real);

/// How a fused kernel lies on the machine.
struct FusedShape {
  int elements = 8;         ///< of a block
  bool is_on_host = false;  ///< a block is one thread, columns are loops: no barriers
  /// Matrices as literals, zeros left out; else as a table, `operators`.
  bool has_literals = false;
  int row_groups = 1;                 ///< threads that share a column; 1 with literals
  int columns_per_thread = 1;         ///< 1 with literals; must divide elements * fields
  int blocks_per_multiprocessor = 0;  ///< registers are kept low enough for so many; 0: any

  friend bool operator==(const FusedShape&, const FusedShape&) = default;
};

/// One kernel for a whole stage; it reads `state` and writes `next`, which must not be the same.
///
/// A block keeps the values of its elements, one column a field of an element, evaluates the fluxes
/// at all nodes, and multiplies them by [derivatives | lift], rows x columns as FusedShape says.
[[nodiscard]] StageKernels fused_kernel(const KernelWriter& writer,
                                        const std::vector<Matrix>& derivatives, const Matrix& lift,
                                        const FusedShape& fused);

/// The table `operators` of a fused kernel: for each column of [derivatives | lift] its rows,
/// filled up with zeros to as many as the row groups have.
[[nodiscard]] std::vector<double> operators_table(const std::vector<Matrix>& derivatives,
                                                  const Matrix& lift, const FusedShape& fused,
                                                  const cgen::Type& real);

/// The memory that a block of a fused kernel shares, in bytes.
[[nodiscard]] std::size_t shared_bytes_of(const KernelShape& shape, const cgen::Type& real,
                                          const FusedShape& fused);

/// The same with so few elements that a block fits into `limit` bytes; nullopt: not even one does.
[[nodiscard]] std::optional<FusedShape> fitted(const KernelShape& shape, const cgen::Type& real,
                                               FusedShape fused, std::size_t limit);

/// A shape that is right everywhere and fast enough without a search.
[[nodiscard]] FusedShape usual_fused_shape(const KernelShape& shape, const cgen::Type& real,
                                           bool is_on_host);

}  // namespace rtcg::dg::detail
