#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/machine.h"

// Expressions with their names looked up.

namespace rtcg::loopy::interpretation {

using Evaluate = std::function<Value(Machine&)>;
using EvaluateAll = std::function<std::vector<Value>(Machine&)>;
/// Which elements of a variable an access may touch: their places in memory.
struct Elements {
  std::int64_t first = -1;  ///< the only one; -1 where an index is not certain
  /// Those that it may be then; empty: any.
  std::vector<std::int64_t> possible{};

  [[nodiscard]] bool is_certain() const { return first >= 0; }
  [[nodiscard]] bool may_be(std::int64_t element) const {
    return is_certain() ? first == element
                        : possible.empty() || std::find(possible.begin(), possible.end(),
                                                        element) != possible.end();
  }
};
using FindElement = std::function<Elements(Machine&)>;

class ExprCompiler {
 public:
  /// @param known  inames that have values at the expression
  /// @param targets  of the statement: see Machine::written_element
  ExprCompiler(const Machine& machine, NameSet known, std::vector<Expr> targets = {})
      : machine_(machine), known_(std::move(known)), targets_(std::move(targets)) {}

  /// @param around  the floating-point type of constants combined with the operands around the
  ///                expression
  /// @throws Unsupported  loopy.interpret.function
  [[nodiscard]] Evaluate compile(const Expr& expr, cgen::ScalarKind around);
  /// One value for each of `count` targets.
  [[nodiscard]] EvaluateAll compile_all(const Expr& expr, std::size_t count,
                                        cgen::ScalarKind around);
  /// The address of a target or an element.
  [[nodiscard]] std::pair<int, FindElement> compile_place(const Expr& target);

 private:
  struct Local {
    std::size_t number = 0;
    LooseType type{};
  };
  [[nodiscard]] LooseType type_of(const Expr& expr) const;
  /// The type of the operation itself.
  [[nodiscard]] cgen::ScalarKind kind_of(const Expr& expr, cgen::ScalarKind around) const;
  [[nodiscard]] std::vector<Evaluate> compile_each(const std::vector<Expr>& exprs,
                                                   cgen::ScalarKind around);
  [[nodiscard]] Evaluate compile_read(const Expr& element);
  [[nodiscard]] Evaluate compile_name(const std::string& name);
  Evaluate compile_sum(const Sum& sum, cgen::ScalarKind kind, cgen::ScalarKind inner);
  [[nodiscard]] Evaluate compile_power(const Power& power, cgen::ScalarKind kind);
  [[nodiscard]] Evaluate compile_comparison(const Comparison& comparison, cgen::ScalarKind around);
  [[nodiscard]] Evaluate compile_bitwise(const Bitwise& bitwise, cgen::ScalarKind kind);
  [[nodiscard]] Evaluate compile_call(const Call& call, const Expr& expr, cgen::ScalarKind around);
  [[nodiscard]] Evaluate compile_texel(const Argument& image, const std::vector<Expr>& indices);
  [[nodiscard]] Evaluate compile_sample(const Argument& image, const Call& call);
  [[nodiscard]] Evaluate compile_cast(const Cast& cast);
  [[nodiscard]] EvaluateAll compile_reduction(const Reduction& reduction, cgen::ScalarKind around);
  [[nodiscard]] EvaluateAll compile_rule_reduction(const Reduction& reduction,
                                                   cgen::ScalarKind around);
  [[nodiscard]] std::function<void(Machine&, const std::function<void(std::vector<Value>)>&)>
  compile_terms(const Reduction& reduction, cgen::ScalarKind around);

  const Machine& machine_;
  NameSet known_;
  std::vector<Expr> targets_;
  std::map<std::string, Local, std::less<>> locals_;
};

}  // namespace rtcg::loopy::interpretation
