// The layout of tiles in shared memory, and how they are copied.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "rtcg/loopy/slice/slicing_cost.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double widest_access_bytes = 16;

// The axes of a tile: others have one element.
const SlicedRead::Axis& rows(const SlicedRead& read) {
  return read.axes[read.axes.size() - 2];
}
const SlicedRead::Axis& columns(const SlicedRead& read) {
  return read.axes.back();
}

/// Whether a tile has all elements of each row, since their places are computed.
bool has_whole_rows(const SlicedRead& read) {
  const auto is_zero = [](std::int64_t each) { return each == 0; };
  return read.is_gathered && columns(read).others > 1 &&
         std::all_of(columns(read).coefficients.begin(), columns(read).coefficients.end(), is_zero);
}

/// Whether `length` elements are whole groups of `count`.
bool is_multiple(double length, std::int64_t count) {
  return static_cast<std::int64_t>(length) % count == 0;
}

/// What a row of `length` elements lacks to an odd number of the widest groups that it consists of:
/// threads that read such groups down a column then meet in no bank of shared memory.
std::int64_t gap_to_odd_groups(double length, double element_bytes) {
  auto group = static_cast<std::int64_t>(widest_access_bytes / element_bytes);
  while (group > 1 && !is_multiple(length, group)) {
    group /= 2;
  }
  return group > 0 && is_multiple(length, 2 * group) ? group : 0;
}

}  // namespace

SlicingCost::Tile SlicingCost::make_tile(const SlicedRead& read,
                                         const SlicingChoice& choice) const {
  Tile tile;
  std::size_t long_axes = 0;  // but the last two
  for (std::size_t axis = 0; axis < read.axes.size(); ++axis) {
    const double along = length(read.axes[axis], choice);
    tile.elements *= along;
    long_axes += along != 1 && axis + 2 < read.axes.size() ? 1 : 0;
  }
  const auto copied = [&](const SlicedRead::Axis& axis) {
    auto whole = static_cast<double>(others_of(axis, choice));
    for (std::size_t i = 0; i < loop_count; ++i) {
      whole += static_cast<double>(std::abs(axis.coefficients[i]) * (problem_.loops[i].length - 1));
    }
    return std::min(whole, length(axis, choice));
  };
  tile.column_count = read.axes.empty() ? 1 : copied(columns(read));
  if (read.axes.size() >= 2) {
    tile.row_count = copied(rows(read));
    tile.is_matrix =
        long_axes == 0 && length(rows(read), choice) != 1 && length(columns(read), choice) != 1;
  }
  return tile;
}

void SlicingCost::make_tiles(const SlicingChoice& choice) const {
  tiles_.choice = choice;
  tiles_.of_reads.clear();
  tiles_.matrices.fill(nowhere);
  tiles_.transposes.fill(false);
  tiles_.known_rows.fill(0);
  for (const SlicedRead& read : problem_.reads) {
    tiles_.of_reads.push_back(make_tile(read, choice));
    if (!tiles_.of_reads.back().is_matrix || read.fetchable == nowhere ||
        tiles_.matrices[read.fetchable] != nowhere) {
      continue;
    }
    tiles_.matrices[read.fetchable] = tiles_.of_reads.size() - 1;
    // neighbouring results of a window read neighbours: its rows stay as they are
    tiles_.transposes[read.fetchable] = columns(read).coefficients[reduced_loop] != 0 &&
                                        columns(read).coefficients[fast_loop] == 0 &&
                                        rows(read).coefficients[reduced_loop] == 0 &&
                                        ((read.mentions[fast_loop] && choice.fast[2] > 1) ||
                                         (read.mentions[slow_loop] && choice.slow[2] > 1));
  }
}

bool SlicingCost::is_transposed(const SlicingChoice& choice, std::size_t fetchable) const {
  return choice.may_transpose && tiles_of(choice).transposes[fetchable];
}

bool SlicingCost::is_any_transposed(const SlicingChoice& choice) const {
  for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
    if (is_fetched(choice, i) && is_transposed(choice, i)) {
      return true;
    }
  }
  return false;
}

std::int64_t SlicingCost::default_padding(const SlicingChoice& choice,
                                          std::size_t fetchable) const {
  if (is_transposed(choice, fetchable)) {
    return 4;
  }
  const Tiles& tiles = tiles_of(choice);
  for (std::size_t i = tiles.matrices[fetchable]; i < problem_.reads.size(); ++i) {
    const SlicedRead& read = problem_.reads[i];
    if (read.fetchable != fetchable || !tiles.of_reads[i].is_matrix) {
      continue;
    }
    // threads, or items that keep their rows, go down the columns of the tile
    const bool goes_down =
        rows(read).coefficients[fast_loop] != 0 && columns(read).coefficients[fast_loop] == 0;
    const bool is_unrolled = choice.is_unrolled || !choice.may_transpose;
    if (columns(read).coefficients[reduced_loop] != 0 &&
        (is_unrolled || steps_of_group(read, choice) > 1)) {
      return gap_to_odd_groups(tiles.of_reads[i].column_count, read.element_bytes);
    }
    if (goes_down) {
      return choice.stages > 1 ? 4 : 1;
    }
  }
  return 0;
}

