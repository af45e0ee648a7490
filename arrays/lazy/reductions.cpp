#include <fmt/format.h>

#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

std::int64_t reduced_count(const Expression& a, const Extents& axes) {
  Extents lengths;
  for (const std::int64_t axis : axes) {
    lengths.push_back(a.shape()[static_cast<int>(axis)]);
  }
  return element_count(lengths);
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

namespace detail {

Expression make_reduction(Op op, DType dtype, const Expression& a, const ReduceOptions& options) {
  const char* const of_some = op == Op::min      ? "min"
                              : op == Op::max    ? "max"
                              : op == Op::argmin ? "argmin"
                              : op == Op::argmax ? "argmax"
                                                 : nullptr;
  if (of_some != nullptr && is_complex(a.dtype())) {
    refuse_dtype(of_some, a.dtype());
  }
  if (is_vector(a.dtype()) != is_vector(dtype)) {
    refuse_vector("a reduction to numbers", a.dtype());
  }
  auto node = std::make_shared<ExpressionNode>();
  node->op = op;
  node->dtype = dtype;
  node->operands[0] = a.node();
  node->axes = reduced_axes(options.axes, a.shape().size());
  node->keeps_axes = options.keeps_axes;
  node->shape = shape_without(a.shape(), node->axes, options.keeps_axes);
  if (of_some != nullptr && reduced_count(a, node->axes) == 0 && element_count(node->shape) != 0) {
    throw InvalidInput("arrays.reduce.empty",
                       fmt::format("{} of no elements: a reduced axis has length 0 in shape {}",
                                   of_some, to_string(a.shape())));
  }
  return Expression(NodePointer(std::move(node)));
}

}  // namespace detail

using detail::make_reduction;

Expression sum(const Expression& a, const ReduceOptions& options) {
  const DType dtype = options.dtype.value_or(sum_type(a.dtype()));
  return make_reduction(Op::sum, dtype, detail::as(a, dtype), options);
}

Expression prod(const Expression& a, const ReduceOptions& options) {
  const DType dtype = options.dtype.value_or(sum_type(a.dtype()));
  return make_reduction(Op::product, dtype, detail::as(a, dtype), options);
}

Expression mean(const Expression& a, const ReduceOptions& options) {
  const DType dtype =
      options.dtype.value_or(is_exact(a.dtype()) ? exact_mean(a.dtype()) : a.dtype());
  // f16 would overflow on the way
  const DType inner = dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
  const Expression total = make_reduction(Op::sum, inner, detail::as(a, inner), options);
  const auto count = static_cast<double>(reduced_count(a, total.node()->axes));
  return cast(total / count, dtype);
}

Expression min(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::min, a.dtype(), a, options);
}
Expression max(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::max, a.dtype(), a, options);
}
Expression any(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::any, DType::boolean, cast(a, DType::boolean), options);
}
Expression all(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::all, DType::boolean, cast(a, DType::boolean), options);
}
Expression argmin(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::argmin, DType::i64, a, options);
}
Expression argmax(const Expression& a, const ReduceOptions& options) {
  return make_reduction(Op::argmax, DType::i64, a, options);
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
