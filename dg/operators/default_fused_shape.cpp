#include "rtcg/dg/operators/default_fused_shape.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/gpu_limits.h"

namespace rtcg::dg::detail {
namespace {

using cgen::Type;

// ---- measured shapes ---------------------------------------------------------------------------

enum class Number { f32, whole_f32, split_f32, f64 };  // split: SolverOptions::split_singles
enum class Flux { linear_3d, any };  // linear fluxes on tetrahedra have reflections

/// The fastest shape of a search, for kernels of up to this number of nodes per element.
struct MeasuredShape {
  const char* architecture;  ///< DeviceInfo::target of CUDA devices
  Number number;
  Flux flux;
  int most_nodes;
  Product product;
  int columns;             ///< of a block: its elements times the fields
  int columns_per_thread;  ///< or warp
  int rows;                ///< of a thread or warp; 0: all
  int face_groups;         ///< of an even number of faces
  int blocks;              ///< of a multiprocessor; 0: any
  Prefetch prefetch;
  const char* device;
  const char* date;
  const char* gain;  ///< in GDOF/s over libParanumal for Maxwell's equations of that order N
};

// Milliseconds of a step of Maxwell's equations, N = 4, 4374 elements, f32 / f64, by elements of a
// block (NVIDIA H200, 132 multiprocessors, 2026-11-29, `rtcg_bench_gpu scaling_strong`):
//
//   32: 0.087 / 0.137   24: 0.082 / 0.123   16: 0.081 / 0.121   12: 0.075 / 0.114   8: 0.079 /
//   0.123
constexpr std::size_t blocks_of_small_mesh = 2;  ///< of a multiprocessor
constexpr int least_columns = 48;                ///< of a block

constexpr int any_nodes = std::numeric_limits<int>::max();

// The first row that fits counts. Figures: docs/performance.md, `rtcg_bench_gpu dg_maxwell_search`.
// clang-format off
constexpr MeasuredShape measured_shapes[] = {
    // architecture, number, flux, nodes, product, columns, per thread, rows, faces, blocks, prefetch, device, date, gain
    {"sm_90", Number::f32, Flux::linear_3d, 10, Product::reflections, 96, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-22", "2.5 (N = 1), 2.7 (N = 2)"},
    {"sm_90", Number::f32, Flux::linear_3d, 20, Product::reflections, 96, 1, 0, 1, 0, Prefetch::async_copy, "NVIDIA H200", "2026-11-22", "3.1 (N = 3); 1.04 to 1.09 over the row above"},
    {"sm_90", Number::f32, Flux::linear_3d, 56, Product::reflections, 192, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-22", "3.2 (N = 4), 2.7 (N = 5)"},
    {"sm_90", Number::whole_f32, Flux::linear_3d, 84, Product::reflections, 48, 1, 0, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-22", "1.9 (N = 6)"},
    {"sm_90", Number::f32, Flux::any, 20, Product::literals, 96, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.5 (N = 1), 2.7 (N = 2), 2.8 (N = 3)"},
    {"sm_90", Number::f32, Flux::any, 35, Product::literals, 192, 1, 0, 2, 3, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.8 (N = 4)"},
    {"sm_90", Number::whole_f32, Flux::any, any_nodes, Product::tiles, 48, 8, 4, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "1.4 (N = 7), 1.6 (N = 8), 1.4 (N = 9)"},
    {"sm_90", Number::split_f32, Flux::any, 64, Product::tensor_cores, 48, 16, 32, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "-"},
    {"sm_90", Number::split_f32, Flux::any, 128, Product::tensor_cores, 48, 24, 48, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.3 (N = 6), 2.4 (N = 7)"},
    {"sm_90", Number::split_f32, Flux::any, 192, Product::tensor_cores, 24, 24, 48, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.6 (N = 8)"},
    {"sm_90", Number::split_f32, Flux::any, any_nodes, Product::tensor_cores, 24, 24, 32, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.3 (N = 9)"},
    {"sm_90", Number::f64, Flux::linear_3d, 10, Product::reflections, 96, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-22", "2.2 (N = 1), 2.7 (N = 2)"},
    {"sm_90", Number::f64, Flux::linear_3d, 20, Product::reflections, 96, 1, 0, 1, 0, Prefetch::async_copy, "NVIDIA H200", "2026-11-22", "2.6 (N = 3); 1.04 to 1.09 over the row above"},
    {"sm_90", Number::f64, Flux::linear_3d, 35, Product::reflections, 192, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-22", "2.7 (N = 4)"},
    {"sm_90", Number::f64, Flux::any, 10, Product::literals, 48, 1, 0, 2, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.2 (N = 1), 2.6 (N = 2)"},
    {"sm_90", Number::f64, Flux::any, 32, Product::tensor_cores, 48, 16, 32, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.3 (N = 3)"},
    {"sm_90", Number::f64, Flux::any, 48, Product::tensor_cores, 48, 16, 16, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.5 (N = 4)"},
    {"sm_90", Number::f64, Flux::any, any_nodes, Product::tensor_cores, 24, 24, 16, 1, 0, Prefetch::l2_cache, "NVIDIA H200", "2026-11-21", "2.9 (N = 5), 3.1 (N = 6), 3.0 (N = 7), 2.7 (N = 8), 2.7 (N = 9)"},
};
// clang-format on

bool has_reflections(const KernelShape& shape) {
  return shape.volume_terms > 0 && shape.faces == 4;
}

/// Elements of a block that has about this number of columns; packs of columns divide those of
/// tables.
int elements_for(const KernelShape& shape, int columns, Product product) {
  const bool has_packs = product == Product::tiles || product == Product::tensor_cores;
  const int whole = has_packs ? 8 / std::gcd(8, shape.fields) : 1;
  return std::max(1, columns / (whole * shape.fields)) * whole;
}

int groups_of(int nodes, int rows) {
  return rows == 0 ? 1 : (nodes + rows - 1) / rows;
}

FusedShape shape_of_row(const KernelShape& shape, const MeasuredShape& row) {
  FusedShape fused;
  fused.product = row.product;
  fused.elements = elements_for(shape, row.columns, row.product);
  fused.columns_per_thread = std::gcd(fused.elements * shape.fields, row.columns_per_thread);
  fused.row_groups = groups_of(shape.nodes, row.rows);
  fused.face_groups = shape.faces % row.face_groups == 0 ? row.face_groups : 1;
  fused.blocks_per_multiprocessor = row.blocks;
  fused.prefetch = row.prefetch;
  // more row groups would make the same fluxes of the values
  fused.has_nodal_fluxes =
      row.product == Product::tensor_cores && row.number == Number::f64 && fused.row_groups > 2;
  return fused;
}

// ---- a model of other devices ------------------------------------------------------------------

/// Instruction caches hold the instructions of about this number of bytes of constants; a thread
/// with more of them waits for instructions.
constexpr std::size_t most_constant_bytes = std::size_t{32} << 10;
/// Four warps hide the latency of arithmetic on one scheduler each.
constexpr int threads_of_block = 4 * warp_size;
/// The registers of 4 bytes for the sums of a thread of tiles.
constexpr int registers_of_tile = 32;
constexpr int rows_of_tile = 4;

/// Shared memory of a multiprocessor that one of two blocks may take: one computes, one waits.
std::size_t shared_bytes_of_two(const runtime::DeviceInfo& device) {
  return device.shared_bytes_per_multiprocessor > 0 ? device.shared_bytes_per_multiprocessor / 2
                                                    : device.shared_bytes_per_block;
}

FusedShape modelled_shape(const KernelShape& shape, const Type& real,
                          const runtime::DeviceInfo& device, bool with_split_singles) {
  const std::size_t real_bytes = real == cgen::f32 ? 4 : 8;
  const auto constants =
      static_cast<std::size_t>(shape.nodes * (shape.dimension * shape.nodes + shape.lifted()));
  const std::size_t constant_bytes = constants * real_bytes;
  FusedShape fused;
  if (has_reflections(shape) && constant_bytes / 3 <= most_constant_bytes) {
    fused.product = Product::reflections;
  } else if (constant_bytes <= most_constant_bytes) {
    fused.product = Product::literals;
  } else if (with_split_singles && real == cgen::f32 && has_tensor_cores(device)) {
    fused.product = Product::tensor_cores;
    fused.row_groups = groups_of(shape.nodes, 32);
    fused.columns_per_thread = 8;
  } else {
    fused.product = Product::tiles;
    fused.row_groups = groups_of(shape.nodes, rows_of_tile);
    fused.columns_per_thread = registers_of_tile / rows_of_tile / static_cast<int>(real_bytes / 4);
  }
  const int lanes = fused.product == Product::tensor_cores ? warp_size : 1;
  const int columns = threads_of_block / (lanes * fused.row_groups) * fused.columns_per_thread;
  fused.elements = elements_for(shape, columns, fused.product);
  return fitted(shape, real, fused, shared_bytes_of_two(device)).value_or(fused);
}

}  // namespace

bool has_tensor_cores(const runtime::DeviceInfo& device) {
  return device.id.kind == runtime::BackendKind::cuda &&
         device.compute_capability >= std::array<int, 2>{9, 0};
}

FusedShape default_fused_shape(const KernelShape& shape, const Type& real,
                               const runtime::DeviceInfo& device, bool with_split_singles) {
  if (device.id.kind == runtime::BackendKind::host || device.is_cpu) {
    FusedShape fused;
    fused.product = Product::on_host;
    return fused;
  }
  const auto is_of = [&](Number number) {
    return real == cgen::f64
               ? number == Number::f64
               : number == Number::f32 ||
                     number == (with_split_singles ? Number::split_f32 : Number::whole_f32);
  };
  for (const MeasuredShape& row : measured_shapes) {
    if (device.id.kind == runtime::BackendKind::cuda && device.target == row.architecture &&
        is_of(row.number) && shape.nodes <= row.most_nodes &&
        (row.flux == Flux::any || has_reflections(shape))) {
      return shape_of_row(shape, row);
    }
  }
  return modelled_shape(shape, real, device, with_split_singles);
}

FusedShape spread_over(const KernelShape& shape, const runtime::DeviceInfo& device,
                       FusedShape fused, std::size_t elements) {
  const bool has_columns =
      fused.product == Product::literals || fused.product == Product::reflections;
  const std::size_t wanted =
      static_cast<std::size_t>(device.multiprocessors) * blocks_of_small_mesh;
  while (has_columns && fused.elements % 2 == 0 &&
         fused.elements * shape.fields >= 2 * least_columns &&
         elements / static_cast<std::size_t>(fused.elements) < wanted) {
    fused.elements /= 2;
  }
  return fused;
}

}  // namespace rtcg::dg::detail
