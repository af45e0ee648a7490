#include "rtcg/loopy/analyze/exchanged_sides.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/analyze/sampled_value.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using Tuple = std::vector<SampledValue>;

constexpr int elements_of_trial = 6;
/// Draws elements of the reduction, and combines them.
class Sampler {
 public:
  Sampler(const Kernel& kernel, const Reduction& reduction)
      : kernel_(kernel),
        reduction_(reduction),
        operation_(*find_rule_operation(kernel, reduction)) {
    for (const Expr& operand : reduction.operands) {
      operands_.push_back(expand_rules(kernel, operand));
      add_constants(operands_.back());
    }
    for (const Expr& value : operation_.values) {
      add_constants(value);
    }
  }

  /// Whether two groups of drawn elements give the same in both orders; nothing if that is unknown.
  std::optional<bool> commute(int trial) {
    trial_ = trial;
    shared_.clear();
    std::vector<Tuple> elements;
    for (int i = 0; i < elements_of_trial; ++i) {
      elements.push_back(element(i));
    }
    for (std::size_t i = elements.size(); i-- > 1;) {
      std::swap(elements[i], elements[numbers_.below(i + 1)]);
    }
    const std::size_t middle = 1 + numbers_.below(elements.size() - 1);
    const auto left = combined(elements, 0, middle);
    const auto right =
        combined(elements, middle, 1 + middle + numbers_.below(elements.size() - middle));
    const auto one = left && right ? combine(*left, *right) : std::nullopt;
    const auto other = one ? combine(*right, *left) : std::nullopt;
    if (!other) {
      return std::nullopt;
    }
    return std::equal(one->begin(), one->end(), other->begin(), are_same);
  }

 private:
  void add_constants(const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Real* real = get_if<Real>(part);
      if (const auto whole = as_integer(part)) {
        constants_.emplace_back(*whole);
      } else if (real != nullptr && SampledValue::of(real->value).is_exact()) {
        constants_.push_back(SampledValue::of(real->value));
      }
      return true;
    });
  }

  /// The constants of the kernel are among the numbers.
  SampledValue draw() {
    return !constants_.empty() && numbers_.below(8) == 0
               ? constants_[numbers_.below(constants_.size())]
               : numbers_.number(trial_, false);
  }

  SampledValue shared(const std::string& name) {
    const Argument* argument = find_argument(kernel_, name);
    const auto kind =
        argument != nullptr && argument->type ? cgen::scalar_kind(*argument->type) : std::nullopt;
    const bool is_number = kind && cgen::is_floating(*kind);
    const auto known = shared_.find(name);
    return known != shared_.end()
               ? known->second
               : shared_.emplace(name, is_number ? draw() : numbers_.between(11, 40)).first->second;
  }
  /// Whether it has one value for all elements.
  [[nodiscard]] bool is_shared(const std::string& name) const {
    const Argument* argument = find_argument(kernel_, name);
    return is_iname(kernel_, name) || (argument != nullptr && !argument->is_array);
  }

  /// The values of different inames differ in one of them for each two elements.
  Tuple element(int number) {
    std::map<std::string, SampledValue> drawn;
    for (std::size_t i = 0; i < reduction_.inames.size(); ++i) {
      const int place = reduction_.inames.size() == 1 ? number : i == 0 ? number / 3 : number % 3;
      drawn.emplace(reduction_.inames[i], place);
    }
    const auto leaf = [&](const Expr& expr) -> std::optional<SampledValue> {
      const Name* name = get_if<Name>(expr);
      const std::string text = name != nullptr ? name->name : to_string(expr);
      const auto known = drawn.find(text);
      if (known != drawn.end()) {
        return known->second;
      }
      return name != nullptr && is_shared(text) ? shared(text)
                                                : drawn.emplace(text, draw()).first->second;
    };
    const SampledEvaluator evaluator(kernel_, leaf);
    Tuple values;
    for (const Expr& operand : operands_) {
      values.push_back(evaluator.evaluate(operand).value());
    }
    return values;
  }

  std::optional<Tuple> combine(const Tuple& left, const Tuple& right) {
    std::map<std::string, SampledValue> operands;
    for (std::size_t i = 0; i < left.size(); ++i) {
      operands.emplace(operation_.parameters[i], left[i]);
      operands.emplace(operation_.parameters[left.size() + i], right[i]);
    }
    const auto leaf = [&](const Expr& expr) -> std::optional<SampledValue> {
      const Name* name = get_if<Name>(expr);
      if (name == nullptr) {
        return std::nullopt;
      }
      const auto known = operands.find(name->name);
      return known != operands.end() ? known->second : shared(name->name);
    };
    const SampledEvaluator evaluator(kernel_, leaf);
    Tuple combined;
    for (const Expr& each : operation_.values) {
      const auto value = evaluator.evaluate(each);
      if (!value) {
        return std::nullopt;
      }
      combined.push_back(*value);
    }
    return combined;
  }

  std::optional<Tuple> combined(const std::vector<Tuple>& elements, std::size_t first,
                                std::size_t end) {
    std::optional<Tuple> result = elements[first];
    for (std::size_t i = first + 1; i < std::min(end, elements.size()) && result; ++i) {
      result = combine(*result, elements[i]);
    }
    return result;
  }

  const Kernel& kernel_;
  const Reduction& reduction_;
  const RuleOperation operation_;
  std::vector<Expr> operands_;  // without rules
  std::vector<SampledValue> constants_;
  std::map<std::string, SampledValue> shared_;  // of the present trial
  int trial_ = 0;
  NumberSource numbers_;
};

}  // namespace

bool changes_when_exchanged(const Kernel& kernel, const Reduction& reduction) {
  constexpr int least_decided = trials_of_samples / 4;
  Sampler sampler(kernel, reduction);
  int decided = 0;
  for (int trial = 0; trial < trials_of_samples; ++trial) {
    const auto commutes = sampler.commute(trial);
    if (commutes && !*commutes) {
      return true;
    }
    decided += commutes ? 1 : 0;
  }
  return decided < least_decided;
}

}  // namespace rtcg::loopy
