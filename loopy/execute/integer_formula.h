#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {

/// Integers by number instead of name; those that are not known are empty.
using IntegerList = std::vector<std::optional<std::int64_t>>;

/// An integer expression that is evaluated again and again: its names are looked up once. An
/// immutable value; any thread may use it.
class IntegerFormula {
 public:
  /// @param names  of the values that it will be given, in their order
  IntegerFormula(const Expr& expr, const std::vector<std::string>& names);
  IntegerFormula(const Affine& affine, const std::vector<std::string>& names)
      : IntegerFormula(to_expr(affine), names) {}

  /// What evaluate_integer gives, without its exceptions.
  [[nodiscard]] std::optional<std::int64_t> evaluate(const IntegerList& values) const;

 private:
  enum class Op : std::uint8_t { constant, value, add, multiply, floor_divide, modulo, min, max };
  struct Step {
    Op op = Op::constant;
    std::int64_t operand = 0;  ///< a constant, or the number of a value
  };
  static constexpr std::size_t most_depth = 16;

  /// Adds the steps that leave the value above `depth` others; whether there are such.
  bool add(const Expr& expr, const std::vector<std::string>& names, std::size_t depth);
  bool add_all(const std::vector<Expr>& operands, Op op, const std::vector<std::string>& names,
               std::size_t depth);

  std::vector<Step> steps_;  // on a stack; none: `rare_` is evaluated instead
  std::optional<Expr> rare_;
  std::vector<std::string> names_;  // for `rare_`
};

}  // namespace rtcg::loopy
