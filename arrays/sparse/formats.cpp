// A sparse matrix from one format to another, by expressions, scans and sorts on the device.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/arrays/sparse/packets.h"
#include "rtcg/arrays/sparse/row_sharing.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/arrays/sparse/triplets.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::arrays {
namespace {

using detail::as_i32;
using Parts = AnySparseMatrix::Parts;

AnyArray nothing_of(DType dtype) {
  return {dtype, Extents{0}, current_stream()};
}

/// Where lists begin of entries whose list numbers ascend.
AnyArray begins_of_lists(const AnyArray& list, std::int64_t lists) {
  return as_i32(searchsorted(list, cast(indices({lists + 1}), DType::i32)));
}

/// Entries of each row, without those that fill gaps.
AnyArray lengths_of(const AnySparseMatrix& csr) {
  return evaluate(csr.first()(Slice{1, csr.rows() + 1}) - csr.first()(Slice{0, csr.rows()}));
}

/// @param stored  numbers that the format would store
void check_padding(const AnySparseMatrix& a, SparseFormat format, std::int64_t stored,
                   const FormatOptions& options) {
  const double part = static_cast<double>(stored) / static_cast<double>(a.entries());
  if (part > options.most_stored) {
    throw InvalidInput("arrays.sparse.padding",
                       fmt::format("{} would store {:.1f} numbers for each entry of the matrix of "
                                   "{} x {}, more than the {} of 'most_stored': csr stores 1",
                                   name(format), part, a.rows(), a.columns(), options.most_stored));
  }
}

Parts parts_like(const AnySparseMatrix& a, SparseFormat format, const FormatOptions& options) {
  return {.format = format,
          .rows = a.rows(),
          .columns = a.columns(),
          .entries = a.entries(),
          .first = nothing_of(DType::i32),
          .column = nothing_of(DType::i32),
          .value = nothing_of(a.dtype()),
          .options = options};
}

Parts to_coo(const AnySparseMatrix& a, Parts parts) {
  parts.first = detail::rows_of_entries(a);
  parts.column = a.column();
  parts.value = a.value();
  return parts;
}

Parts to_csc(const AnySparseMatrix& a, Parts parts) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(a.columns()));
  const SortedPairs sorted = sort_by_key(a.column(), {detail::rows_of_entries(a), a.value()},
                                         {.end_bit = std::max(bits, 1)});
  parts.first = begins_of_lists(sorted.keys, a.columns());
  parts.column = sorted.values[0];
  parts.value = sorted.values[1];
  return parts;
}

/// Fills the places of ell and sell. @param entry  of a place: that of csr @param has_entry whether
void fill_places(const AnySparseMatrix& a, const AnyArray& entry, const AnyArray& has_entry,
                 Parts& parts) {
  parts.column = evaluate(where(has_entry, take(a.column(), entry), cast(-1, DType::i32)));
  parts.value = evaluate(where(has_entry, take(a.value(), entry), cast(0, a.dtype())));
}

Parts to_ell(const AnySparseMatrix& a, Parts parts) {
  const std::int64_t length = a.known_rows().longest(current_stream(), a.first()).value();
  check_padding(a, SparseFormat::ell, length * a.rows(), parts.options);
  const Expression place = indices({length, a.rows()});
  const Expression which = floor_divide(place, a.rows());  // of a row's entries
  const AnyArray begin = a.first()(Slice{0, a.rows()});
  const AnyArray entry = evaluate(which + begin);
  const AnyArray has_entry = evaluate(entry < a.first()(Slice{1, a.rows() + 1}));
  fill_places(a, entry.reshape(-1), has_entry.reshape(-1), parts);
  return parts;
}

Parts to_sell(const AnySparseMatrix& a, Parts parts) {
  const std::int64_t slice = parts.options.slice;
  const std::int64_t window = parts.options.window;
  const std::int64_t rows = a.rows();
  const std::int64_t slices = ceil_divide(rows, slice);
  AnyArray length = lengths_of(a);
  AnyArray begin = a.first()(Slice{0, rows});
  if (window > 1) {
    const std::int64_t longest = a.known_rows().longest(current_stream(), a.first()).value();
    const Expression key =
        floor_divide(indices({rows}), window) * (longest + 1) + (longest - Expression(length));
    const std::int64_t most = ceil_divide(rows, window) * (longest + 1);
    const SortedPairs sorted =
        sort_by_key(key, {as_i32(indices({rows}))},
                    {.end_bit = std::bit_width(static_cast<std::uint64_t>(most))});
    parts.order = sorted.values[0];
    length = evaluate(take(length, *parts.order));
    begin = evaluate(take(begin, *parts.order));
  }
  const AnyArray padded = pad(length, {0}, {slices * slice - rows});
  const AnyArray longest = evaluate(max(padded.reshape(slices, slice), over(1)));
  const AnyArray ends = cumulative_sum(longest * Expression(slice), {.dtype = DType::i64});
  const auto stored = ends(Slice{slices - 1, slices}).item<std::int64_t>();
  check_padding(a, SparseFormat::sell, stored, parts.options);
  detail::check_index_range(rows, a.columns(), stored);
  parts.first = concatenate({zeros(DType::i32, {1}), as_i32(ends)});
  const Expression place = indices({stored});
  const AnyArray which =
      evaluate(searchsorted(parts.first, cast(place, DType::i32), SearchSide::right) - 1);
  const AnyArray within = evaluate(place - Expression(take(parts.first, which)));
  const AnyArray row = evaluate(which * Expression(slice) + within % slice);
  const AnyArray number = evaluate(floor_divide(within, slice));
  const AnyArray has_entry = evaluate(number < take(length, row) && row < rows);
  fill_places(a, evaluate(number + take(begin, row)), has_entry, parts);
  return parts;
}

