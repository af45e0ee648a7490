#include "rtcg/arrays/lazy/make_node.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {

const NumberValue* number_of(const Expression& value) {
  return value.node()->number ? &*value.node()->number : nullptr;
}

void refuse_dtype(const char* function, DType dtype) {
  throw InvalidInput("arrays.expression.dtype",
                     fmt::format("{} is not defined for elements of {}", function, name(dtype)));
}

void refuse_vector(const char* what, DType dtype) {
  throw InvalidInput("arrays.expression.vector",
                     fmt::format("{} is not defined for elements of {}: use components(), "
                                 "a view that has them as its last axis",
                                 what, name(dtype)));
}

void refuse_argument(const ExpressionNode& argument) {
  throw InvalidInput("arrays.evaluate.unbound_argument",
                     fmt::format("argument '{}' of {} has no value: a launch of a kernel "
                                 "gives it one",
                                 *argument.argument, name(argument.dtype)));
}

Expression make_node(Op op, DType dtype, std::initializer_list<Expression> operands) {
  auto node = std::make_shared<ExpressionNode>();
  node->op = op;
  node->dtype = dtype;
  int i = 0;
  for (const Expression& operand : operands) {
    if (is_vector(operand.dtype()) && !is_vector(dtype)) {
      refuse_vector("a result that is a number", operand.dtype());
    }
    node->shape = i == 0 ? operand.shape() : broadcast_shapes(node->shape, operand.shape());
    node->operands[i++] = operand.node();
  }
  return Expression(NodePointer(std::move(node)));
}

Expression as(const Expression& value, DType dtype) {
  const NumberValue* number = number_of(value);
  return number != nullptr && value.dtype() != dtype ? cast_number(*number, dtype)
                                                     : cast(value, dtype);
}

namespace {

[[noreturn]] void refuse_narrowing(const Expression& value, DType dtype) {
  const bool is_number = number_of(value) != nullptr;
  const bool has_imaginary = is_complex(value.dtype()) && !is_complex(dtype);
  const DType to = element_of(dtype);
  const char* const lost = to == DType::boolean                     ? "all but whether they are 0"
                           : has_imaginary                          ? "imaginary parts"
                           : is_floating(element_of(value.dtype())) ? "fractions"
                                                                    : "signs";
  const char* const remedy = to == DType::boolean ? "compare with 0, or convert"
                             : has_imaginary      ? "take real(...), or convert"
                                                  : "convert";
  throw InvalidInput(
      "arrays.assign.narrowing",
      fmt::format(
          "{} of {} would lose {} in an array of {}: {} it with cast(value, {}) or as<T>()",
          is_number ? "a number" : "elements", name(value.dtype()), lost, name(dtype), remedy,
          is_vector(dtype) ? std::string(name(dtype)) : fmt::format("DType::{}", name(dtype))));
}

bool fits(const Expression& value, DType dtype) {
  const NumberValue* number = number_of(value);
  const bool is_of_integer =
      number != nullptr && number->kind == WeakKind::integer && is_integer(value.dtype());
  if (!is_of_integer) {
    return is_same_kind(value.dtype(), dtype);
  }
  // whether an unsigned type holds it, cast_number() checks
  return element_of(dtype) != DType::boolean || (!number->is_negative && number->bits <= 1);
}

}  // namespace

Expression fitted(const Expression& value, DType dtype) {
  if (value.dtype() == dtype) {
    return value;
  }
  if (!fits(value, dtype)) {
    refuse_narrowing(value, dtype);
  }
  return as(value, dtype);
}

Expression floating(Op op, const char* function, const Expression& a, bool takes_complex) {
  const DType dtype = floating_for(a.dtype());
  if (is_complex(dtype) && !takes_complex) {
    refuse_dtype(function, dtype);
  }
  return make_node(op, dtype, {as(a, dtype)});
}

DType common_dtype(const Expression& a, const Expression& b) {
  const NumberValue* left = number_of(a);
  const NumberValue* right = number_of(b);
  if ((left == nullptr) == (right == nullptr)) {
    return promote(a.dtype(), b.dtype());
  }
  return left == nullptr ? promote(a.dtype(), right->kind) : promote(b.dtype(), left->kind);
}

}  // namespace rtcg::arrays::detail
