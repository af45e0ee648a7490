#include "rtcg/loopy/transform/hoist_factors.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"

namespace rtcg::loopy {
namespace {

/// Those of products within the product, too.
std::vector<Expr> factors_of(const Expr& term) {
  const Product* product = get_if<Product>(term);
  if (product == nullptr) {
    return {term};
  }
  std::vector<Expr> factors;
  for (const Expr& each : product->factors) {
    const std::vector<Expr> own = factors_of(each);
    factors.insert(factors.end(), own.begin(), own.end());
  }
  return factors;
}

Expr product_of(std::vector<Expr> factors) {
  return factors.empty()       ? Expr(1)
         : factors.size() == 1 ? factors.front()
                               : Expr(Product{std::move(factors)});
}

/// The factors without these, each of which it has.
Expr without(const Expr& term, const std::vector<Expr>& taken) {
  std::vector<Expr> rest = factors_of(term);
  for (const Expr& each : taken) {
    rest.erase(std::find(rest.begin(), rest.end(), each));
  }
  return product_of(std::move(rest));
}

class FactorHoister {
 public:
  explicit FactorHoister(const Kernel& kernel) : typed_(kernel) {}

  [[nodiscard]] Expr hoisted(const Expr& expr) const {
    if (as_scan(expr) != nullptr) {
      return expr;
    }
    const Expr inner = map_children(expr, [&](const Expr& child) { return hoisted(child); });
    const Reduction* sum = get_if<Reduction>(inner);
    if (sum == nullptr || sum->operation != "sum" || sum->operands.size() != 1) {
      return inner;
    }
    const Expr& operand = sum->operands.front();
    const Sum* terms = get_if<Sum>(operand);
    std::vector<Expr> taken;
    for (const Expr& each : factors_of(terms != nullptr ? terms->terms.front() : operand)) {
      if (is_constant(each, *sum) && (terms == nullptr || have_all(*terms, each, taken))) {
        taken.push_back(each);
      }
    }
    if (taken.empty()) {
      return inner;
    }
    std::vector<Expr> rest;
    for (const Expr& each : terms != nullptr ? terms->terms : std::vector<Expr>{operand}) {
      rest.push_back(without(each, taken));
    }
    const Expr shorter = Reduction{
        "sum", sum->inames, {terms != nullptr ? Expr(Sum{std::move(rest)}) : rest.front()}};
    const cgen::Type type = type_of(typed_, shorter);
    if (!has_wide_range(type) || !(type == type_of(typed_, inner))) {
      return inner;
    }
    taken.push_back(shorter);
    return Product{std::move(taken)};
  }

 private:
  /// A sign is no factor.
  [[nodiscard]] bool is_constant(const Expr& factor, const Reduction& sum) const {
    const NameSet names = free_names(expand_rules(typed_, factor));
    return as_integer(factor) != -1 &&
           std::none_of(sum.inames.begin(), sum.inames.end(),
                        [&](const std::string& each) { return names.count(each) != 0; });
  }
  static bool have_all(const Sum& terms, const Expr& factor, const std::vector<Expr>& taken) {
    const auto so_many =
        std::count_if(taken.begin(), taken.end(), [&](const Expr& each) { return each == factor; });
    return std::all_of(terms.terms.begin(), terms.terms.end(), [&](const Expr& term) {
      const std::vector<Expr> factors = factors_of(term);
      return std::count_if(factors.begin(), factors.end(),
                           [&](const Expr& each) { return each == factor; }) > so_many;
    });
  }
  static bool has_wide_range(const cgen::Type& type) {
    const auto kind = cgen::scalar_kind(number_type(type));
    return kind == cgen::ScalarKind::f32 || kind == cgen::ScalarKind::f64;
  }

  const Kernel& typed_;
};

/// With types as far as they follow.
Kernel typed_as_far(const Kernel& kernel) {
  try {
    return infer_types(kernel);
  } catch (const InvalidInput&) {
    return kernel;
  }
}

}  // namespace

Kernel hoist_factors(Kernel kernel) {
  const Kernel typed = typed_as_far(kernel);
  const FactorHoister hoister(typed);
  kernel =
      map_expressions(std::move(kernel), [&](const Expr& expr) { return hoister.hoisted(expr); });
  record(kernel, "hoist_factors", {});
  return kernel;
}

bool detail::has_constant_factors(const Kernel& kernel) {
  bool has_sum = false;
  for (const Instruction& each : kernel.instructions) {
    has_sum = has_sum || !reduction_inames(each).empty();
  }
  if (!has_sum) {
    return false;
  }
  const Kernel typed = typed_as_far(kernel);
  const FactorHoister hoister(typed);
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& instruction) {
        const Assignment* assignment = get_if<Assignment>(instruction);
        return assignment != nullptr && !(hoister.hoisted(assignment->value) == assignment->value);
      });
}

}  // namespace rtcg::loopy
