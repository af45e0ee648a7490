#include "rtcg/arrays/sparse/tiled_product.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

/// A loop over all threads of a block.
std::string over_threads(const std::string& iname, const TileShape& shape) {
  return shape.threads_of_row == 1
             ? fmt::format("tag_inames({}:l.0)\n", iname)
             : fmt::format("split_iname({}, {}, outer_tag=l.1, inner_tag=l.0)\n", iname,
                           shape.threads_of_row);
}

}  // namespace

TileShape tile_shape(runtime::Device device, const AnySparseMatrix& a) {
  if (device.info().id.kind != runtime::BackendKind::cuda) {
    return {};  // without shuffles, several threads of a row would need barriers for each
  }
  // as many as find eight entries each. One H200, 28 November 2026, of 1 to 32 threads,
  // microseconds in f32 and f64:
  //   9 entries a row, one dense row   1 thread: 82.9, 90.1   4: 85.7, 91.6     16: 105, 114
  //   28 entries a row, a power law    4 threads: 231, 244    8: 232, 244       16: 235, 248
  const std::int64_t eighth = a.entries() / (8 * a.rows());
  return {.threads_of_row = static_cast<int>(
              std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(eighth, 1, 32))))};
}

std::vector<loopy::NamedArgument> product_arguments(runtime::StreamRef stream,
                                                    const AnySparseMatrix& a, const AnyArray& x,
                                                    const AnyArray& y) {
  std::vector<loopy::NamedArgument> result = {loop_argument("value", a.value(), stream),
                                              loop_argument("x", x, stream),
                                              loop_argument("y", y, stream),
                                              loop_argument("first", a.first(), stream),
                                              loop_argument("column", a.column(), stream),
                                              loopy::arg("n", a.rows()),
                                              loopy::arg("nz", a.entries())};
  if (a.format() == SparseFormat::packets) {
    result.push_back(loop_argument("base", a.base(), stream));
    result.push_back(loopy::arg("bases", a.base().count()));
  }
  return result;
}

loopy::Kernel tiled_product_kernel(DType dtype, const TileShape& shape,
                                   const ColumnPackets& packets) {
  loopy::KernelOptions options;
  options.name = "sparse_product_by_tiles";
  options.default_type = loop_type(dtype);
  options.arguments =
      "value: [nz]; x: [m]; y: [n]; carried: [tiles]; first: i32[n + 1]; row_of: i32[tiles + 1]; "
      "n, m, nz, tiles: i32; " +
      arguments_of_columns(packets);
  options.assumptions = "n >= 1 and m >= 1 and nz >= 1 and tiles >= 1";
  const std::string ends = shape.keeps_ends ? fmt::format(R"(
      <i32> ends[{}]
      ends[e] = first[row + e] - entry {{id=ends, dep=row:rows:entry}}
      <i32> begin = ends[q] {{id=begin, dep=ends}}
      <i32> end = min(ends[q + 1], count) {{id=end, dep=ends:count}})",
                                                          shape.items + 1)
                                            : std::string(R"(
      <i32> begin = first[row + q] - entry {id=begin, dep=row:rows:entry}
      <i32> end = min(first[row + q + 1] - entry, count) {id=end, dep=row:rows:entry:count})");
  loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[b, h]: 0 <= b < tiles and 0 <= h < {}}} {{[c]: 0 <= c < head}} "
                  "{{[q]: 0 <= q < rows}} {{[k]: 0 <= k < length}} {}",
                  shape.items, shape.keeps_ends ? "{[e]: 0 <= e <= rows}" : ""),
      rule_of_columns(packets) + fmt::format(R"(
      <> products[{0}]
      <i32> row = row_of[b] {{id=row, inames=b}}
      <i32> rows = row_of[b + 1] - row {{id=rows, inames=b, dep=row}}
      <i32> entry = {0}*b - row {{id=entry, inames=b, dep=row}}
      <i32> count = min({0} - rows, nz - entry) {{id=count, inames=b, dep=rows:entry}}
      products[h] = value[entry + h]*x[column_of(entry + h)] {{id=products, dep=count, if=h < count}}
      <i32> head = min(first[row] - entry, count) {{id=head, inames=b, dep=count}}
      carried[b] = sum(c, products[c]) {{dep=products:head{2}}}{1}
      <i32> length = end - begin {{id=length, dep=begin:end}}
      y[row + q] = sum(k, products[begin + k]) {{dep=begin:length:products, disjoint}}
      )",
                                             shape.items, ends, shape.keeps_ends ? ":ends" : ""),
      options);
  std::string recipe = fmt::format(
      "tag_inames(b:g.0)\nsplit_iname(h, {0}, outer_tag=unr)\n{1}split_iname(c, {0})\n{2}"
      "split_iname(q, {3}, inner_tag=l.{4})\n",
      shape.threads, over_threads("h_inner", shape), over_threads("c_inner", shape),
      shape.threads / shape.threads_of_row, shape.threads_of_row == 1 ? 0 : 1);
  if (shape.threads_of_row != 1) {
    recipe += fmt::format("split_iname(k, {}, inner_tag=l.0)\n", shape.threads_of_row);
  }
  if (shape.keeps_ends) {
    recipe += fmt::format("split_iname(e, {})\n{}", shape.threads, over_threads("e_inner", shape));
  }
  return loopy::apply_recipe(std::move(kernel), recipe);
}

