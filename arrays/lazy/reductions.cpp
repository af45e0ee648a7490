#include <fmt/format.h>

#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// The reduced axes, each once, ascending.
Extents reduced_axes(const Expression& a, const ReduceOptions& options) {
  const int axes = a.shape().size();
  Extents result;
  if (!options.axes) {
    for (int axis = 0; axis < axes; ++axis) {
      result.push_back(axis);
    }
    return result;
  }
  for (const std::int64_t given : *options.axes) {
    const int axis = checked_axis(given, axes);
    if (result.contains(axis)) {
      throw InvalidInput("arrays.reduce.repeated_axis",
                         fmt::format("axis {} is reduced twice", given));
    }
    result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::int64_t reduced_count(const Expression& a, const Extents& axes) {
  Extents lengths;
  for (const std::int64_t axis : axes) {
    lengths.push_back(a.shape()[static_cast<int>(axis)]);
  }
  return element_count(lengths);
}

Expression reduce(Op op, DType dtype, const Expression& a, const ReduceOptions& options) {
  if (is_vector(a.dtype()) != is_vector(dtype)) {
    detail::refuse_vector("a reduction to numbers", a.dtype());
  }
  const Extents axes = reduced_axes(a, options);
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = op;
  node->dtype = dtype;
  node->operands[0] = a.node();
  node->axes = axes;
  node->keeps_axes = options.keeps_axes;
  for (int axis = 0; axis < a.shape().size(); ++axis) {
    if (!axes.contains(axis)) {
      node->shape.push_back(a.shape()[axis]);
    } else if (options.keeps_axes) {
      node->shape.push_back(1);
    }
  }
  return Expression(detail::NodePointer(std::move(node)));
}

/// Numbers that are summed without rounding.
bool is_exact(DType dtype) {
  const DType element = element_of(dtype);
  return !is_floating(element) && !is_complex(element);
}
/// f64, or short vectors of it.
DType exact_mean(DType dtype) {
  return vector_of(DType::f64, lanes_of(dtype));
}

/// A reduction for which nothing has no value.
Expression reduce_some(Op op, const char* function, DType dtype, const Expression& a,
                       const ReduceOptions& options) {
  if (is_complex(a.dtype())) {
    detail::refuse_dtype(function, a.dtype());
  }
  const Expression result = reduce(op, dtype, a, options);
  if (reduced_count(a, result.node()->axes) == 0 && element_count(result.shape()) != 0) {
    throw InvalidInput("arrays.reduce.empty",
                       fmt::format("{} of no elements: a reduced axis has length 0 in shape {}",
                                   function, to_string(a.shape())));
  }
  return result;
}

void require_vector(const Expression& a) {
  if (a.shape().size() != 1) {
    throw InvalidInput(
        "arrays.dot.not_vectors",
        fmt::format("dot takes two arrays of one axis; one has shape {}", to_string(a.shape())));
  }
}

Expression sum_of_squares(const Expression& a, const ReduceOptions& options) {
  return is_complex(a.dtype()) ? sum(square(real(a)) + square(imag(a)), options)
                               : sum(square(a), options);
}

}  // namespace

Expression sum(const Expression& a, const ReduceOptions& options) {
  const DType dtype = options.dtype.value_or(sum_type(a.dtype()));
  return reduce(Op::sum, dtype, detail::as(a, dtype), options);
}

Expression prod(const Expression& a, const ReduceOptions& options) {
  const DType dtype = options.dtype.value_or(sum_type(a.dtype()));
  return reduce(Op::product, dtype, detail::as(a, dtype), options);
}

Expression mean(const Expression& a, const ReduceOptions& options) {
  const DType dtype =
      options.dtype.value_or(is_exact(a.dtype()) ? exact_mean(a.dtype()) : a.dtype());
  // f16 would overflow on the way
  const DType inner = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  const Expression total = reduce(Op::sum, inner, detail::as(a, inner), options);
  const auto count = static_cast<double>(reduced_count(a, total.node()->axes));
  return cast(total / count, dtype);
}

Expression min(const Expression& a, const ReduceOptions& options) {
  return reduce_some(Op::min, "min", a.dtype(), a, options);
}
Expression max(const Expression& a, const ReduceOptions& options) {
  return reduce_some(Op::max, "max", a.dtype(), a, options);
}
Expression any(const Expression& a, const ReduceOptions& options) {
  return reduce(Op::any, DType::boolean, cast(a, DType::boolean), options);
}
Expression all(const Expression& a, const ReduceOptions& options) {
  return reduce(Op::all, DType::boolean, cast(a, DType::boolean), options);
}
Expression argmin(const Expression& a, const ReduceOptions& options) {
  return reduce_some(Op::argmin, "argmin", DType::i64, a, options);
}
Expression argmax(const Expression& a, const ReduceOptions& options) {
  return reduce_some(Op::argmax, "argmax", DType::i64, a, options);
}

Expression var(const Expression& a, const ReduceOptions& options, double ddof) {
  const Expression values =
      is_exact(a.dtype()) ? cast(a, options.dtype.value_or(exact_mean(a.dtype()))) : a;
  ReduceOptions inner = options;
  inner.keeps_axes = true;
  const Expression center = mean(values, inner);
  const Expression squares = sum_of_squares(values - center, options);
  const auto count = static_cast<double>(reduced_count(a, squares.node()->axes));
  return squares / (count - ddof);
}

Expression std_dev(const Expression& a, const ReduceOptions& options, double ddof) {
  return sqrt(var(a, options, ddof));
}

Expression norm(const Expression& a, const ReduceOptions& options) {
  return sqrt(sum_of_squares(is_exact(a.dtype()) ? cast(a, exact_mean(a.dtype())) : a, options));
}

Expression dot(const Expression& a, const Expression& b) {
  require_vector(a);
  require_vector(b);
  return sum(a * b, {.axes = std::nullopt, .dtype = detail::common_dtype(a, b)});
}

Expression vdot(const Expression& a, const Expression& b) {
  return dot(conj(a), b);
}

}  // namespace rtcg::arrays
