#include "rtcg/loopy/analyze/swizzled_columns.h"

#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {
namespace {

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

Expr bitwise_xor(const Expr& left, const Expr& right) {
  const auto known_left = as_integer(left);
  const auto known_right = as_integer(right);
  if (known_left && known_right) {
    return Expr(*known_left ^ *known_right);
  }
  return known_right == 0 ? left : Expr(Bitwise{BitOp::xor_, left, right});
}

/// `group * x + rest` as x and rest, where all terms but the constant are multiples of the group.
std::optional<std::pair<Expr, std::int64_t>> in_groups(const Expr& index, std::int64_t group) {
  const std::optional<Affine> affine = to_affine(index);
  if (!affine || affine->coefficient_gcd() % group != 0) {
    return std::nullopt;
  }
  const Affine number = affine->divided_rounding_down(group);
  return std::pair(to_expr(number), affine->constant() - group * number.constant());
}

/// `row / rows % patterns` by shift and mask, which do not ask whether a row is negative.
Expr pattern_of(const ColumnSwizzle& swizzle, const Expr& row, const ConstraintSet& known) {
  Expr run = simplify_index(row);
  if (const auto parts = in_groups(run, swizzle.rows)) {
    run = parts->first;
  } else {
    std::int64_t bits = 0;
    while ((std::int64_t{1} << bits) < swizzle.rows) {
      ++bits;
    }
    run = Bitwise{BitOp::shift_right, run, bits};
  }
  if (const auto affine = to_affine(run)) {
    // whole rounds of patterns change nothing
    Affine rest(((affine->constant() % swizzle.patterns) + swizzle.patterns) % swizzle.patterns);
    for (const Affine::Term& term : affine->terms()) {
      rest = term.coefficient % swizzle.patterns == 0 ? rest
                                                      : rest + Affine(term.name, term.coefficient);
    }
    if (rest.is_constant()) {
      return Expr(rest.constant());
    }
    run = to_expr(rest);
    if (known.implies_nonnegative(rest) &&
        known.implies_nonnegative(Affine(swizzle.patterns - 1) - rest)) {
      return run;
    }
  }
  return Bitwise{BitOp::and_, run, swizzle.patterns - 1};
}

}  // namespace

std::optional<RowAxes> find_row_axes(const Temporary& temporary) {
  const std::vector<Expr> strides = temporary.strides_elements.empty()
                                        ? c_order_strides(temporary.shape)
                                        : temporary.strides_elements;
  std::vector<std::int64_t> lengths;
  std::optional<std::size_t> column;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    const auto length = as_integer(temporary.shape[axis]);
    if (!length || !as_integer(strides[axis]) || *as_integer(strides[axis]) < 1) {
      return std::nullopt;
    }
    lengths.push_back(*length);
    // an axis of one element has no neighbours, for any stride
    if (as_integer(strides[axis]) == 1 && (!column || lengths[*column] < *length)) {
      column = axis;
    }
  }
  std::optional<std::size_t> row;
  for (std::size_t axis = 0; axis < lengths.size() && column; ++axis) {
    const bool is_other = axis != *column && lengths[axis] > 1;
    if (is_other && (!row || *as_integer(strides[axis]) < *as_integer(strides[*row]))) {
      row = axis;
    }
  }
  return row ? std::optional(RowAxes{*row, *column, lengths[*column]}) : std::nullopt;
}

bool fits_rows(const ColumnSwizzle& swizzle, const RowAxes& axes) {
  return is_power_of_two(swizzle.group) && is_power_of_two(swizzle.patterns) &&
         is_power_of_two(swizzle.rows) && swizzle.patterns > 1 && swizzle.group <= axes.columns &&
         swizzle.patterns <= axes.columns && axes.columns % (swizzle.group * swizzle.patterns) == 0;
}

std::vector<Expr> swizzled_indices(const ColumnSwizzle& swizzle, const RowAxes& axes,
                                   std::vector<Expr> indices, const ConstraintSet& known) {
  const Expr pattern = pattern_of(swizzle, indices.at(axes.row), known);
  Expr& column = indices.at(axes.column);
  column = simplify_index(column);
  // the place within a group stays visible to compilers, which combine loads of neighbours
  if (const auto parts = swizzle.group == 1 ? std::nullopt : in_groups(column, swizzle.group)) {
    column = Expr(swizzle.group) * bitwise_xor(parts->first, pattern) + Expr(parts->second);
  } else {
    column = bitwise_xor(column, simplify_index(Expr(swizzle.group) * pattern));
  }
  return indices;
}

std::int64_t swizzled_column(const ColumnSwizzle& swizzle, std::int64_t row, std::int64_t column) {
  return column ^ (swizzle.group * (row / swizzle.rows % swizzle.patterns));
}

}  // namespace rtcg::loopy
