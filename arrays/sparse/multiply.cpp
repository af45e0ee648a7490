// Products of sparse matrices: kernels of the loop engine with rows of computed lengths, and rows
// in kernels of expressions.
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/cusparse.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::arrays {
namespace {

loopy::Kernel sparse_product(DType dtype, bool has_columns, const detail::ColumnPackets& packets) {
  const std::string bounds = detail::rule_of_columns(packets) +
                             "<> begin = first[i] {id=begin}\n"
                             "<> end = first[i + 1] {id=end}\n";
  loopy::KernelOptions options;
  options.name = has_columns ? "sparse_times_dense" : "sparse_product";
  options.default_type = detail::loop_type(dtype);
  options.arguments = has_columns ? "value: [nz]; x: [m, w]; y: [n, w]; first: i32[n + 1]; "
                                    "n, m, nz, w: i32; "
                                  : "value: [nz]; x: [m]; y: [n]; first: i32[n + 1]; "
                                    "n, m, nz: i32; ";
  options.arguments += detail::arguments_of_columns(packets);
  options.assumptions =
      has_columns ? "n >= 1 and m >= 1 and nz >= 1 and w >= 1" : "n >= 1 and m >= 1 and nz >= 1";
  return has_columns
             ? loopy::make_kernel(
                   "{[i, j]: 0 <= i < n and 0 <= j < w} {[k]: begin <= k < end}",
                   fmt::format("{}y[i, j] = sum(k, value[k]*x[column_of(k), j]) {{dep=begin:end}}",
                               bounds),
                   options)
             : loopy::make_kernel(
                   "{[i]: 0 <= i < n} {[k]: begin <= k < end}",
                   fmt::format("{}y[i] = sum(k, value[k]*x[column_of(k)]) {{dep=begin:end}}",
                               bounds),
                   options);
}

/// Made once for each element type.
const detail::LoopCall& product_of(DType dtype, bool has_columns,
                                   const detail::ColumnPackets& packets) {
  using Key = std::tuple<DType, bool, detail::ColumnPackets>;
  static auto& known = *new detail::MadeOnce<Key, detail::LoopCall>;
  return known.of({dtype, has_columns, packets},
                  [&] { return sparse_product(dtype, has_columns, packets); });
}

void require_fitting(const AnySparseMatrix& a, DType dtype, const Extents& shape) {
  if ((shape.size() != 1 && shape.size() != 2) || shape[0] != a.columns()) {
    throw InvalidInput("arrays.sparse.shape_mismatch",
                       fmt::format("a sparse matrix of {} x {} and an array of shape {} cannot be "
                                   "multiplied: the array needs {} rows, and one or two axes",
                                   a.rows(), a.columns(), to_string(shape), a.columns()));
  }
  if (dtype != a.dtype()) {
    throw InvalidInput("arrays.sparse.dtype",
                       fmt::format("a sparse matrix of {} times an array of {}: convert one of "
                                   "them by as_type()",
                                   name(a.dtype()), name(dtype)));
  }
}

Extents shape_of_product(const AnySparseMatrix& a, const Extents& shape_of_x) {
  Extents shape = shape_of_x;
  shape[0] = a.rows();
  return shape;
}

/// The rows of a matrix in a format that has a thread for each row.
struct RowLists {
  detail::SparseEntries entries;
  Expression begin;
  Expression end;
};

/// The type of places of stored numbers: the last step of a loop over them may exceed the count.
DType place_type(const AnySparseMatrix& a, std::int64_t step) {
  return a.value().count() + step <= INT32_MAX ? DType::i32 : DType::i64;
}

/// Elements of an array of one axis at those places, which it has.
Expression elements_at(const AnyArray& array, const Expression& place) {
  Extents strides;
  for (int axis = 0; axis < place.shape().size(); ++axis) {
    strides.push_back(0);
  }
  return gather(array.view(Layout{place.shape(), strides, array.layout().offset}), place);
}

/// @param rows  the shape of an element for each row: [n], or [n, w] for a product of that shape
RowLists lists_of(const AnySparseMatrix& a, const Extents& rows) {
  using Columns = detail::SparseEntries::Columns;
  detail::SparseEntries entries{.value = a.value(), .column = a.column()};
  const bool is_wide = rows.size() == 2;
  if (a.format() == SparseFormat::csr || a.format() == SparseFormat::packets) {
    if (a.format() == SparseFormat::packets) {
      entries.columns = Columns::packets;
      entries.packets = detail::packets_of(a);
      entries.base = a.base();
    }
    const auto at = [&](std::int64_t begin) -> Expression {
      const AnyArray places = a.first()(Slice{begin, begin + a.rows()});
      return is_wide ? places.expand_dims(-1) : places;
    };
    return {std::move(entries), at(0), at(1)};
  }
  const std::int64_t block = a.format_options().block;
  const std::int64_t slice = a.format_options().slice;
  entries.step = a.format() == SparseFormat::sell  ? slice
                 : a.format() == SparseFormat::bsr ? block * block
                                                   : a.rows();
  entries.columns = a.format() == SparseFormat::dia   ? Columns::diagonals
                    : a.format() == SparseFormat::bsr ? Columns::blocks
                                                      : Columns::with_gaps;
  const DType dtype = place_type(a, entries.step);
  const auto number = [&](std::int64_t value) { return cast(Expression(value), dtype); };
  const Expression element = indices(rows);
  const Expression row = cast(is_wide ? floor_divide(element, rows[1]) : element, dtype);
  if (a.format() == SparseFormat::sell) {
    const auto of_slice = [&](const Expression& which) {
      return cast(elements_at(a.first(), which), dtype);
    };
    const Expression which = floor_divide(row, number(slice));
    const Expression lane = row & number(slice - 1);
    return {std::move(entries), of_slice(which) + lane, of_slice(which + number(1))};
  }
  if (a.format() == SparseFormat::bsr) {
    entries.block = static_cast<int>(block);
    const Expression which = floor_divide(row, number(block));
    const Expression within = (row - which * number(block)) * number(block);
    const auto of_row = [&](const Expression& place) {
      return cast(elements_at(a.first(), place), dtype) * number(block * block);
    };
    return {std::move(entries), of_row(which) + within, of_row(which + number(1))};
  }
  return {std::move(entries), row, number(a.value().count())};
}

}  // namespace

namespace detail {

Expression product_by_rows(const AnySparseMatrix& a, const AnyArray& x) {
  RowLists lists = lists_of(a, shape_of_product(a, x.shape()));
  lists.entries.suits_expressions = [](runtime::StreamRef) { return true; };
  return sparse_product(std::make_shared<const SparseEntries>(std::move(lists.entries)),
                        lists.begin, lists.end, x);
}

}  // namespace detail

namespace {

void multiply_by_rows(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                      const AnyArray& y) {
  const Expression product = detail::product_by_rows(a, x);
  if (a.order().count() == 0) {
    detail::evaluate_in_kernel(stream, product, y);
    return;
  }
  // the row at each place, whose elements of y are next to each other
  Expression further = cast(a.order(), DType::i64);
  Extents strides = y.shape();
  for (std::int64_t& each : strides) {
    each = 0;
  }
  if (y.axes() == 2) {
    const std::int64_t width = y.shape()[1];
    further = cast(a.order().expand_dims(-1), DType::i64) * width + indices({width});
  }
  scatter(product, further, y.view(Layout{y.shape(), strides, y.layout().offset}));
}

/// @param a  in compressed rows
void multiply_in_rows(runtime::StreamRef stream, const AnySparseMatrix& a, const AnyArray& x,
                      const AnyArray& y) {
  const bool has_columns = x.axes() == 2 && x.shape()[1] != 1;
  const auto sharing = has_columns ? detail::RowSharing::planned : detail::row_sharing(stream, a);
  if (sharing != detail::RowSharing::planned) {
    const AnyArray vector = x.reshape(a.columns()).contiguous();
    if (sharing == detail::RowSharing::tiles) {
      detail::multiply_by_tiles(stream, a, vector, y.reshape(a.rows()),
                                detail::tile_shape(stream.device(), a));
    } else {
      detail::multiply_by_chunks(stream, a, vector, y.reshape(a.rows()),
                                 *detail::chunk_shape(stream, a));
    }
    return;
  }
  loopy::IntegerValues lengths = {{"n", a.rows()}, {"m", a.columns()}, {"nz", a.entries()}};
  if (has_columns) {
    lengths["w"] = x.shape()[1];
  }
  std::vector<std::pair<std::string, AnyArray>> arrays = {{"value", a.value()},
                                                          {"x", x.contiguous()},
                                                          {"y", y},
                                                          {"first", a.first()},
                                                          {"column", a.column()}};
  const detail::ColumnPackets packets = detail::packets_of(a);
  if (packets.entries != 0) {
    arrays.emplace_back("base", a.base());
    lengths["bases"] = a.base().count();
  }
  product_of(a.dtype(), has_columns, packets).run(stream, arrays, lengths);
}

}  // namespace

void multiply_into(const AnySparseMatrix& a, const AnyArray& x, const AnyArray& y) {
  require_fitting(a, x.dtype(), x.shape());
  const Extents shape = shape_of_product(a, x.shape());
  if (!(x.device() == a.device())) {
    throw InvalidInput("arrays.evaluate.mixed_devices",
                       fmt::format("the matrix is on {} and the array on {}: copy one of them",
                                   runtime::to_string(a.device().info().id),
                                   runtime::to_string(x.device().info().id)));
  }
  if (y.shape() != shape || y.dtype() != a.dtype()) {
    throw InvalidInput(
        y.dtype() != a.dtype() ? "arrays.sparse.dtype" : "arrays.sparse.shape_mismatch",
        fmt::format("the product has elements of {} and the shape {}, the array for "
                    "it {} and {}",
                    name(a.dtype()), to_string(shape), name(y.dtype()), to_string(y.shape())));
  }
  detail::require_contiguous(y);
  if (y.count() == 0) {
    return;
  }
  const runtime::StreamRef stream = current_stream(y.stream());
  if (a.entries() == 0) {
    y.assign(0);
  } else if (a.library_product() != nullptr) {
    a.library_product()->run(stream, x.contiguous(), y);
  } else if (const AnySparseMatrix* in_rows = detail::in_compressed_rows(a)) {
    multiply_in_rows(stream, *in_rows, x, y);
  } else {
    multiply_by_rows(stream, a, x, y);
  }
}

namespace detail {

const AnySparseMatrix* in_compressed_rows(const AnySparseMatrix& a) {
  if (a.format() == SparseFormat::csr || a.format() == SparseFormat::packets) {
    return &a;
  }
  if (a.format() == SparseFormat::coo || a.format() == SparseFormat::csc) {
    return &a.known_rows().in_rows([&] { return a.in_format(SparseFormat::csr); });
  }
  return nullptr;
}

bool suits_expressions(runtime::StreamRef stream, const AnySparseMatrix& a) {
  const AnySparseMatrix* const in_rows = in_compressed_rows(a);
  if (in_rows == nullptr) {
    return a.order().count() == 0;
  }
  const auto longest = in_rows->known_rows().longest(stream, in_rows->first());
  if (!longest) {
    return false;
  }
  if (!stream.device().info().is_cpu) {
    // a multiprocessor runs 2048 threads, whose rows have to stay in 192 KiB of its cache until all
    // their entries have been read
    constexpr std::int64_t most_bytes_of_row = 96;
    const auto entry_bytes = static_cast<std::int64_t>(size_bytes(a.dtype())) + 4;
    return *longest * entry_bytes <= most_bytes_of_row && *longest * a.rows() <= 2 * a.entries();
  }
  constexpr std::int64_t most_of_a_thread = 32;  // longer rows are read by several threads
  return *longest <= most_of_a_thread && *longest * a.rows() <= 4 * a.entries();
}

}  // namespace detail

Expression multiply(const AnySparseMatrix& a, const Expression& x) {
  require_fitting(a, x.dtype(), x.shape());
  const Extents shape = shape_of_product(a, x.shape());
  if (a.entries() == 0 || element_count(shape) == 0) {
    return zeros(a.dtype(), shape, current_stream(a.value().stream()));
  }
  const AnySparseMatrix* const in_rows = detail::in_compressed_rows(a);
  RowLists lists = lists_of(in_rows != nullptr ? *in_rows : a, shape);
  lists.entries.suits_expressions = [a](runtime::StreamRef stream) {
    return a.library_product() == nullptr && detail::suits_expressions(stream, a);
  };
  lists.entries.multiply_into = [a](runtime::StreamRef stream, const AnyArray& of_x,
                                    const AnyArray& y) {
    const StreamScope scope(stream);
    multiply_into(a, of_x, y);
  };
  return detail::sparse_product(
      std::make_shared<const detail::SparseEntries>(std::move(lists.entries)), lists.begin,
      lists.end, x);
}

}  // namespace rtcg::arrays
