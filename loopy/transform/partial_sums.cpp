#include "rtcg/loopy/transform/partial_sums.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/equal_values.h"

namespace rtcg::loopy {
namespace {

Expr product_of(std::vector<Expr> factors) {
  return factors.size() == 1 ? factors.front() : Expr(Product{std::move(factors)});
}

}  // namespace

std::vector<PartialSum> partial_sums(const Kernel& kernel, const Expr& expr) {
  constexpr std::size_t most_inames = 4;
  const Reduction* sum = get_if<Reduction>(expr);
  if (sum == nullptr || sum->operation != "sum" || sum->operands.size() != 1 ||
      sum->inames.size() < 2 || sum->inames.size() > most_inames) {
    return {};
  }
  const Product* product = get_if<Product>(sum->operands.front());
  if (product == nullptr) {
    return {};
  }
  std::vector<PartialSum> result;
  for (std::size_t mask = 1; mask + 1 < std::size_t{1} << sum->inames.size(); ++mask) {
    std::vector<std::string> inner;
    std::vector<std::string> outer;
    for (std::size_t i = 0; i < sum->inames.size(); ++i) {
      ((mask >> i & 1) != 0 ? inner : outer).push_back(sum->inames[i]);
    }
    std::vector<Expr> changing;
    std::vector<Expr> constant;
    for (const Expr& factor : product->factors) {
      const NameSet names = free_names(factor);
      const bool is_changing =
          std::any_of(inner.begin(), inner.end(),
                      [&](const std::string& each) { return names.count(each) != 0; });
      (is_changing ? changing : constant).push_back(factor);
    }
    if (changing.empty() || constant.empty()) {
      continue;
    }
    const Expr part = Reduction{"sum", std::move(inner), {product_of(std::move(changing))}};
    if (has_own_bounds(kernel, part)) {
      constant.push_back(part);
      result.push_back({part, Reduction{"sum", std::move(outer), {Product{std::move(constant)}}}});
    }
  }
  return result;
}

Kernel with_partial_sums(Kernel kernel, const NameSet& inames) {
  const auto nested = [&](const Expr& expr) -> std::optional<Expr> {
    for (const PartialSum& each : partial_sums(kernel, expr)) {
      if (free_inames(kernel, each.inner) == inames) {
        return each.whole;
      }
    }
    return std::nullopt;
  };
  for (Instruction& instruction : kernel.instructions) {
    if (const Assignment* old = get_if<Assignment>(instruction)) {
      Assignment assignment = *old;
      assignment.value = rewrite_bottom_up(assignment.value, nested);
      instruction.kind = std::move(assignment);
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
