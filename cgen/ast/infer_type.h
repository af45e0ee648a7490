#pragma once

#include <optional>
#include <string>

#include "rtcg/cgen/ast/expr.h"

namespace rtcg::cgen {

/// The error of one expression whose operands are right.
struct TypeProblem {
  const char* code;  ///< an error code `cgen.check_types...`
  std::string message;
};

struct InferredType {
  Type type;
  std::optional<TypeProblem> problem;
};

/// The C type of the expression that `node` is, from its operands, by C's promotions and
/// conversions.
///
/// With a problem the type is the likely one if there is one, otherwise Invalid. Invalid operands
/// make it Invalid without a further problem; opaque operands make it Unknown. Comparisons and
/// logical operators give bool, as in C++.
[[nodiscard]] InferredType infer_type(const ExprNode& node);

/// The common type of the operands of `left op right`, for scalars (C's usual arithmetic
/// conversions). A half and a bfloat16 have no common type.
[[nodiscard]] std::optional<ScalarKind> common_kind(ScalarKind left, ScalarKind right);

/// C's integer promotion; other kinds stay.
[[nodiscard]] ScalarKind promoted(ScalarKind kind);

/// Why a value of type `from` cannot initialise, be assigned to, passed or returned as `to`;
/// nothing if it can. `is_null`: the value is a null pointer constant.
[[nodiscard]] std::optional<std::string> why_not_convertible(const Type& from, const Type& to,
                                                             bool is_null = false);

}  // namespace rtcg::cgen