/// Numbers of lists that come up, ascending, each once. @cost  waits
AnyArray distinct(const AnyArray& numbers) {
  return unique(sort(numbers)).trimmed().contiguous();
}

Parts to_dia(const AnySparseMatrix& given, Parts parts) {
  const AnySparseMatrix a = detail::with_single_entries(given);
  const AnyArray row = detail::rows_of_entries(a);
  const AnyArray distance = as_i32(Expression(a.column()) - row);
  parts.column = distinct(distance);
  const std::int64_t diagonals = parts.column.count();
  check_padding(given, SparseFormat::dia, diagonals * a.rows(), parts.options);
  parts.value = zeros(a.dtype(), {diagonals * a.rows()});
  const AnyArray place =
      evaluate(searchsorted(parts.column, distance) * Expression(a.rows()) + Expression(row));
  put(parts.value, place, a.value());
  return parts;
}

Parts to_bsr(const AnySparseMatrix& given, Parts parts) {
  const std::int64_t block = parts.options.block;
  if (given.rows() % block != 0 || given.columns() % block != 0) {
    throw InvalidInput("arrays.sparse.format",
                       fmt::format("a matrix of {} x {} does not consist of blocks of {} x {}",
                                   given.rows(), given.columns(), block, block));
  }
  const AnySparseMatrix a = detail::with_single_entries(given);
  const AnyArray row = detail::rows_of_entries(a);
  const std::int64_t across = a.columns() / block;
  const AnyArray key = evaluate(cast(floor_divide(row, block), DType::i64) * across +
                                floor_divide(a.column(), block));
  const AnyArray blocks = distinct(key);
  check_padding(given, SparseFormat::bsr, blocks.count() * block * block, parts.options);
  detail::check_index_range(a.rows(), a.columns(), blocks.count() * block * block);
  parts.first = begins_of_lists(as_i32(floor_divide(blocks, across)), a.rows() / block);
  parts.column = as_i32(blocks % across);
  parts.value = zeros(a.dtype(), {blocks.count() * block * block});
  const AnyArray place =
      evaluate((searchsorted(blocks, key) * Expression(block) + Expression(row) % block) * block +
               Expression(a.column()) % block);
  put(parts.value, place, a.value());
  return parts;
}

Parts to_packets(const AnySparseMatrix& a, Parts parts) {
  const auto packets = detail::fitting_packets(a, parts.options.packet);
  if (!packets) {
    throw InvalidInput(
        "arrays.sparse.spread",
        fmt::format("columns of 16 bits do not tell apart those of {} consecutive "
                    "entries of the matrix of {} x {}, which are in too many places: "
                    "csr takes them",
                    parts.options.packet, a.rows(), a.columns()));
  }
  detail::PackedColumns packed = detail::packed_columns(a, *packets);
  parts.first = a.first();
  parts.column = std::move(packed.column);
  parts.base = std::move(packed.base);
  parts.value = a.value();
  return parts;
}

AnySparseMatrix csr_of_packets(const AnySparseMatrix& a) {
  return {a.columns(), a.first(), detail::whole_columns(a), a.value()};
}

AnySparseMatrix csr_of_coo(const AnySparseMatrix& a) {
  return {a.columns(), begins_of_lists(a.first(), a.rows()), a.column(), a.value()};
}

AnySparseMatrix csr_of_csc(const AnySparseMatrix& a) {
  const AnySparseMatrix rows_of_transposed(a.rows(), a.first(), a.column(), a.value());
  const AnySparseMatrix columns_of_it = rows_of_transposed.in_format(SparseFormat::csc);
  return {a.columns(), columns_of_it.first(), columns_of_it.column(), columns_of_it.value()};
}

/// Without what fills gaps. @param row  of each stored number
AnySparseMatrix csr_of_stored(const AnySparseMatrix& a, const AnyArray& row, const AnyArray& column,
                              const Expression& is_entry) {
  const AnyArray place = flat_nonzero(evaluate(is_entry));
  return AnySparseMatrix::from_triplets(a.rows(), a.columns(), evaluate(take(row, place)),
                                        evaluate(take(column, place)),
                                        evaluate(take(a.value(), place)));
}

