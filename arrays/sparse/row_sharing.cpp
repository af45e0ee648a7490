#include "rtcg/arrays/sparse/row_sharing.h"

#include <limits>
#include <vector>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::arrays::detail {
namespace {

RowTiles made_tiles(const AnyArray& array_of_first, std::int64_t entries, std::int64_t items) {
  const std::vector<std::int32_t> first = array_of_first.to_vector<std::int32_t>();
  const auto rows = static_cast<std::int64_t>(first.size()) - 1;
  const std::int64_t tiles = tile_count(rows, entries, items);
  std::vector<std::int32_t> row_of;
  std::vector<std::int32_t> span_row;
  std::vector<std::int32_t> span_begin;
  std::vector<std::int32_t> span_end;
  std::int64_t row = 0;
  for (std::int64_t tile = 0; tile <= tiles; ++tile) {
    const std::int64_t begin = tile * items;
    while (row < rows && first[static_cast<std::size_t>(row)] + row < begin) {
      ++row;
    }
    row_of.push_back(static_cast<std::int32_t>(row));
    if (tile == tiles || first[static_cast<std::size_t>(row)] <= begin - row) {
      continue;  // begins with a row
    }
    const auto reaching = static_cast<std::int32_t>(row - 1);
    if (span_row.empty() || span_row.back() != reaching) {
      span_row.push_back(reaching);
      span_begin.push_back(static_cast<std::int32_t>(tile));
      span_end.push_back(0);
    }
    span_end.back() = static_cast<std::int32_t>(tile + 1);
  }
  const runtime::StreamRef stream = current_stream();
  return {Array<std::int32_t>(row_of, stream), Array<std::int32_t>(span_row, stream),
          Array<std::int32_t>(span_begin, stream), Array<std::int32_t>(span_end, stream)};
}

}  // namespace

RowSharing row_sharing(std::int64_t rows, std::int64_t entries, std::int64_t longest,
                       std::int64_t element_bytes) {
  if (chunk_shape(rows, entries, longest, element_bytes)) {
    return RowSharing::chunks;
  }
  constexpr std::int64_t least_worth_tiles = 256;
  const bool is_uneven = longest >= least_worth_tiles && longest * rows > 8 * entries;
  constexpr std::int64_t last_tile = 1 << 14;  // may go beyond the end
  const bool fits = rows + entries < std::numeric_limits<std::int32_t>::max() - last_tile;
  return is_uneven && fits ? RowSharing::tiles : RowSharing::planned;
}

std::optional<std::int64_t> KnownRows::longest(runtime::StreamRef stream, const AnyArray& first) {
  const std::lock_guard lock(mutex_);
  if (!longest_ && !runtime::detail::is_captured(stream)) {
    const StreamScope scope(stream);
    longest_ = max(first(Slice{1, first.count()}) - first(Slice{0, first.count() - 1}))
                   .item<std::int64_t>();
  }
  return longest_;
}

std::optional<std::int64_t> KnownRows::most_of_rows(runtime::StreamRef stream,
                                                    const AnyArray& first, std::int64_t rows) {
  const std::lock_guard lock(mutex_);
  const auto found = most_of_rows_.find(rows);
  if (found != most_of_rows_.end()) {
    return found->second;
  }
  if (runtime::detail::is_captured(stream)) {
    return std::nullopt;
  }
  const StreamScope scope(stream);
  const std::int64_t last = first.count() - 1;
  const AnyArray begin = first(Slice{0, last, rows});
  const AnyArray end = evaluate(
      take(first, evaluate(minimum((indices({begin.count()}) + 1) * Expression(rows), last))));
  return most_of_rows_.emplace(rows, max(end - Expression(begin)).item<std::int64_t>())
      .first->second;
}

const RowTiles& KnownRows::tiles(runtime::StreamRef stream, const AnyArray& first,
                                 std::int64_t entries, std::int64_t items) {
  const std::lock_guard lock(mutex_);
  const auto found = tiles_.find(items);
  if (found != tiles_.end()) {
    return found->second;
  }
  const StreamScope scope(stream);
  return tiles_.emplace(items, made_tiles(first, entries, items)).first->second;
}

RowSharing row_sharing(runtime::StreamRef stream, const AnySparseMatrix& a) {
  if (stream.device().info().is_cpu) {
    return RowSharing::planned;
  }
  if (chunk_shape(stream, a)) {
    return RowSharing::chunks;
  }
  const auto longest = a.known_rows().longest(stream, a.first());
  return longest ? row_sharing(a.rows(), a.entries(), *longest,
                               static_cast<std::int64_t>(size_bytes(a.dtype())))
                 : RowSharing::planned;
}

}  // namespace rtcg::arrays::detail
