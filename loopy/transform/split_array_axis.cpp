#include "rtcg/loopy/transform/split_array_axis.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

std::optional<Refusal> find_refusal(const Kernel& kernel, std::string_view array, std::size_t axis,
                                    std::int64_t length) {
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  if (!layout) {
    return Refusal{"loopy.split_array_axis.unknown_array",
                   fmt::format("kernel '{}' has no array '{}' of known shape", kernel.name, array)};
  }
  if (axis >= layout->shape.size()) {
    return Refusal{"loopy.split_array_axis.bad_axis",
                   fmt::format("'{}' has no axis {}: it has {}, counted from 0", array, axis,
                               layout->shape.size())};
  }
  if (length <= 0) {
    return Refusal{"loopy.split_array_axis.bad_length",
                   fmt::format("an axis of '{}' cannot have {} elements", array, length)};
  }
  if (has_linear_access(kernel, array)) {
    return Refusal{
        "loopy.split_array_axis.linear_access",
        fmt::format("'{}' is accessed by its place in memory, which would change", array)};
  }
  return std::nullopt;
}

/// `index // length` and `index % length`; free of rounding where the constraints of the inames in
/// the index say what the remainder is.
std::pair<Expr, Expr> divided(const Kernel& kernel, const Expr& index, std::int64_t length) {
  if (const std::optional<Affine> affine = to_affine(index)) {
    Affine quotient(divide_rounding_down(affine->constant(), length));
    Affine remainder(affine->constant() - length * quotient.constant());
    for (const Affine::Term& term : affine->terms()) {
      const std::int64_t factor = divide_rounding_down(term.coefficient, length);
      quotient = quotient + Affine(term.name, factor);
      remainder = remainder + Affine(term.name, term.coefficient - length * factor);
    }
    const NameSet names = free_names(index);
    const ConstraintSet known = constraints_of(kernel, names);
    if (known.implies_nonnegative(remainder) &&
        known.implies_nonnegative(Affine(length - 1) - remainder)) {
      return {to_expr(quotient), to_expr(remainder)};
    }
  }
  return {floor_div(index, length), modulo(index, length)};
}

}  // namespace

Kernel split_array_axis(Kernel kernel, std::string_view array, std::size_t axis,
                        std::int64_t length) {
  throw_if_refused(find_refusal(kernel, array, axis, length));
  ArrayLayout layout = *find_layout(kernel, array);
  const auto place = static_cast<std::ptrdiff_t>(axis);
  const Expr count =
      simplify_index(floor_div(simplify_index(layout.shape[axis] + Expr(length - 1)), length));
  layout.shape[axis] = count;
  layout.shape.insert(layout.shape.begin() + place + 1, Expr(length));
  layout.strides_elements = c_order_strides(layout.shape);
  const Kernel before = kernel;
  kernel = map_expressions(std::move(kernel), [&](const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      if (element == nullptr || element->array != array) {
        return std::nullopt;
      }
      std::vector<Expr> indices = element->indices;
      auto [quotient, remainder] = divided(before, indices[axis], length);
      indices[axis] = quotient;
      indices.insert(indices.begin() + place + 1, remainder);
      return access(element->array, std::move(indices));
    });
  });
  kernel = with_layout(std::move(kernel), array, std::move(layout));
  record(kernel, "split_array_axis",
         {std::string(array), std::to_string(axis), std::to_string(length)});
  return kernel;
}

}  // namespace rtcg::loopy