loopy::Kernel carried_sums_kernel(DType dtype) {
  loopy::KernelOptions options;
  options.name = "carried_sums_of_tiles";
  options.default_type = loop_type(dtype);
  options.arguments =
      "y: [n]; carried: [tiles]; span_row, span_begin, span_end: i32[spans]; "
      "n, tiles, spans: i32";
  options.assumptions = "n >= 1 and tiles >= 1 and spans >= 1";
  return loopy::apply_recipe(
      loopy::make_kernel("{[s]: 0 <= s < spans} {[c]: 0 <= c < count}",
                         "<i32> begin = span_begin[s] {id=begin}\n"
                         "<i32> count = span_end[s] - begin {id=count, dep=begin}\n"
                         "<i32> row = span_row[s] {id=row}\n"
                         "y[row] = y[row] + sum(c, carried[begin + c]) {dep=count:row, disjoint}\n",
                         options),
      "split_iname(s, 8, outer_tag=g.0, inner_tag=l.1)\nsplit_iname(c, 32, inner_tag=l.0)\n");
}

void multiply_by_tiles(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                       const AnyArray& y, const TileShape& shape) {
  static auto& products = *new KnownExecutors<std::tuple<DType, TileShape, ColumnPackets>>;
  static auto& sums = *new KnownExecutors<DType>;
  const RowTiles& tiles = a.known_rows().tiles(stream, a.first(), a.entries(), shape.items);
  const AnyArray carried(a.dtype(), Extents{tile_count(a.rows(), a.entries(), shape.items)},
                         stream);
  std::vector<loopy::NamedArgument> arguments = product_arguments(stream, a, x, y);
  arguments.push_back(loopy::arg("m", a.columns()));
  arguments.push_back(loop_argument("carried", carried, stream));
  arguments.push_back(loop_argument("row_of", tiles.row, stream));
  arguments.push_back(loopy::arg("tiles", carried.count()));
  const ColumnPackets packets = packets_of(a);
  products.of(stream.device(), {a.dtype(), shape, packets},
              [&] { return tiled_product_kernel(a.dtype(), shape, packets); })(stream, arguments);
  if (tiles.span_row.count() != 0) {
    sums.of(stream.device(), a.dtype(), [&] { return carried_sums_kernel(a.dtype()); })(
        stream,
        {loop_argument("y", y, stream), loop_argument("carried", carried, stream),
         loop_argument("span_row", tiles.span_row, stream),
         loop_argument("span_begin", tiles.span_begin, stream),
         loop_argument("span_end", tiles.span_end, stream), loopy::arg("n", a.rows()),
         loopy::arg("tiles", carried.count()), loopy::arg("spans", tiles.span_row.count())});
  }
}

}  // namespace rtcg::arrays::detail
