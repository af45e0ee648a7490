#include "rtcg/arrays/sparse/chunked_product.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/blocks_at_once.h"
#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::arrays::detail {
namespace {

/// What kernels have in common.
struct ChunkText {
  std::string domains;
  std::string statements;
  std::string recipe;
};

std::int64_t threads_of_row(const ChunkShape& shape) {
  return std::max<std::int64_t>(shape.threads / shape.rows, 1);
}

/// Gives an iname to all threads, the last axis of a block first.
std::string over_threads(const std::string& iname, const ChunkShape& shape) {
  const std::string inner = iname + "_inner";
  const std::string tag = threads_of_row(shape) == 1
                              ? fmt::format("tag_inames({}:l.0)\n", inner)
                              : fmt::format("split_iname({}, {}, outer_tag=l.1, inner_tag=l.0)\n",
                                            inner, threads_of_row(shape));
  return fmt::format("split_iname({}, {}, outer_tag=unr)\n", iname, shape.threads) + tag;
}

/// Gives an iname of rows to the threads that add up rows.
std::string over_rows(const std::string& iname, const ChunkShape& shape) {
  const std::int64_t lanes = threads_of_row(shape);
  return fmt::format("split_iname({}, {}, outer_tag=unr, inner_tag=l.{})\n", iname,
                     shape.threads / lanes, lanes == 1 ? 0 : 1);
}

/// @param chunk  its number, in terms of inames `around`
ChunkText text_of_chunks(const ChunkShape& shape, const ColumnPackets& packets,
                         const std::string& chunk, const std::string& around) {
  ChunkText text;
  text.domains = fmt::format(
      "{{[h]: 0 <= h < {0}}} {{[t]: 0 <= t < {1} and {1}*({2}) + t < n}} "
      "{{[k]: 0 <= k < length}} ",
      shape.rows * shape.entries_of_row, shape.rows, chunk);
  // A compiler makes no branches of few conditional reads. It does of those through `base`, which
  // then wait for each other: the last entry is read again instead.
  const char* const products =
      packets.entries == 0
          ? "products[h] = value[entry + h]*x[column_of(entry + h)] "
            "{id=products, dep=entry:entries, if=h < entries}"
          : "<i32> place = max(min(entry + h, entry + entries - 1), 0) {id=place, "
            "dep=entry:entries}\n      "
            "products[h] = value[place]*x[column_of(place)] {id=products, dep=place}";
  text.statements = rule_of_columns(packets);
  text.statements +=
      fmt::format(R"(
      <> products[{0}]
      <i32> row = {1}*({2}) {{id=row, inames={3}}}
      <i32> entry = first[row] {{id=entry, inames={3}, dep=row}}
      <i32> entries = first[min(row + {1}, n)] - entry {{id=entries, inames={3}, dep=row:entry}}
      {4}
      <i32> begin = first[row + t] - entry {{id=begin, dep=row:entry}}
      <i32> length = first[row + t + 1] - entry - begin {{id=length, dep=begin}}
      <> total = sum(k, products[begin + k]) {{id=total, dep=begin:length:products}}
      y[{1}*({2}) + t] = total {{id=image, dep=total}}
      )",
                  shape.rows * shape.entries_of_row, shape.rows, chunk, around, products);
  text.recipe = over_threads("h", shape) + over_rows("t", shape);
  if (threads_of_row(shape) > 1) {
    text.recipe += fmt::format("split_iname(k, {}, inner_tag=l.0)\n", threads_of_row(shape));
  }
  return text;
}

loopy::KernelOptions options_of(DType dtype, const ColumnPackets& packets, const char* name,
                                const char* others) {
  loopy::KernelOptions options;
  options.name = name;
  options.default_type = loop_type(dtype);
  options.arguments = fmt::format("value: [nz]; y: [n]; first: i32[n + 1]; {}; n, nz: i32; {}",
                                  arguments_of_columns(packets), others);
  options.assumptions = "n >= 1 and nz >= 1";
  return options;
}

constexpr std::int64_t most_entries_of_row = 64;
constexpr std::int64_t most_rows_of_matrix = 1 << 30;  // and a last chunk, in 32 bits

std::int64_t rows_of_chunk(std::int64_t entries_of_row, std::int64_t element_bytes) {
  // One H200, 28 November 2026: of 32 to 512 rows and 128 or 256 threads, about as many products
  // as these bytes hold were best or within 4 % of that, for a stencil (7 a row) and a band of 27
  // in f32 and f64, 1.19 to 1.51 times the speed of cuSPARSE. If three rows in four are empty and
  // the others have 20 entries, 1.07 and 1.13 times.
  constexpr std::int64_t bytes_of_products = 16384;
  constexpr std::int64_t most_rows = 1024;
  const auto fitting =
      static_cast<std::uint64_t>(bytes_of_products / (entries_of_row * element_bytes));
  return std::min(static_cast<std::int64_t>(std::bit_floor(fitting)), most_rows);
}

}  // namespace

