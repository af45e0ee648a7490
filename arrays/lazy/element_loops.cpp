#include "rtcg/arrays/lazy/element_loops.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

using cgen::Expr;

/// One element a thread. A loop all the same, so that `continue` means the next
/// element.
void emit_flat_loop(KernelSignature& parameters, int threads_of_block, const EmitElement& element,
                    cgen::BlockBuilder& body) {
  const Expr count = parameters.add_index_parameter("count");
  const cgen::Type& type = parameters.index_type();
  const Expr threads = parameters.index(threads_of_block);
  const Expr first = cast(type, cgen::block_idx_x) * threads + cast(type, cgen::thread_idx_x);
  const int axes = static_cast<int>(parameters.lengths().size());
  const auto loop = [&](const Expr& k, cgen::BlockBuilder& block) {
    element(parameters.offsets(parameters.split_place(k, 0, axes, "k", block)), k, block);
  };
  body << cgen::for_(type, parameters.rename("k"), first, count, loop,
                     {.step = cast(type, cgen::grid_dim_x) * threads});
}

/// A range of rows and one of columns for each call, so that the inner loop is
/// one that compilers turn into vector code.
void emit_row_loops(KernelSignature& parameters, const EmitElement& element,
                    cgen::BlockBuilder& body) {
  const Expr rows = parameters.add_index_parameter("rows");
  const Expr rows_each = parameters.add_index_parameter("rows_each");
  const Expr columns_each = parameters.add_index_parameter("columns_each");
  const cgen::Type& type = parameters.index_type();
  const int inner = static_cast<int>(parameters.lengths().size()) - 1;
  const auto range = [&](const char* name, const Expr& block, const Expr& each, const Expr& end) {
    const Expr first =
        parameters.declare_index(fmt::format("{}_first", name), cast(type, block) * each, body);
    const Expr last = parameters.declare_index(fmt::format("{}_end", name),
                                               select(end - first < each, end, first + each), body);
    return std::pair(first, last);
  };
  const auto [row_first, row_end] = range("row", cgen::block_idx_x, rows_each, rows);
  const auto [column_first, column_end] =
      range("column", cgen::block_idx_y, columns_each, parameters.length(inner));
  const auto row_loop = [&, column_first = column_first, column_end = column_end](
                            const Expr& row, cgen::BlockBuilder& outer) {
    const std::vector<Expr> index = parameters.split_place(row, 0, inner, "k", outer);
    std::vector<Expr> bases;
    for (std::size_t operand = 0; operand < parameters.operands(); ++operand) {
      bases.push_back(parameters.declare_index(fmt::format("{}_row", parameters.name(operand)),
                                               parameters.offset(operand, index), outer));
    }
    const auto column_loop = [&](const Expr& j, cgen::BlockBuilder& block) {
      std::vector<Expr> offsets = parameters.offsets({j}, inner);
      for (std::size_t operand = 0; operand < offsets.size(); ++operand) {
        offsets[operand] = bases[operand] + offsets[operand];
      }
      element(offsets, row * parameters.length(inner) + j, block);
    };
    outer << cgen::for_(type, parameters.rename("j"), column_first, column_end, column_loop, {});
  };
  body << cgen::for_(type, parameters.rename("row"), row_first, row_end, row_loop, {});
}

/// On the host: how many rows and columns one call does, and how many calls
/// that makes.
ElementPlan split_rows(runtime::Device device, const Extents& lengths) {
  constexpr std::int64_t least_elements = 4096;  // fewer are not worth waking a thread
  const std::int64_t columns = lengths.back();
  const std::int64_t rows = element_count(lengths) / columns;
  const std::int64_t calls = std::clamp<std::int64_t>(
      rows * columns / least_elements, 1, 4 * std::max(device.info().multiprocessors, 1));
  const std::int64_t rows_each = ceil_divide(rows, std::min(rows, calls));
  const std::int64_t row_calls = ceil_divide(rows, rows_each);
  const std::int64_t columns_each =
      ceil_divide(columns, std::min(columns, std::max<std::int64_t>(calls / row_calls, 1)));
  const auto column_calls = static_cast<std::uint64_t>(ceil_divide(columns, columns_each));
  return {{{static_cast<std::uint64_t>(row_calls), column_calls}, 1},
          {rows, rows_each, columns_each}};
}

}  // namespace

void emit_element_loops(cgen::Dialect dialect, KernelSignature& parameters,
                        const EmitElement& element, cgen::BlockBuilder& body) {
  if (dialect == cgen::Dialect::c) {
    emit_row_loops(parameters, element, body);
  } else {
    emit_flat_loop(parameters, block_threads(dialect), element, body);
  }
}

void emit_pack_loops(cgen::Dialect dialect, KernelSignature& parameters, int lanes,
                     const EmitElement& pack, const EmitElement& element,
                     cgen::BlockBuilder& body) {
  const Expr count = parameters.add_index_parameter("count");
  const cgen::Type& type = parameters.index_type();
  const Expr threads = parameters.index(block_threads(dialect));
  const Expr each = parameters.index(lanes);
  const Expr thread = cast(type, cgen::block_idx_x) * threads + cast(type, cgen::thread_idx_x);
  const auto last_elements = [&](const Expr& first) {
    return [&, first](cgen::BlockBuilder& rest) {
      rest << cgen::for_(type, parameters.rename("last"), first, count,
                         [&](const Expr& last, cgen::BlockBuilder& loop) {
                           element(parameters.offsets({last}), last, loop);
                         },
                         {.step = 1, .unroll = 1});
    };
  };
  const auto loop = [&](const Expr& k, cgen::BlockBuilder& block) {
    block << if_(k + parameters.index(lanes - 1) < count, [&](cgen::BlockBuilder& whole) {
               pack(parameters.offsets({k}), k, whole);
             }).else_(last_elements(k));
  };
  body << cgen::for_(type, parameters.rename("k"), thread * each, count, loop,
                     {.step = cast(type, cgen::grid_dim_x) * threads * each});
}

ElementPlan plan_elements(runtime::Device device, const Extents& lengths, int lanes) {
  const cgen::Dialect dialect = loopy::dialect_of(device);
  if (dialect == cgen::Dialect::c) {
    return split_rows(device, lengths);
  }
  const std::int64_t count = element_count(lengths);
  const int threads = block_threads(dialect);
  constexpr std::int64_t most_blocks = 1 << 30;
  const std::int64_t blocks = ceil_divide(count, std::int64_t{threads} * lanes);
  return {{{static_cast<std::uint64_t>(std::min(blocks, most_blocks))},
           {static_cast<std::uint64_t>(threads)}},
          {count}};
}

}  // namespace rtcg::arrays::detail