std::int64_t SlicingCost::steps_of_group(const SlicedRead& read,
                                         const SlicingChoice& choice) const {
  const std::int64_t steps = choice.depth / choice.slices;
  const auto group = static_cast<std::int64_t>(widest_access_bytes / read.element_bytes);
  const bool is_along =
      !machine_.is_cpu && !read.axes.empty() && columns(read).coefficients[reduced_loop] != 0;
  return is_along && group > 1 && steps > group && steps % group == 0 ? group : 1;
}

std::int64_t SlicingCost::steps_at_once(const SlicingChoice& choice) const {
  std::int64_t most = 1;
  for (const SlicedRead& read : problem_.reads) {
    if (is_fetched(choice, read.fetchable) && tile_of(read, choice).is_matrix &&
        !is_transposed(choice, read.fetchable)) {
      most = std::max(most, steps_of_group(read, choice));
    }
  }
  return most;
}

SlicingCost::Rows SlicingCost::make_rows(const SlicingChoice& choice, std::size_t fetchable) const {
  const Tiles& tiles = tiles_of(choice);
  if (tiles.matrices[fetchable] == nowhere) {
    return {};
  }
  const SlicedRead& read = problem_.reads[tiles.matrices[fetchable]];
  const Tile& tile = tiles.of_reads[tiles.matrices[fetchable]];
  Rows rows;
  rows.elements = is_transposed(choice, fetchable) ? tile.row_count : tile.column_count;
  rows.padding = default_padding(choice, fetchable);
  // an even number of groups of what may be read at once
  const auto group = static_cast<std::int64_t>(widest_access_bytes / read.element_bytes);
  rows.can_be_swizzled =
      rows.padding != 0 && is_multiple(rows.elements, 2 * std::max<std::int64_t>(group, 1));
  return rows;
}

SlicingCost::Rows SlicingCost::rows_of(const SlicingChoice& choice, std::size_t fetchable) const {
  const auto slices = static_cast<std::size_t>(std::countr_zero(choice.slices));
  if (choice.slices > 8 || choice.slices != 1U << slices) {
    return make_rows(choice, fetchable);
  }
  const std::size_t way =
      ((slices * 2 + (choice.may_transpose ? 1 : 0)) * 2 + (choice.is_unrolled ? 1 : 0)) * 2 +
      (choice.stages > 1 ? 1 : 0);
  Tiles& tiles = known_tiles_of(choice);
  if ((tiles.known_rows[fetchable] >> way & 1) == 0) {
    tiles.rows[fetchable][way] = make_rows(choice, fetchable);
    tiles.known_rows[fetchable] |= std::uint32_t{1} << way;
  }
  return tiles.rows[fetchable][way];
}

std::int64_t SlicingCost::padding(const SlicingChoice& choice, std::size_t fetchable) const {
  const Rows rows = rows_of(choice, fetchable);
  return swizzles(choice, rows) ? 0 : rows.padding;
}

bool SlicingCost::swizzles(const SlicingChoice& choice, const Rows& rows) const {
  // tiles of one thread are not shared
  return choice.is_swizzled && rows.can_be_swizzled && choice.threads() != 1;
}

bool SlicingCost::is_swizzled(const SlicingChoice& choice, std::size_t fetchable) const {
  return swizzles(choice, rows_of(choice, fetchable));
}

bool SlicingCost::can_be_swizzled(const SlicingChoice& choice) const {
  for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
    if (is_fetched(choice, i) && rows_of(choice, i).can_be_swizzled && choice.threads() != 1) {
      return true;
    }
  }
  return false;
}

std::int64_t SlicingCost::vector_width(const SlicingChoice& choice, std::size_t fetchable) const {
  if (machine_.is_cpu || choice.stages > 1) {
    return 0;
  }
  const SlicedRead* found = nullptr;
  for (const SlicedRead& read : problem_.reads) {
    if (read.fetchable == fetchable &&
        (found != nullptr || (read.times != 1 && !has_whole_rows(read)))) {
      return 0;  // tiles with rims, which begin anywhere
    }
    found = read.fetchable == fetchable ? &read : found;
  }
  if (found == nullptr || found->vector_width == 0 ||
      find_way(choice, found->free_layout) != nullptr) {
    return 0;
  }
  const double along = tile_of(*found, choice).column_count;
  // neighbouring threads have something to copy
  const bool is_long = along >= static_cast<double>(choice.fast[1] * found->vector_width);
  return is_long && is_multiple(along, found->vector_width) ? found->vector_width : 0;
}

}  // namespace rtcg::loopy::detail
