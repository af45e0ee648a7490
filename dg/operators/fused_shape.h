#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/dg/operators/kernel_tables.h"

// The mapping of a fused kernel to a machine, and the memory that it needs.

namespace rtcg::dg::detail {

/// The way in which a block multiplies its columns, each a field of an element, by the matrices.
enum class Product {
  on_host,   ///< a block is one thread, columns are loops: no barriers
  literals,  ///< a thread has one column; matrices are literals in the text, without zeros
  /// The same between sums and differences of nodes that reflections of the element swap, see
  /// dg/reference/reflections.h: a third of the products. It needs linear volume fluxes, and all
  /// faces at once or, in three dimensions, in two turns, to spare that much.
  reflections,
  tiles,  ///< a thread has a tile of sums; matrices are the table `operators`
  /// A warp has tiles of 16 rows and 8 columns, the table is in the order of its lanes: CUDA from
  /// sm_90 on. In f64 tensor cores multiply as exactly as others do. In f32 each factor is cut into
  /// two numbers of tf32 and three of their four products are added: the error is that of f32.
  tensor_cores,
};

/// The data that a block prefetches.
enum class Prefetch {
  none,
  l2_cache,  ///< data that is read last goes to the L2 cache: CUDA from sm_90 on
  /// Also values of elements and neighbours go to shared memory while threads do other things: CUDA
  /// from sm_90 on, where volume fluxes are linear.
  async_copy,
};

/// The mapping of a fused kernel to the machine.
struct FusedShape {
  int elements = 8;  ///< of a block
  Product product = Product::tiles;
  int row_groups = 1;                 ///< threads, or warps, that share a column; otherwise 1
  int columns_per_thread = 1;         ///< or warp; must divide elements * fields
  int blocks_per_multiprocessor = 0;  ///< registers are limited for this number; 0: no limit
  /// Faces are lifted in this number of turns, a divisor of their number: less shared memory.
  int face_groups = 1;
  Prefetch prefetch = Prefetch::none;
  /// Volume fluxes are evaluated at nodes even if they are linear and the product could compute
  /// them from the values: less work if many row groups would repeat it.
  bool has_nodal_fluxes = false;
  /// The right-hand side goes to memory, and a second kernel updates the state in place.
  bool updates_apart = false;

  friend bool operator==(const FusedShape&, const FusedShape&) = default;
};

/// `elements=16 product=literals row_groups=1 ...`: every member, in this order.
[[nodiscard]] std::string to_string(const FusedShape& shape);
/// The shape that to_string wrote; nullopt: the text is another.
[[nodiscard]] std::optional<FusedShape> parse_fused_shape(std::string_view text);

/// The memory that a block shares: values of its elements, then fluxes, one row for each node or
/// place on the surface, one column for each field of an element.
struct FusedMemory {
  bool combines_values = false;  ///< the product makes volume fluxes of the values itself
  int values_rows = 0;
  int values_stride = 0;  ///< from row to row
  int work_rows = 0;
  int work_stride = 0;
  int first_row_of_weights = 0;  ///< of linear volume fluxes, in `work` after the faces' fluxes

  [[nodiscard]] int numbers() const noexcept {
    return values_rows * values_stride + work_rows * work_stride;
  }
};
[[nodiscard]] FusedMemory fused_memory(const KernelShape& shape, const cgen::Type& real,
                                       const FusedShape& fused);

/// The columns of the lift that belong to each group of faces.
[[nodiscard]] std::vector<Matrix> lift_of_groups(const Matrix& lift, int groups);

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

}  // namespace rtcg::dg::detail
