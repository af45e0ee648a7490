#include "rtcg/loopy/analyze/combine_values.h"

namespace rtcg::loopy {

std::optional<Expr> combine_values(const std::string& operation, const std::vector<Expr>& values) {
  const std::string plain = operation.substr(0, operation.find('_'));
  const auto call_each = [&] {
    Expr all = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      all = Call{plain, {all, values[i]}};
    }
    return all;
  };
  const auto joined = [&](const auto& join) {
    Expr all = values.front();
    for (std::size_t i = 1; i < values.size(); ++i) {
      all = join(all, values[i]);
    }
    return all;
  };
  if (plain == "sum") {
    return joined([](const Expr& left, const Expr& right) { return left + right; });
  }
  if (plain == "product") {
    return joined([](const Expr& left, const Expr& right) { return left * right; });
  }
  if (plain == "min" || plain == "max") {
    return call_each();
  }
  if (plain == "any") {
    return Expr(Logical{LogicalOp::or_, values});
  }
  return plain == "all" ? std::optional(Expr(Logical{LogicalOp::and_, values})) : std::nullopt;
}

}  // namespace rtcg::loopy