AnySparseMatrix csr_of_padded(const AnySparseMatrix& a) {
  const std::int64_t stored = a.value().count();
  const Expression place = indices({stored});
  switch (a.format()) {
    case SparseFormat::ell:
      return csr_of_stored(a, evaluate(place % a.rows()), a.column(), a.column() >= 0);
    case SparseFormat::sell: {
      const std::int64_t slice = a.format_options().slice;
      const AnyArray which =
          evaluate(searchsorted(a.first(), cast(place, DType::i32), SearchSide::right) - 1);
      const AnyArray within = evaluate(place - Expression(take(a.first(), which)));
      AnyArray row = evaluate(which * Expression(slice) + within % slice);
      if (a.order().count() != 0) {
        row = evaluate(take(a.order(), row));
      }
      return csr_of_stored(a, row, a.column(), a.column() >= 0);
    }
    case SparseFormat::dia: {
      const AnyArray row = evaluate(place % a.rows());
      const AnyArray diagonal = evaluate(floor_divide(place, a.rows()));
      const AnyArray column = evaluate(row + Expression(take(a.column(), diagonal)));
      return csr_of_stored(a, row, column, a.value() != 0);
    }
    default: {
      const std::int64_t block = a.format_options().block;
      const AnyArray which = evaluate(floor_divide(place, block * block));
      const AnyArray within = evaluate(place % (block * block));
      const Expression row_of_blocks =
          searchsorted(a.first(), cast(which, DType::i32), SearchSide::right) - 1;
      const AnyArray row = evaluate(row_of_blocks * block + floor_divide(within, block));
      const AnyArray column = evaluate(take(a.column(), which) * block + within % block);
      return csr_of_stored(a, row, column, a.value() != 0);
    }
  }
}

void check_options(SparseFormat format, const FormatOptions& options) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidInput("arrays.sparse.format",
                       fmt::format("{} of the format {}", what, name(format)));
  };
  if (format == SparseFormat::sell) {
    if (options.slice < 1 || options.slice > 1024 ||
        !std::has_single_bit(static_cast<unsigned>(options.slice))) {
      refuse(
          fmt::format("{} rows are no slice, which has a power of two up to 1024,", options.slice));
    }
    if (options.window != 1 && (options.window < 1 || options.window % options.slice != 0)) {
      refuse(fmt::format("{} rows are no window, which has 1 row or some slices of {},",
                         options.window, options.slice));
    }
  }
  if (format == SparseFormat::bsr && (options.block < 2 || options.block > 16)) {
    refuse(fmt::format("{} rows are no block, which has 2 to 16,", options.block));
  }
  if (format == SparseFormat::packets &&
      (options.packet < 32 || options.packet > 65536 ||
       !std::has_single_bit(static_cast<unsigned>(options.packet)))) {
    refuse(fmt::format("{} entries are no packet, which has a power of two from 32 to 65536,",
                       options.packet));
  }
}

/// Whether options that count for the format are the same.
bool is_same(SparseFormat format, const FormatOptions& a, const FormatOptions& b) {
  switch (format) {
    case SparseFormat::sell:
      return a.slice == b.slice && a.window == b.window;
    case SparseFormat::bsr:
      return a.block == b.block;
    case SparseFormat::packets:
      return a.packet == b.packet;
    default:
      return true;
  }
}

}  // namespace

AnySparseMatrix AnySparseMatrix::in_format(SparseFormat format,
                                           const FormatOptions& options) const {
  check_options(format, options);
  if (format == format_ && is_same(format, options, options_)) {
    return *this;
  }
  const StreamScope scope(current_stream(value_.stream()));
  if (format_ != SparseFormat::csr) {
    const AnySparseMatrix csr = entries_ == 0
                                    ? AnySparseMatrix(columns_, zeros(DType::i32, {rows_ + 1}),
                                                      nothing_of(DType::i32), nothing_of(dtype()))
                                : format_ == SparseFormat::coo     ? csr_of_coo(*this)
                                : format_ == SparseFormat::csc     ? csr_of_csc(*this)
                                : format_ == SparseFormat::packets ? csr_of_packets(*this)
                                                                   : csr_of_padded(*this);
    return csr.in_format(format, options);
  }
  Parts parts = parts_like(*this, format, options);
  if (entries_ == 0) {
    if (format == SparseFormat::csc) {
      parts.first = zeros(DType::i32, {columns_ + 1});
    }
    return AnySparseMatrix(std::move(parts));
  }
  switch (format) {
    case SparseFormat::coo:
      return AnySparseMatrix(to_coo(*this, std::move(parts)));
    case SparseFormat::csc:
      return AnySparseMatrix(to_csc(*this, std::move(parts)));
    case SparseFormat::ell:
      return AnySparseMatrix(to_ell(*this, std::move(parts)));
    case SparseFormat::sell:
      return AnySparseMatrix(to_sell(*this, std::move(parts)));
    case SparseFormat::dia:
      return AnySparseMatrix(to_dia(*this, std::move(parts)));
    case SparseFormat::bsr:
      return AnySparseMatrix(to_bsr(*this, std::move(parts)));
    case SparseFormat::packets:
      return AnySparseMatrix(to_packets(*this, std::move(parts)));
    case SparseFormat::csr:
      break;
  }
  return *this;
}

}  // namespace rtcg::arrays
