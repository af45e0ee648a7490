// How tiles lie in shared memory, and how they are copied.
#include <algorithm>
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

/// Whether `length` elements are whole groups of `count`.
bool is_multiple(double length, std::int64_t count) {
  return static_cast<std::int64_t>(length) % count == 0;
}

}  // namespace

bool SlicingCost::is_matrix(const SlicedRead& read, const SlicingChoice& choice) const {
  const auto is_one = [&](const SlicedRead::Axis& axis) { return length(axis, choice) == 1; };
  return read.axes.size() >= 2 && !is_one(rows(read)) && !is_one(columns(read)) &&
         std::all_of(read.axes.begin(), read.axes.end() - 2, is_one);
}

bool SlicingCost::is_transposed(const SlicingChoice& choice, const std::string& array) const {
  if (!choice.may_turn) {
    return false;
  }
  for (const SlicedRead& read : problem_.reads) {
    if (read.array == array && is_matrix(read, choice)) {
      return columns(read).coefficients[reduced_loop] != 0 &&
             rows(read).coefficients[reduced_loop] == 0 &&
             ((read.mentions[fast_loop] && choice.fast[2] > 1) ||
              (read.mentions[slow_loop] && choice.slow[2] > 1));
    }
  }
  return false;
}

bool SlicingCost::is_any_transposed(const SlicingChoice& choice) const {
  return std::any_of(problem_.fetchable.begin(), problem_.fetchable.end(), [&](const auto& each) {
    return is_fetched(choice, each) && is_transposed(choice, each);
  });
}

std::int64_t SlicingCost::usual_padding(const SlicingChoice& choice,
                                        const std::string& array) const {
  if (is_transposed(choice, array)) {
    return 4;
  }
  for (const SlicedRead& read : problem_.reads) {
    if (read.array != array || !is_matrix(read, choice)) {
      continue;
    }
    // threads, or lanes that keep their rows, go down the columns of the tile
    const bool goes_down =
        rows(read).coefficients[fast_loop] != 0 && columns(read).coefficients[fast_loop] == 0;
    // rows that begin at a multiple of 16 bytes: several steps are read at once
    if ((!choice.may_turn || choice.is_unrolled) && columns(read).coefficients[reduced_loop] != 0) {
      return 4;
    }
    if (goes_down) {
      return choice.stages > 1 ? 4 : 1;
    }
  }
  return 0;
}

std::int64_t SlicingCost::padding(const SlicingChoice& choice, const std::string& array) const {
  return is_swizzled(choice, array) ? 0 : usual_padding(choice, array);
}

double SlicingCost::row_elements(const SlicedRead& read, const SlicingChoice& choice) const {
  return copied_length(is_transposed(choice, read.array) ? rows(read) : columns(read), choice);
}

double SlicingCost::copied_length(const SlicedRead::Axis& axis, const SlicingChoice& choice) const {
  auto whole = static_cast<double>(axis.others);
  for (std::size_t i = 0; i < loop_count; ++i) {
    whole += static_cast<double>(std::abs(axis.coefficients[i]) * (problem_.loops[i].length - 1));
  }
  return std::min(whole, length(axis, choice));
}

bool SlicingCost::is_swizzled(const SlicingChoice& choice, const std::string& array) const {
  if (!choice.is_swizzled || usual_padding(choice, array) == 0) {
    return false;
  }
  for (const SlicedRead& read : problem_.reads) {
    if (read.array == array && is_matrix(read, choice)) {
      // an even number of groups of what may be read at once
      const auto group = static_cast<std::int64_t>(widest_access_bytes / read.element_bytes);
      return is_multiple(row_elements(read, choice), 2 * std::max<std::int64_t>(group, 1));
    }
  }
  return false;
}

bool SlicingCost::can_be_swizzled(const SlicingChoice& choice) const {
  SlicingChoice swizzled = choice;
  swizzled.is_swizzled = true;
  return std::any_of(problem_.fetchable.begin(), problem_.fetchable.end(), [&](const auto& each) {
    return is_fetched(choice, each) && is_swizzled(swizzled, each);
  });
}

std::int64_t SlicingCost::vector_width(const SlicingChoice& choice,
                                       const std::string& array) const {
  if (machine_.is_cpu || choice.stages > 1) {
    return 0;
  }
  const SlicedRead* found = nullptr;
  for (const SlicedRead& read : problem_.reads) {
    if (read.array == array && (found != nullptr || read.times != 1)) {
      return 0;  // tiles with rims, which begin anywhere
    }
    found = read.array == array ? &read : found;
  }
  if (found == nullptr || found->vector_width == 0 || find_way(choice, array) != nullptr) {
    return 0;
  }
  const double along = copied_length(found->axes.back(), choice);
  // neighbouring threads have something to copy
  const bool is_long = along >= static_cast<double>(choice.fast[1] * found->vector_width);
  return is_long && is_multiple(along, found->vector_width) ? found->vector_width : 0;
}

}  // namespace rtcg::loopy::detail
