#include "rtcg/loopy/analyze/reduction_operation.h"

#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

cgen::ScalarKind ordered_kind(const cgen::Type& type) {
  if (const auto kind = cgen::scalar_kind(type)) {
    return *kind;
  }
  throw InvalidInput("loopy.reduction_operation.no_order",
                     fmt::format("minima and maxima are of integers and real numbers, not of '{}': "
                                 "reduce real(), imag() or abs()",
                                 cgen::describe(type)));
}

Expr largest_of(const cgen::Type& type) {
  using Kind = cgen::ScalarKind;
  const Kind kind = ordered_kind(type);
  if (cgen::is_floating(kind)) {
    return Real{std::numeric_limits<double>::infinity(), kind};
  }
  switch (kind) {
    case Kind::i8:
      return INT8_MAX;
    case Kind::u8:
      return UINT8_MAX;
    case Kind::i16:
      return INT16_MAX;
    case Kind::u16:
      return UINT16_MAX;
    case Kind::i64:
      return INT64_MAX;
    case Kind::u64:
      return Cast{type, -1};
    case Kind::u32:
      return std::int64_t{UINT32_MAX};
    default:
      return INT32_MAX;
  }
}

Expr smallest_of(const cgen::Type& type) {
  using Kind = cgen::ScalarKind;
  const Kind kind = ordered_kind(type);
  if (cgen::is_floating(kind)) {
    return Real{-std::numeric_limits<double>::infinity(), kind};
  }
  switch (kind) {
    case Kind::i8:
      return INT8_MIN;
    case Kind::i16:
      return INT16_MIN;
    case Kind::i32:
      return std::int64_t{INT32_MIN};
    case Kind::i64:
      return INT64_MIN;
    default:
      return 0;
  }
}

}  // namespace

ReductionOperation::ReductionOperation(const Kernel& kernel, const Reduction& reduction,
                                       std::vector<cgen::Type> types)
    : name_(reduction.operation),
      types_(std::move(types)),
      rule_(find_rule_operation(kernel, reduction)),
      is_ordered_(!reduction.order.empty()) {}

bool ReductionOperation::has_place() const noexcept {
  return name_ == "argmin" || name_ == "argmax";
}

std::string ReductionOperation::suffix(std::size_t i) const {
  return i == 0 ? "" : has_place() ? "_place" : fmt::format("_{}", i);
}

std::vector<Expr> ReductionOperation::neutral() const {
  if (rule_) {
    return rule_->neutral;
  }
  if (name_ == "sum" || name_ == "any") {
    return {0};
  }
  if (name_ == "product" || name_ == "all") {
    return {1};
  }
  const bool is_minimum = is_least(name_) || name_ == "argmin";
  std::vector<Expr> values = {is_minimum ? largest_of(types_.front())
                                         : smallest_of(types_.front())};
  if (has_place()) {
    values.push_back(largest_of(types_.at(1)));
  }
  return values;
}

std::vector<Expr> ReductionOperation::combine(const std::vector<Expr>& left,
                                              const std::vector<Expr>& right) const {
  if (rule_) {
    return rule_->combine(left, right);
  }
  const Expr& l = left.front();
  const Expr& r = right.front();
  if (name_ == "sum") {
    return {Sum{{l, r}}};
  }
  if (name_ == "product") {
    return {Product{{l, r}}};
  }
  if (name_ == "any") {
    return {Logical{LogicalOp::or_, {l, r}}};
  }
  if (name_ == "all") {
    return {Logical{LogicalOp::and_, {l, r}}};
  }
  if (name_ == "minimum" || name_ == "maximum") {
    const auto order = name_ == "minimum" ? ComparisonOp::less : ComparisonOp::greater;
    const Expr is_nan = Comparison{ComparisonOp::not_equal, r, r};
    const Expr is_taken = Comparison{order, r, l};
    return {Conditional{logical_or({is_taken, is_nan}), r, l}};
  }
  if (!has_place()) {
    return {call(name_, {l, r})};
  }
  const Expr is_better =
      Comparison{name_ == "argmax" ? ComparisonOp::greater : ComparisonOp::less, r, l};
  const Expr is_earlier = Comparison{ComparisonOp::less, right.at(1), left.at(1)};
  const Expr is_tie = Logical{LogicalOp::and_, {Comparison{ComparisonOp::equal, r, l}, is_earlier}};
  return {Conditional{is_better, r, l},
          Conditional{Logical{LogicalOp::or_, {is_better, is_tie}}, right.at(1), left.at(1)}};
}

}  // namespace rtcg::loopy
