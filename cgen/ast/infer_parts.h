#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/infer_type.h"

// The parts of infer_type.

namespace rtcg::cgen::detail {

inline InferredType problem(const char* code, std::string message) {
  return {Invalid{}, TypeProblem{code, std::move(message)}};
}

/// A number, bool, character, unscoped enumerator or complex number.
[[nodiscard]] bool is_arithmetic(const Type& type);
/// Types that C accepts as a condition.
[[nodiscard]] bool is_condition(const Type& type);
/// A literal 0 or a null pointer.
[[nodiscard]] bool is_null_constant(const Expr& expr);
/// The type that a reference refers to, with its qualifiers; other types unchanged.
[[nodiscard]] Type referee_of(const Type& type);
[[nodiscard]] std::optional<TypeProblem> why_not_assignable(const Expr& target);

[[nodiscard]] InferredType infer_complex(BinaryOp op, const Expr& left, const Expr& right);
[[nodiscard]] InferredType infer_binary(BinaryOp op, const Expr& left, const Expr& right);
[[nodiscard]] InferredType infer_unary(const Unary& unary);
[[nodiscard]] InferredType infer_assignment(const AssignExpr& assignment);
[[nodiscard]] InferredType infer_conditional(const Conditional& conditional);
[[nodiscard]] InferredType infer_cast(const Cast& cast);
[[nodiscard]] InferredType infer_subscript(const Subscript& subscript);
[[nodiscard]] InferredType infer_member(const Member& member);
[[nodiscard]] InferredType infer_call(const Call& call);
[[nodiscard]] InferredType infer_builtin(const BuiltinIndex& builtin);
[[nodiscard]] InferredType infer_launch(const KernelLaunch& launch);
[[nodiscard]] InferredType infer_intrinsic(const IntrinsicCall& call);

}  // namespace rtcg::cgen::detail
