#include "rtcg/loopy/analyze/order_free.h"

#include <map>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/sampled_value.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Evaluates an update. Parts that do not read the target, and have no value of their own, are
/// drawn: equal parts alike.
class UpdateEvaluator {
 public:
  UpdateEvaluator(const Kernel& kernel, const Expr& target) : kernel_(kernel), target_(target) {
    const auto kind = cgen::scalar_kind(number_type(type_of(kernel, target)));
    is_whole_ = kind && cgen::is_integral(*kind);
  }

  /// The element after the update `which`, 0 or 1; nothing if a function is not known here.
  std::optional<SampledValue> evaluate(const Expr& value, const SampledValue& old, int which) {
    const SampledEvaluator evaluator(kernel_, [&](const Expr& part) {
      return part == target_      ? std::optional(old)
             : reads_target(part) ? unknown(part)
                                  : drawn(part, which);
    });
    return evaluator.evaluate(value);
  }
  /// New numbers for all parts.
  void draw_anew() {
    ++trial_;
    for (auto& each : drawn_) {
      each.clear();
    }
  }
  SampledValue draw() { return numbers_.number(trial_, is_whole_); }
  /// What has no value.
  [[nodiscard]] const std::string& unknown() const { return unknown_; }

 private:
  [[nodiscard]] bool reads_target(const Expr& expr) const {
    bool is_read = false;
    walk(expr, [&](const Expr& part) {
      is_read = is_read || part == target_;
      return !is_read;
    });
    return is_read;
  }

  /// Whether it has the same value for all updates: it is made of scalars of the kernel alone.
  [[nodiscard]] bool is_shared(const Expr& expr) const {
    bool result = true;
    walk(expr, [&](const Expr& part) {
      const Name* name = get_if<Name>(part);
      const bool is_varying = name != nullptr && find_argument(kernel_, name->name) == nullptr;
      result = result && !is_varying && !is<Access>(part) && !is<LinearAccess>(part);
      return result;
    });
    return result;
  }

  std::optional<SampledValue> drawn(const Expr& expr, int which) {
    auto& numbers = drawn_[is_shared(expr) ? 2 : which];
    const auto known = numbers.find(to_string(expr));
    return known != numbers.end() ? known->second
                                  : numbers.emplace(to_string(expr), draw()).first->second;
  }

  std::optional<SampledValue> unknown(const Expr& expr) {
    unknown_ = unknown_.empty() ? to_string(expr) : unknown_;
    return std::nullopt;
  }

  const Kernel& kernel_;
  const Expr& target_;
  bool is_whole_ = false;
  int trial_ = 0;
  NumberSource numbers_;
  std::map<std::string, SampledValue> drawn_[3];  // of the updates, and of both
  std::string unknown_;
};

}  // namespace

std::optional<std::string> why_order_matters(const Kernel& kernel, const Expr& target,
                                             const Expr& value) {
  UpdateEvaluator evaluator(kernel, target);
  for (int trial = 0; trial < trials_of_samples; ++trial) {
    evaluator.draw_anew();
    const SampledValue start = evaluator.draw();
    const auto after = [&](int first) {
      const auto element = evaluator.evaluate(value, start, first);
      return element ? evaluator.evaluate(value, *element, 1 - first) : element;
    };
    const auto one = after(0);
    const auto other = after(1);
    if (!one || !other) {
      return fmt::format("'{}' is not known, so nothing says that the order does not matter",
                         evaluator.unknown());
    }
    if (!are_same(*one, *other)) {
      return "two updates in one order give another value than in the other order";
    }
  }
  return std::nullopt;
}

bool is_neutral(const Kernel& kernel, const Expr& target, const Expr& value, const Expr& neutral,
                const Expr& operand) {
  UpdateEvaluator evaluator(kernel, target);
  for (int trial = 0; trial < trials_of_samples; ++trial) {
    evaluator.draw_anew();
    const auto start = evaluator.evaluate(neutral, 0, 0);
    const auto expected = evaluator.evaluate(operand, 0, 0);
    const auto found = start ? evaluator.evaluate(value, *start, 0) : start;
    if (!expected || !found || !are_same(*found, *expected)) {
      return false;
    }
  }
  return true;
}

}  // namespace rtcg::loopy
