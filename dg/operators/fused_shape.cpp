#include "rtcg/dg/operators/fused_shape.h"

#include <algorithm>
#include <numeric>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/dg/operators/block_product.h"

namespace rtcg::dg::detail {

using cgen::Type;

FusedMemory fused_memory(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  const auto product = BlockProduct::make(shape, real, fused);
  FusedMemory memory;
  memory.combines_values =
      shape.volume_terms > 0 && product->takes_values() && !fused.has_nodal_fluxes;
  memory.values_rows = memory.combines_values ? product->padded(shape.nodes) : shape.nodes;
  // `work` behind the values begins at 16 bytes, an even number of packs
  const int rows = memory.values_rows;
  memory.values_stride = product->values_stride(rows % 4 == 0 ? 1 : (rows % 2 == 0 ? 2 : 4));
  memory.first_row_of_weights = product->padded(shape.lifted() / fused.face_groups);
  const int weights = memory.combines_values ? shape.dimension * shape.volume_terms : 0;
  memory.work_rows = std::max(product->padded(shape.nodes), memory.first_row_of_weights + weights);
  memory.work_stride = product->stride();
  return memory;
}

std::vector<Matrix> lift_of_groups(const Matrix& lift, int groups) {
  const std::size_t columns = lift.columns / static_cast<std::size_t>(groups);
  std::vector<Matrix> result;
  for (std::size_t first = 0; first < lift.columns; first += columns) {
    Matrix& part = result.emplace_back();
    part = {lift.rows, columns, std::vector<double>(lift.rows * columns)};
    for (std::size_t i = 0; i < lift.rows; ++i) {
      for (std::size_t k = 0; k < columns; ++k) {
        part(i, k) = lift(i, first + k);
      }
    }
  }
  return result;
}

std::vector<double> operators_table(const std::vector<Matrix>& derivatives, const Matrix& lift,
                                    const FusedShape& fused, const cgen::Type& real) {
  std::vector<Matrix> parts = derivatives;
  for (Matrix& part : lift_of_groups(lift, fused.face_groups)) {
    parts.push_back(std::move(part));
  }
  KernelShape shape;
  shape.nodes = static_cast<int>(lift.rows);
  return BlockProduct::make(shape, real, fused)->table(parts);
}

std::size_t shared_bytes_of(const KernelShape& shape, const Type& real, const FusedShape& fused) {
  if (fused.product == Product::on_host) {
    return 0;
  }
  return static_cast<std::size_t>(fused_memory(shape, real, fused).numbers()) *
         (real == cgen::f32 ? 4U : 8U);
}

std::optional<FusedShape> fitted(const KernelShape& shape, const Type& real, FusedShape fused,
                                 std::size_t limit) {
  while (fused.elements > 1 && shared_bytes_of(shape, real, fused) > limit) {
    fused.elements = (fused.elements + 1) / 2;
  }
  if (fused.elements * shape.fields % fused.columns_per_thread != 0) {
    fused.columns_per_thread = 1;
    fused.product = fused.product == Product::tensor_cores ? Product::tiles : fused.product;
  }
  return shared_bytes_of(shape, real, fused) <= limit ? std::optional(fused) : std::nullopt;
}

Machine machine_of(const runtime::DeviceInfo& device) {
  switch (device.id.kind) {
    case runtime::BackendKind::host:
      return Machine::cpu;
    case runtime::BackendKind::cuda:
      return device.target >= "sm_90" && device.target.size() >= 5 ? Machine::gpu_with_tensor_cores
                                                                   : Machine::gpu;
    case runtime::BackendKind::opencl:
      break;
  }
  return Machine::gpu;
}

namespace {

/// Sums and differences spare the most in three dimensions, where they beat tensor cores up to a
/// number of nodes.
bool is_best_by_reflections(const KernelShape& shape, bool is_single, bool has_tensor_cores) {
  const int most_nodes = !is_single ? 35 : has_tensor_cores ? 56 : 84;
  return shape.volume_terms > 0 && shape.faces == 4 && shape.nodes <= most_nodes;
}

FusedShape shape_with_reflections(const KernelShape& shape, Prefetch prefetch) {
  FusedShape fused;
  fused.product = Product::reflections;
  fused.prefetch = prefetch;
  // whole warps of columns; what many nodes keep in shared memory leaves room for fewer
  const int columns = shape.nodes <= 20 ? 96 : shape.nodes <= 56 ? 192 : 48;
  fused.elements = std::max(1, columns / shape.fields);
  fused.face_groups = 2;
  if (shape.nodes == 20 && prefetch == Prefetch::l2_cache) {  // order 3: 4 to 9 % faster
    fused.prefetch = Prefetch::async_copy;
    fused.face_groups = 1;
  } else if (shape.nodes > 56) {
    fused.face_groups = 1;
  }
  return fused;
}

}  // namespace

// What a search found for Maxwell's equations on an H200 (docs/performance.md).
FusedShape default_fused_shape(const KernelShape& shape, const Type& real, Machine machine,
                               bool with_split_singles) {
  FusedShape fused;
  const bool is_single = real == cgen::f32;
  if (machine == Machine::cpu) {
    fused.product = Product::on_host;
    return fused;
  }
  const bool has_tensor_cores =
      machine == Machine::gpu_with_tensor_cores && (!is_single || with_split_singles);
  fused.prefetch = machine == Machine::gpu_with_tensor_cores ? Prefetch::l2_cache : Prefetch::none;
  if (is_best_by_reflections(shape, is_single, has_tensor_cores)) {
    return shape_with_reflections(shape, fused.prefetch);
  }
  if (shape.nodes <= (is_single ? 35 : (has_tensor_cores ? 10 : 20))) {
    // 96 columns give whole warps one each
    const bool is_large = is_single && shape.nodes > 20;
    fused.elements = std::max(1, (is_single ? (is_large ? 192 : 96) : 48) / shape.fields);
    fused.product = Product::literals;
    fused.face_groups = shape.faces % 2 == 0 ? 2 : 1;
    fused.blocks_per_multiprocessor = is_large && fused.prefetch == Prefetch::l2_cache ? 3 : 0;
    return fused;
  }
  // so many that packs of columns divide them
  const int whole = 8 / std::gcd(8, shape.fields);
  if (has_tensor_cores) {
    fused.product = Product::tensor_cores;
    const int tiles = (shape.nodes + 15) / 16;
    const bool is_wide = is_single ? tiles <= 8 : tiles <= 3;
    fused.elements = std::max(1, (is_wide ? 48 : 24) / (whole * shape.fields)) * whole;
    const int columns = (is_single && tiles <= 4) || (!is_single && tiles <= 3) ? 16 : 24;
    fused.columns_per_thread = std::gcd(fused.elements * shape.fields, columns);
    const int of_warp = is_single ? (tiles > 4 && tiles <= 12 ? 3 : 2) : (tiles <= 2 ? 2 : 1);
    fused.row_groups = (tiles + of_warp - 1) / of_warp;
    fused.has_nodal_fluxes = !is_single && fused.row_groups > 2;
    return fused;
  }
  fused.elements = std::max(1, (is_single ? 48 : 24) / (whole * shape.fields)) * whole;
  fused.columns_per_thread = is_single ? 8 : 4;
  fused.row_groups = (shape.nodes + 3) / 4;
  return fused;
}

}  // namespace rtcg::dg::detail