std::optional<ChunkShape> chunk_shape(std::int64_t rows, std::int64_t entries, std::int64_t longest,
                                      std::int64_t element_bytes) {
  constexpr std::int64_t exact = 16;  // longer ones share kernels
  const std::int64_t length =
      longest <= exact ? std::max<std::int64_t>(longest, 1) : (longest + 3) / 4 * 4;
  if (length > most_entries_of_row || longest * rows > 2 * entries || rows > most_rows_of_matrix) {
    return std::nullopt;
  }
  return ChunkShape{rows_of_chunk(length, element_bytes), length};
}

std::optional<ChunkShape> chunk_shape(runtime::StreamRef stream, const AnySparseMatrix& a) {
  const auto element_bytes = static_cast<std::int64_t>(size_bytes(a.dtype()));
  const auto longest = a.known_rows().longest(stream, a.first());
  if (!longest || a.entries() == 0) {
    return std::nullopt;
  }
  const auto of_even_rows = chunk_shape(a.rows(), a.entries(), *longest, element_bytes);
  if (of_even_rows || *longest > most_entries_of_row || a.rows() > most_rows_of_matrix) {
    return of_even_rows;
  }
  const std::int64_t rows = rows_of_chunk(ceil_divide(a.entries(), a.rows()), element_bytes);
  const auto most = a.known_rows().most_of_rows(stream, a.first(), rows);
  const std::int64_t mean = most ? ceil_divide(*most, rows) : 0;
  if (!most || mean * a.rows() > 2 * a.entries()) {
    return std::nullopt;
  }
  return ChunkShape{rows, mean};
}

loopy::Kernel chunked_product_kernel(DType dtype, const ChunkShape& shape,
                                     const ColumnPackets& packets) {
  const ChunkText text = text_of_chunks(shape, packets, "b", "b");
  return loopy::apply_recipe(
      loopy::make_kernel(fmt::format("{{[b]: 0 <= b and {}*b < n}} {}", shape.rows, text.domains),
                         text.statements,
                         options_of(dtype, packets, "sparse_product_by_chunks", "x: [m]; m: i32")),
      "tag_inames(b:g.0)\n" + text.recipe);
}

loopy::Kernel chunked_product_and_dot_kernel(DType dtype, const ChunkShape& shape,
                                             std::int64_t blocks, const ColumnPackets& packets) {
  const std::string chunk = fmt::format("{}*c + b", blocks);
  const ChunkText text = text_of_chunks(shape, packets, chunk, "b:c");
  return loopy::apply_recipe(
      loopy::make_kernel(
          fmt::format("{{[b, c]: 0 <= b < {0} and 0 <= c and {1}*({2}) < n}} {3}", blocks,
                      shape.rows, chunk, text.domains),
          text.statements + fmt::format(R"(
      product[0] = 0 {{id=start}}
      product[0] += x[{}*({}) + t]*total {{atomic, dep=start:total}}
      )",
                                        shape.rows, chunk),
          options_of(dtype, packets, "sparse_product_and_dot_by_chunks", "x: [n]; product: [1]")),
      "tag_inames(b:g.0)\n" + text.recipe + "reduce_updates(product)\n");
}

void multiply_by_chunks(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                        const AnyArray& y, const ChunkShape& shape) {
  static auto& known = *new KnownExecutors<std::tuple<DType, ChunkShape, ColumnPackets>>;
  std::vector<loopy::NamedArgument> arguments = product_arguments(stream, a, x, y);
  arguments.push_back(loopy::arg("m", a.columns()));
  const ColumnPackets packets = packets_of(a);
  known.of(stream.device(), {a.dtype(), shape, packets},
           [&] { return chunked_product_kernel(a.dtype(), shape, packets); })(stream, arguments);
}

void multiply_by_chunks_and_dot(runtime::StreamRef stream, const AnySparseMatrix& a,
                                const AnyArray& x, const AnyArray& y, const AnyArray& product,
                                const ChunkShape& shape) {
  static auto& known =
      *new KnownExecutors<std::tuple<DType, ChunkShape, std::int64_t, ColumnPackets>>;
  const std::int64_t blocks = blocks_at_once(stream.device());
  std::vector<loopy::NamedArgument> arguments = product_arguments(stream, a, x, y);
  arguments.push_back(loop_argument("product", product, stream));
  const ColumnPackets packets = packets_of(a);
  known.of(stream.device(), {a.dtype(), shape, blocks, packets}, [&] {
    return chunked_product_and_dot_kernel(a.dtype(), shape, blocks, packets);
  })(stream, arguments);
}

}  // namespace rtcg::arrays::detail
