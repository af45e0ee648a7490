#include "rtcg/loopy/analyze/flat_indices.h"

#include <functional>
#include <numeric>
#include <optional>

#include "rtcg/loopy/analyze/fold_quotients.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {
namespace {

bool is_affine(const Expr& index) {
  return to_affine(index).has_value();
}

}  // namespace

std::vector<Expr> FlatIndices::of_all_axes(const std::vector<Expr>& values) const {
  std::vector<Expr> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t step = std::accumulate(inner_lengths[i].begin(), inner_lengths[i].end(),
                                        std::int64_t{1}, std::multiplies<>());
    all.push_back(step == 1 ? values[i] : floor_div(values[i], step));
    for (const std::int64_t length : inner_lengths[i]) {
      step /= length;
      all.push_back(modulo(step == 1 ? values[i] : floor_div(values[i], step), length));
    }
  }
  return all;
}

FlatIndices flat_indices(const Kernel& kernel, std::string_view array,
                         const std::vector<Expr>& indices) {
  const Argument* argument = find_argument(kernel, array);
  const Temporary* temporary = find_temporary(kernel, array);
  static const std::vector<Expr> no_shape;
  const std::vector<Expr>& shape = argument != nullptr    ? argument->shape
                                   : temporary != nullptr ? temporary->shape
                                                          : no_shape;
  FlatIndices result;
  for (std::size_t last = indices.size(); last-- > 0;) {
    std::size_t first = last;
    Expr joined = indices[last];
    // as few axes as make it affine, with constant lengths
    std::int64_t step = 1;
    for (std::size_t axis = last; axis > 0 && shape.size() == indices.size() &&
                                  !is_affine(joined) && as_integer(shape[axis]);
         --axis) {
      step *= *as_integer(shape[axis]);
      joined = fold_quotients(indices[axis - 1] * Expr(step) + joined,
                              [](const Affine&) { return false; });
      first = axis - 1;
    }
    if (!is_affine(joined)) {
      first = last;
      joined = indices[last];
    }
    std::vector<std::int64_t> lengths;
    for (std::size_t axis = first + 1; axis <= last; ++axis) {
      lengths.push_back(*as_integer(shape[axis]));
    }
    result.indices.insert(result.indices.begin(), joined);
    result.inner_lengths.insert(result.inner_lengths.begin(), std::move(lengths));
    last = first;
  }
  return result;
}

}  // namespace rtcg::loopy
