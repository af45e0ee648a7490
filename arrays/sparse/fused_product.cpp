#include "rtcg/arrays/sparse/fused_product.h"

#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {

namespace {

constexpr std::int64_t threads_of_block = 128;

/// One of each thread while rows are few; of many rows so many that the last block has little to
/// add up.
std::int64_t rows_of_block(std::int64_t rows) {
  constexpr std::int64_t many = 1 << 19;
  return rows < many ? threads_of_block : 8 * threads_of_block;
}

}  // namespace

loopy::Kernel fused_product_kernel(DType dtype, std::int64_t rows_of_block,
                                   const ColumnPackets& packets) {
  loopy::KernelOptions options;
  options.name = "sparse_product_and_dot";
  options.default_type = loop_type(dtype);
  options.arguments = "value: [nz]; x: [n]; y: [n]; first: i32[n + 1]; product: [1]; n, nz: i32; " +
                      arguments_of_columns(packets);
  options.assumptions = "n >= 1 and nz >= 1";
  loopy::Kernel kernel =
      loopy::make_kernel("{[t]: 0 <= t < n} {[k]: begin <= k < end}", rule_of_columns(packets) + R"(
      <> begin = first[t] {id=begin}
      <> end = first[t + 1] {id=end}
      y[t] = sum(k, value[k]*x[column_of(k)]) {id=image, dep=begin:end}
      product[0] = 0 {id=start}
      product[0] += x[t]*y[t] {atomic, dep=start:image}
      )",
                         options);
  return loopy::apply_recipe(
      std::move(kernel),
      fmt::format("split_iname(t, {}, outer_name=block, outer_tag=g.0, inner_name=row)\n"
                  "split_iname(row, {}, inner_tag=l.0)\n"
                  "reduce_updates(product)\n",
                  rows_of_block, threads_of_block));
}

void multiply_and_dot(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                      const AnyArray& y, const AnyArray& product) {
  static auto& known = *new KnownExecutors<std::tuple<DType, std::int64_t, ColumnPackets>>;
  const std::int64_t block = rows_of_block(a.rows());
  const ColumnPackets packets = packets_of(a);
  std::vector<loopy::NamedArgument> arguments = product_arguments(stream, a, x, y);
  arguments.push_back(loop_argument("product", product, stream));
  known.of(stream.device(), {a.dtype(), block, packets},
           [&] { return fused_product_kernel(a.dtype(), block, packets); })(stream, arguments);
}

}  // namespace rtcg::arrays::detail
