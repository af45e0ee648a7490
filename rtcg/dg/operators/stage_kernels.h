#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/runtime/device/device_info.h"

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

/// How a block multiplies its columns, each a field of an element, by the matrices.
enum class Product {
  on_host,   ///< a block is one thread, columns are loops: no barriers
  literals,  ///< a thread has one column; matrices stand in the text, zeros left out
  tiles,     ///< a thread has a tile of sums; matrices are the table `operators`
  /// A warp has tiles of 16 rows and 8 columns, the table is in the order of its lanes: CUDA from
  /// sm_90 on. In f64 tensor cores multiply as exactly as others do. In f32 each factor is cut into
  /// two numbers of tf32 and three of their four products are added: the error is that of f32.
  tensor_cores,
};

/// How a fused kernel lies on the machine.
struct FusedShape {
  int elements = 8;  ///< of a block
  Product product = Product::tiles;
  int row_groups = 1;                 ///< threads, or warps, that share a column; else 1
  int columns_per_thread = 1;         ///< or warp; must divide elements * fields
  int blocks_per_multiprocessor = 0;  ///< registers are kept low enough for so many; 0: any

  friend bool operator==(const FusedShape&, const FusedShape&) = default;
};

/// One kernel for a whole stage; it reads `state` and writes `next`, which must not be the same.
///
/// A block keeps the values of its elements, one column a field of an element, evaluates the fluxes
/// at all nodes, and multiplies them by [derivatives | lift] as FusedShape says.
[[nodiscard]] StageKernels fused_kernel(const KernelWriter& writer,
                                        const std::vector<Matrix>& derivatives, const Matrix& lift,
                                        const FusedShape& fused);

/// The table `operators` of a fused kernel: [derivatives | lift] in the order in which the product
/// reads it, filled up with zeros.
[[nodiscard]] std::vector<double> operators_table(const std::vector<Matrix>& derivatives,
                                                  const Matrix& lift, const FusedShape& fused,
                                                  const cgen::Type& real);

/// The memory that a block of a fused kernel shares, in bytes.
[[nodiscard]] std::size_t shared_bytes_of(const KernelShape& shape, const cgen::Type& real,
                                          const FusedShape& fused);

/// The same with so few elements that a block fits into `limit` bytes; nullopt: not even one does.
[[nodiscard]] std::optional<FusedShape> fitted(const KernelShape& shape, const cgen::Type& real,
                                               FusedShape fused, std::size_t limit);

/// What usual_fused_shape must know of a machine.
enum class Machine { cpu, gpu, gpu_with_tensor_cores };
[[nodiscard]] Machine machine_of(const runtime::DeviceInfo& device);

/// A shape that is right on the machine and fast enough without a search.
///
/// @param with_split_singles  whether f32 may take tensor cores, see Product::tensor_cores
[[nodiscard]] FusedShape usual_fused_shape(const KernelShape& shape, const cgen::Type& real,
                                           Machine machine, bool with_split_singles = false);

}  // namespace rtcg::dg::detail
