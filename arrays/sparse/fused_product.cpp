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
  loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[b, t]: 0 <= b and 0 <= t < {0} and {0}*b + t < n}} {{[k]: begin <= k < end}} "
                  "{{[s]: 0 <= s < {0} and {0}*b + s < n}} {{[c]: 0 <= c and {0}*c < n}}",
                  rows_of_block),
      rule_of_columns(packets) + fmt::format(R"(
      <{0}> parts[(n + {2})//{1}]
      <> begin = first[{1}*b + t] {{id=begin}}
      <> end = first[{1}*b + t + 1] {{id=end}}
      y[{1}*b + t] = sum(k, value[k]*x[column_of(k)]) {{id=image, dep=begin:end}}
      parts[b] = sum(s, x[{1}*b + s]*y[{1}*b + s]) {{id=parts, dep=image}}
      ... last_block {{id=all, dep=parts}}
      product[0] = sum(c, parts[c]) {{dep=all}}
      )",
                                             name(dtype), rows_of_block, rows_of_block - 1),
      options);
  return loopy::apply_recipe(std::move(kernel),
                             fmt::format("set_temporary_address_space([parts], global)\n"
                                         "tag_inames(b:g.0)\n"
                                         "split_iname(t, {0}, inner_tag=l.0)\n"
                                         "split_iname(s, {0}, inner_tag=l.0)\n"
                                         "split_iname(c, {0}, inner_tag=l.0)\n",
                                         threads_of_block));
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
