#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/analyze/rule_operation.h"

namespace rtcg::loopy {

/// The operation of a reduction on values of certain types: one value for most, a value and its
/// place for argmin and argmax, or the values of a rule.
class ReductionOperation {
 public:
  /// @param types  of the values, as types_of_targets gives them
  /// @throws InvalidInput  those of find_rule_operation
  ReductionOperation(const Kernel& kernel, const Reduction& reduction,
                     std::vector<cgen::Type> types);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<cgen::Type>& types() const noexcept { return types_; }
  [[nodiscard]] bool has_place() const noexcept;
  /// Whether only neighbours may be combined, the earlier one on the left.
  [[nodiscard]] bool is_ordered() const noexcept { return is_ordered_; }
  /// Whether the operands may occur several times in the result.
  [[nodiscard]] bool repeats_operands() const noexcept {
    return has_place() || rule_ || name_ == "minimum" || name_ == "maximum";
  }
  /// The suffix of the names of variables for value `i`.
  [[nodiscard]] std::string suffix(std::size_t i) const;

  /// The neutral values. The neutral place is the largest value of its type.
  [[nodiscard]] std::vector<Expr> neutral() const;
  /// The values to assign to `left`, the last element first: those before it still read the old
  /// values. Of equal values argmin and argmax take the one of the smaller place, in any order of
  /// evaluation.
  [[nodiscard]] std::vector<Expr> combine(const std::vector<Expr>& left,
                                          const std::vector<Expr>& right) const;

 private:
  std::string name_;
  std::vector<cgen::Type> types_;
  std::optional<RuleOperation> rule_;
  bool is_ordered_;
};

}  // namespace rtcg::loopy
