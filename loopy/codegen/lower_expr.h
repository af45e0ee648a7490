#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/codegen/emit_context.h"
#include "rtcg/loopy/device/helper_function.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What an expression of a kernel is turned into C against.
struct ExprScope {
  const Kernel* kernel = nullptr;
  /// Type of inames and indices, i32 or i64.
  cgen::Type index_type = cgen::i32;
  /// What is known at the place of the expression; conditions that follow from it are left out.
  const ConstraintSet* context = nullptr;
  /// Set where the C turned out to depend on them.
  bool* has_asked_context = nullptr;
  /// Inames that have one value here, copies of unrolled loops and lanes among them.
  const KnownValues* values = nullptr;
  /// The C variable of a name that has no value in `values`.
  std::function<cgen::Expr(const std::string& name)> variable;
  /// The C lvalue of an element; the indices have been substituted.
  std::function<cgen::Expr(const std::string& array, const std::vector<Expr>& indices)> element;
  std::function<cgen::Expr(const std::string& array, const Expr& index)> linear_element;
  /// What an image has at coordinates of type f32, one for each axis; element 0 has 0. That of
  /// layers is an integer. Of a mipmap a level follows, of type f32; without one it is level 0.
  std::function<cgen::Expr(const std::string& image, std::vector<cgen::Expr> coordinates)> texel;
  /// Functions that the text needs, such as floor division; added to.
  std::set<HelperFunction>* helpers = nullptr;
};

/// The C expression; arithmetic is done in `type`, the type of `expr` where it is Unknown.
[[nodiscard]] cgen::Expr lower_expr(const ExprScope& scope, const Expr& expr,
                                    const cgen::Type& type = {});
/// `value` as C takes it for one of `type`: a number becomes a complex number or a vector only
/// where that is said.
[[nodiscard]] cgen::Expr as_value_of(const cgen::Type& type, const cgen::Expr& value);
/// The same for an index or bound: in the index type, simplified first.
[[nodiscard]] cgen::Expr lower_index(const ExprScope& scope, const Expr& expr);
[[nodiscard]] cgen::Expr lower_index(const ExprScope& scope, const Affine& affine);
/// `numerator / denominator` rounded down, denominator > 0.
[[nodiscard]] cgen::Expr lower_floor_div(const ExprScope& scope, const Expr& numerator,
                                         const Expr& denominator);

/// `expr >= 0` or `expr == 0` as a person would write it: `i < n`, `16 * i_outer + i_inner < n`.
[[nodiscard]] cgen::Expr lower_constraint(const ExprScope& scope, const Constraint& constraint);

/// Makes `condition` hold only where `test` does, too.
void add_test(std::optional<cgen::Expr>& condition, const cgen::Expr& test);

/// The same for a comparison of a condition, which may contain quotients.
[[nodiscard]] cgen::Expr lower_comparison(const ExprScope& scope, const ComparisonForm& form);

}  // namespace rtcg::loopy
