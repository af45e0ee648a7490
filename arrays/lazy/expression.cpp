#include "rtcg/arrays/lazy/expression.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/prepared_launch.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {

namespace detail {

ExpressionNode::~ExpressionNode() {
  delete prepared.load(std::memory_order_acquire);
  std::vector<NodePointer> dying;
  const auto take = [&dying](NodePointer& pointer) {
    if (pointer && pointer.use_count() == 1) {
      dying.push_back(std::move(pointer));
    }
    pointer.reset();
  };
  for (NodePointer& operand : operands) {
    take(operand);
  }
  while (!dying.empty()) {
    const NodePointer node = std::move(dying.back());
    dying.pop_back();
    // it has no other owner, so its operands may be moved out before it is destroyed
    for (NodePointer& operand : const_cast<ExpressionNode&>(*node).operands) {
      take(operand);
    }
  }
}

namespace {

Expression make_number(const NumberValue& value, DType dtype) {
  auto node = std::make_shared<ExpressionNode>();
  node->op = Op::number;
  node->dtype = dtype;
  node->number = value;
  return Expression(NodePointer(std::move(node)));
}

/// @param dtype  of integers
bool fits_integer(const NumberValue& value, DType dtype) {
  const int bits = static_cast<int>(8 * size_bytes(dtype));
  if (is_unsigned_integer(dtype)) {
    return !value.is_negative && (bits == 64 || value.bits >> bits == 0);
  }
  const std::uint64_t limit = 1ULL << (bits - 1);
  return value.is_negative ? 0 - value.bits <= limit : value.bits < limit;
}

}  // namespace

Expression cast_number(const NumberValue& value, DType dtype) {
  NumberValue result = value;
  if (value.kind == WeakKind::integer || value.kind == WeakKind::boolean) {
    const DType element = element_of(dtype);
    if (is_integer(element) && !fits_integer(value, element)) {
      throw InvalidInput(
          "arrays.expression.number_range",
          fmt::format("the number {} is outside what {} holds: cast the array to a larger type",
                      value.is_negative ? fmt::to_string(static_cast<std::int64_t>(value.bits))
                                        : fmt::to_string(value.bits),
                      name(dtype)));
    }
    result.value = value.is_negative ? static_cast<double>(static_cast<std::int64_t>(value.bits))
                                     : static_cast<double>(value.bits);
  }
  return make_number(result, dtype);
}

}  // namespace detail

Expression::Expression(const AnyArray& array) {
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::leaf;
  node->dtype = array.dtype();
  node->shape = array.shape();
  node->array = array;
  node_ = std::move(node);
}

Expression::Expression(std::complex<double> number)
    : Expression(detail::cast_number({WeakKind::complex, 0, false, number}, DType::c128)) {}

Expression Expression::of_integer(std::uint64_t bits, WeakKind kind, bool is_negative) {
  const bool needs_sign_bit = !is_negative && (bits >> 63) != 0;
  return detail::cast_number({kind, bits, is_negative, {}},
                             needs_sign_bit ? DType::u64 : dtype_of(kind));
}

Expression Expression::of_real(double number) {
  return detail::cast_number({WeakKind::real, 0, false, number}, DType::f64);
}

DType Expression::dtype() const noexcept {
  return node_->dtype;
}

const Extents& Expression::shape() const noexcept {
  return node_->shape;
}

Expression cast(const Expression& value, DType dtype) {
  if (value.dtype() == dtype) {
    return value;
  }
  if (is_vector(value.dtype()) && lanes_of(value.dtype()) != lanes_of(dtype)) {
    detail::refuse_vector("a conversion to another number of lanes", value.dtype());
  }
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::cast;
  node->dtype = dtype;
  node->shape = value.shape();
  node->operands[0] = value.node();
  return Expression(detail::NodePointer(std::move(node)));
}

Expression make_vector(DType dtype, const std::vector<Expression>& components) {
  const auto lanes = static_cast<std::size_t>(lanes_of(dtype));
  if (!is_vector(dtype) || components.size() != lanes) {
    throw InvalidInput("arrays.make_vector.lanes",
                       fmt::format("{} components do not make {}", components.size(), name(dtype)));
  }
  const auto part = [&](std::size_t k) { return detail::as(components[k], element_of(dtype)); };
  if (lanes == 2) {
    return detail::make_node(Op::vector, dtype, {part(0), part(1)});
  }
  const Expression last =
      lanes == 3 ? part(2)
                 : make_vector(vector_of(element_of(dtype), 2), {components[2], components[3]});
  return detail::make_node(Op::vector, dtype, {part(0), part(1), last});
}

Expression gather(const AnyArray& array, const Expression& further) {
  if (!is_integer(further.dtype())) {
    detail::refuse_dtype("gather", further.dtype());
  }
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::gather;
  node->dtype = array.dtype();
  node->shape = array.shape();
  node->array = array;
  node->operands[0] = broadcast_to(cast(further, DType::i64), array.shape()).node();
  return Expression(detail::NodePointer(std::move(node)));
}

Expression detail::sparse_product(std::shared_ptr<const SparseEntries> entries,
                                  const Expression& begin, const Expression& end,
                                  const Expression& x) {
  auto node = std::make_shared<ExpressionNode>();
  node->op = Op::sparse_product;
  node->dtype = entries->value.dtype();
  node->shape = x.shape();
  node->shape[0] = begin.shape()[0];
  node->operands[0] = begin.node();
  node->operands[1] = end.node();
  node->operands[2] = x.node();
  node->entries = std::move(entries);
  return Expression(NodePointer(std::move(node)));
}

Expression indices(const Extents& shape) {
  static_cast<void>(element_count(shape));  // throws if it is not a shape
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::indices;
  node->dtype = DType::i64;
  node->shape = shape;
  return Expression(detail::NodePointer(std::move(node)));
}

}  // namespace rtcg::arrays
