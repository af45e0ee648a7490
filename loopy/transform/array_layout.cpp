#include "rtcg/loopy/transform/array_layout.h"

#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

std::optional<ArrayLayout> find_layout(const Kernel& kernel, std::string_view array) {
  ArrayLayout layout;
  if (const Argument* argument = find_argument(kernel, array)) {
    layout = {argument->shape, argument->strides_elements};
  } else if (const Temporary* temporary = find_temporary(kernel, array)) {
    layout = {temporary->shape, temporary->strides_elements};
  }
  if (layout.shape.empty()) {
    return std::nullopt;
  }
  if (layout.strides_elements.empty()) {
    layout.strides_elements = c_order_strides(layout.shape);
  }
  return layout;
}

Kernel with_layout(Kernel kernel, std::string_view array, ArrayLayout layout) {
  if (layout.strides_elements == c_order_strides(layout.shape)) {
    layout.strides_elements.clear();
  }
  for (Argument& argument : kernel.arguments) {
    if (argument.name == array) {
      argument.shape = layout.shape;
      argument.strides_elements = layout.strides_elements;
      if (argument.field_of) {  // from now on an array of its own
        argument.field_of.reset();
        argument.offset_elements = 0;
      }
    }
  }
  for (Temporary& temporary : kernel.temporaries) {
    if (temporary.name == array) {
      temporary.shape = layout.shape;
      temporary.strides_elements = layout.strides_elements;
      temporary.swizzle = {};  // it was for other rows
    }
  }
  return kernel;
}

std::vector<Expr> strides_in_order(const std::vector<Expr>& shape,
                                   const std::vector<std::size_t>& order) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  Expr stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride = simplify_index(shape[order[i]] * stride);
  }
  return strides;
}

bool has_linear_access(const Kernel& kernel, std::string_view array) {
  bool is_found = false;
  static_cast<void>(map_expressions(kernel, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const LinearAccess* access = get_if<LinearAccess>(part);
      is_found = is_found || (access != nullptr && access->array == array);
      return !is_found;
    });
    return expr;
  }));
  return is_found;
}

Expr clipped_element(const Argument& argument, const std::vector<Expr>& indices,
                     const ConstraintSet& box) {
  std::vector<Expr> conditions;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const auto index = to_affine(indices[axis]);
    const auto length = to_affine(argument.shape[axis]);
    if (!index || !box.implies_nonnegative(*index)) {
      conditions.push_back(Comparison{ComparisonOp::less_equal, 0, indices[axis]});
    }
    if (!index || !length || !box.implies_nonnegative(*length - *index - 1)) {
      conditions.push_back(Comparison{ComparisonOp::less, indices[axis], argument.shape[axis]});
    }
  }
  const Expr element = Access{argument.name, indices};
  return conditions.empty() ? element
                            : Expr(Conditional{logical_and(conditions), element, Expr(0)});
}

}  // namespace rtcg::loopy
