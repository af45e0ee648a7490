#pragma once

#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// What a reduction does with values of certain types: one value for most, a value and its place
/// for argmin and argmax. Internal to preprocess.
class ReductionOperation {
 public:
  /// @throws InvalidInput  loopy.realize_reductions.unknown_operation
  ReductionOperation(std::string name, std::vector<cgen::Type> types);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<cgen::Type>& types() const noexcept { return types_; }
  [[nodiscard]] bool has_place() const noexcept;

  /// What changes nothing. The place of nothing is the largest value of its type.
  [[nodiscard]] std::vector<Expr> neutral() const;
  /// What is to be assigned to `left`, the last element first: those before it still ask for the
  /// old values. Of equal values the one of the smaller place is taken, in whatever order they
  /// come.
  [[nodiscard]] std::vector<Expr> combine(const std::vector<Expr>& left,
                                          const std::vector<Expr>& right) const;

 private:
  std::string name_;
  std::vector<cgen::Type> types_;
};

}  // namespace rtcg::loopy
