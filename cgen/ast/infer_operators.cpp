// Types of unary and binary operators and assignments.
#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_parts.h"
#include "rtcg/cgen/ast/value_type_within.h"

namespace rtcg::cgen::detail {
namespace {

InferredType operand_kind(std::string_view op, const Expr& left, const Expr& right,
                          std::string_view wanted) {
  return problem("cgen.check_types.operand_kind",
                 fmt::format("operator '{}' needs {}, not '{}' and '{}'", op, wanted,
                             describe(left.type()), describe(right.type())));
}

bool is_integer(const Type& type) {
  const auto kind = scalar_kind(type);
  return kind && is_integral(*kind);
}

bool is_bitwise(BinaryOp op) {
  return op == BinaryOp::remainder || (op >= BinaryOp::shift_left && op <= BinaryOp::bit_xor);
}
bool is_comparison(BinaryOp op) {
  return op >= BinaryOp::less && op <= BinaryOp::not_equal;
}
bool is_equality(BinaryOp op) {
  return op == BinaryOp::equal || op == BinaryOp::not_equal;
}

Type lane_mask(const Vector& vector) {
  const int bytes = size_bytes(*scalar_kind(vector.element));
  const ScalarKind kind = bytes == 1   ? ScalarKind::i8
                          : bytes == 2 ? ScalarKind::i16
                          : bytes == 4 ? ScalarKind::i32
                                       : ScalarKind::i64;
  return Vector{Scalar{kind}, vector.lanes};
}

InferredType infer_vector(BinaryOp op, const Expr& left, const Expr& right) {
  const Type l = value_type(left.type());
  const Type r = value_type(right.type());
  const bool left_leads = is<Vector>(l);
  const Type& type = left_leads ? l : r;
  const Type& other = left_leads ? r : l;
  const auto& vector = *get_if<Vector>(type);
  const bool fits = other == type || (!is<Vector>(other) && is_arithmetic(other));
  if (!fits || (is_bitwise(op) && !is_integer(vector.element))) {
    return operand_kind(spelling(op), left, right, "vectors of one type, or a vector and a scalar");
  }
  const bool gives_mask =
      is_comparison(op) || op == BinaryOp::logical_and || op == BinaryOp::logical_or;
  return {gives_mask && scalar_kind(vector.element) ? lane_mask(vector) : type, {}};
}

bool may_point_alike(const Type& left, const Type& right) {
  const Type l = without_qualifiers(get_if<Pointer>(left)->pointee);
  const Type r = without_qualifiers(get_if<Pointer>(right)->pointee);
  return l == r || is_opaque(l) || is_opaque(r);
}

InferredType infer_pointer(BinaryOp op, const Expr& left, const Expr& right) {
  const Type l = decayed(left.type());
  const Type r = decayed(right.type());
  const bool both = is<Pointer>(l) && is<Pointer>(r);
  const bool compares_null = is_null_constant(left) || is_null_constant(right);
  if (is_comparison(op)) {
    const bool to_void = both && (get_if<Pointer>(l)->pointee == void_type ||
                                  get_if<Pointer>(r)->pointee == void_type);
    if (both ? to_void || may_point_alike(l, r) : compares_null && is_equality(op)) {
      return {boolean, {}};
    }
  } else if (op == BinaryOp::subtract && both && may_point_alike(l, r)) {
    return {ptrdiff_type, {}};
  } else if (!both && (op == BinaryOp::add || op == BinaryOp::subtract)) {
    const Type& pointer = is<Pointer>(l) ? l : r;
    const Type& offset = is<Pointer>(l) ? r : l;
    const Type pointee = without_qualifiers(get_if<Pointer>(pointer)->pointee);
    const bool steps = pointee != void_type && !is<FunctionType>(pointee);
    if (steps && is_integer(offset) && (op == BinaryOp::add || is<Pointer>(l))) {
      return {pointer, {}};
    }
  }
  return problem("cgen.check_types.pointer_arithmetic",
                 fmt::format("operator '{}' cannot combine '{}' and '{}'", spelling(op),
                             describe(left.type()), describe(right.type())));
}

InferredType infer_arithmetic(BinaryOp op, const Expr& left, const Expr& right) {
  const Type& l = value_type_within(left.type());
  const Type& r = value_type_within(right.type());
  if (is<Complex>(l) || is<Complex>(r)) {
    return infer_complex(op, left, right);
  }
  const auto left_kind = scalar_kind(l);
  const auto right_kind = scalar_kind(r);
  if (!left_kind || !right_kind) {
    if (is_comparison(op) && l == r && is<Enumeration>(l)) {
      return {boolean, {}};
    }
    return operand_kind(spelling(op), left, right, "arithmetic operands");
  }
  const auto common = common_kind(*left_kind, *right_kind);
  if (!common) {
    return operand_kind(spelling(op), left, right, "operands with a common type");
  }
  if (is_bitwise(op) && is_floating(*common)) {
    return operand_kind(spelling(op), left, right, "integer operands");
  }
  if (is_comparison(op)) {
    return {boolean, {}};
  }
  const bool is_shift = op == BinaryOp::shift_left || op == BinaryOp::shift_right;
  const ScalarKind kind = is_shift ? promoted(*left_kind) : *common;
  for (const Type* operand : {&l, &r}) {  // that of one of them, nearly always: no new type is made
    const auto* scalar = get_if<Scalar>(*operand);
    if (scalar != nullptr && scalar->kind == kind) {
      return {*operand, {}};
    }
  }
  return {Scalar{kind}, {}};
}

InferredType infer_logical(BinaryOp op, const Expr& left, const Expr& right) {
  if (!is_condition(left.type()) || !is_condition(right.type())) {
    return operand_kind(spelling(op), left, right, "conditions");
  }
  return {boolean, {}};
}

}  // namespace

InferredType infer_complex(BinaryOp op, const Expr& left, const Expr& right) {
  const auto element = [](const Type& type) {
    const auto* complex = get_if<Complex>(type);
    return scalar_kind(complex != nullptr ? complex->element : type);
  };
  const auto l = element(value_type(left.type()));
  const auto r = element(value_type(right.type()));
  const auto common = l && r ? common_kind(*l, *r) : std::nullopt;
  if (is_equality(op) && common) {
    return {boolean, {}};
  }
  if (op > BinaryOp::divide || !common) {
    return operand_kind(spelling(op), left, right, "operands that are not complex numbers");
  }
  return {Complex{Scalar{*common}}, {}};
}

InferredType infer_binary(BinaryOp op, const Expr& left, const Expr& right) {
  if (is<Invalid>(left.type()) || is<Invalid>(right.type())) {
    return {Invalid{}, {}};
  }
  if (op == BinaryOp::comma) {
    return {right.type(), {}};
  }
  const bool is_logical = op == BinaryOp::logical_and || op == BinaryOp::logical_or;
  if (!is_logical && is<Scalar>(left.type()) && is<Scalar>(right.type())) {  // nearly always
    return infer_arithmetic(op, left, right);
  }
  if (is_opaque(left.type()) || is_opaque(right.type())) {
    return {is_comparison(op) && !is_opaque(left.type()) ? boolean : Type(), {}};
  }
  if (is<Vector>(value_type_within(left.type())) || is<Vector>(value_type_within(right.type()))) {
    return infer_vector(op, left, right);
  }
  if (is_logical) {
    return infer_logical(op, left, right);
  }
  if (is<Pointer>(decayed(left.type())) || is<Pointer>(decayed(right.type()))) {
    return infer_pointer(op, left, right);
  }
  return infer_arithmetic(op, left, right);
}

namespace {

InferredType bad_operand(const Unary& unary, std::string_view wanted) {
  return problem("cgen.check_types.operand_kind",
                 fmt::format("operator '{}' needs {}, not '{}'", spelling(unary.op), wanted,
                             describe(unary.operand.type())));
}

InferredType infer_step(const Unary& unary) {
  const Type value = value_type(unary.operand.type());
  if (auto found = why_not_assignable(unary.operand)) {
    return {value, std::move(found)};
  }
  const auto kind = scalar_kind(value);
  if (!is<Pointer>(value) &&
      (!kind || kind == ScalarKind::void_ || is<Enumeration>(value) || kind == ScalarKind::bool_)) {
    return bad_operand(unary, "a number or a pointer");
  }
  return {value, {}};
}

InferredType infer_dereference(const Unary& unary) {
  const Type type = decayed(unary.operand.type());
  const auto* pointer = get_if<Pointer>(type);
  if (pointer == nullptr || without_qualifiers(pointer->pointee) == void_type) {
    return problem("cgen.check_types.not_a_pointer",
                   fmt::format("operator '*' needs a pointer to an object, not '{}'",
                               describe(unary.operand.type())));
  }
  return {pointer->pointee, {}};
}

}  // namespace

InferredType infer_unary(const Unary& unary) {
  const Type& type = unary.operand.type();
  if (is<Invalid>(type)) {
    return {Invalid{}, {}};
  }
  const Type value = value_type(type);
  const auto kind = scalar_kind(value);
  switch (unary.op) {
    case UnaryOp::address_of:
      if (!is_lvalue(unary.operand) && !is<FunctionType>(value) && !is_opaque(type)) {
        return problem("cgen.check_types.not_assignable",
                       fmt::format("operator '&' needs an object, not the value '{}'",
                                   describe(unary.operand)));
      }
      return {is_opaque(type) && !is<Named>(value) ? Type() : Type(Pointer{referee_of(type)}), {}};
    case UnaryOp::logical_not:
      if (const auto* vector = get_if<Vector>(value)) {
        return {scalar_kind(vector->element) ? lane_mask(*vector) : value, {}};
      }
      return is_condition(type) ? InferredType{is_opaque(type) ? value : boolean, {}}
                                : bad_operand(unary, "a condition");
    case UnaryOp::dereference:
      return is_opaque(type) ? InferredType{} : infer_dereference(unary);
    case UnaryOp::plus:
    case UnaryOp::negate:
      if (is_opaque(type) || is<Vector>(value) || is<Complex>(value)) {
        return {value, {}};
      }
      return is_arithmetic(value) ? InferredType{Scalar{promoted(*kind)}, {}}
                                  : bad_operand(unary, "a number");
    case UnaryOp::bit_not:
      if (is_opaque(type) || (is<Vector>(value) && is_integer(get_if<Vector>(value)->element))) {
        return {value, {}};
      }
      return is_integer(value) ? InferredType{Scalar{promoted(*kind)}, {}}
                               : bad_operand(unary, "an integer");
    default:
      return is_opaque(type) ? InferredType{value, {}} : infer_step(unary);
  }
}

InferredType infer_assignment(const AssignExpr& assignment) {
  const Type& target = assignment.target.type();
  if (is<Invalid>(target) || is<Invalid>(assignment.value.type())) {
    return {Invalid{}, {}};
  }
  if (auto found = why_not_assignable(assignment.target)) {
    return {referee_of(target), std::move(found)};
  }
  Type value = assignment.value.type();
  if (assignment.op) {
    InferredType combined = infer_binary(*assignment.op, assignment.target, assignment.value);
    if (combined.problem) {
      return combined;
    }
    value = combined.type;
  }
  const bool is_null = !assignment.op && is_null_constant(assignment.value);
  if (const auto reason = why_not_convertible(value, value_type(target), is_null)) {
    return {referee_of(target),
            TypeProblem{"cgen.check_types.conversion",
                        fmt::format("a value of type '{}' cannot be assigned to "
                                    "'{}' of type '{}': {}",
                                    describe(value), describe(assignment.target), describe(target),
                                    *reason)}};
  }
  return {referee_of(target), {}};
}

}  // namespace rtcg::cgen::detail
