#include "rtcg/loopy/analyze/order_free.h"

#include <cmath>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// Evaluates an update in doubles. Parts that do not read the target are drawn, equal parts alike.
class UpdateEvaluator {
 public:
  UpdateEvaluator(const Kernel& kernel, const Expr& target, bool is_integral)
      : kernel_(kernel), target_(target), is_integral_(is_integral) {}

  /// The element after the update `which`, 0 or 1; nothing if a function is not known here.
  std::optional<double> evaluate(const Expr& value, double old, int which) {
    old_ = old;
    which_ = which;
    return find(value);
  }
  /// New numbers for all parts.
  void draw_anew() {
    for (auto& each : drawn_) {
      each.clear();
    }
  }
  double draw() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const double unit = static_cast<double>(state_ >> 11) * 0x1p-53;
    return is_integral_ ? std::floor(16 * unit) - 8 : 4 * unit - 2;
  }
  [[nodiscard]] const std::string& unknown() const { return unknown_; }

 private:
  using Result = std::optional<double>;

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

  double drawn(const Expr& expr) {
    auto& numbers = drawn_[is_shared(expr) ? 2 : which_];
    const auto known = numbers.find(to_string(expr));
    return known != numbers.end() ? known->second
                                  : numbers.emplace(to_string(expr), draw()).first->second;
  }

  Result find(const Expr& expr) {
    if (expr == target_) {
      return old_;
    }
    if (is<Name>(expr) || is<Access>(expr) || is<LinearAccess>(expr)) {
      return drawn(expr);
    }
    const Result value = inside(expr);
    return value || reads_target(expr) ? value : drawn(expr);
  }

  Result fold(const std::vector<Expr>& parts,
              const std::function<double(double, double)>& combine) {
    Result result = find(parts.front());
    for (std::size_t i = 1; i < parts.size() && result; ++i) {
      const Result next = find(parts[i]);
      result = next ? Result(combine(*result, *next)) : std::nullopt;
    }
    return result;
  }

  static std::int64_t whole(double value) {
    return std::fabs(value) < 0x1p60 ? static_cast<std::int64_t>(value) : 0;
  }

  Result inside(const Expr& expr) {
    return match(
        expr, [](const Integer& e) -> Result { return static_cast<double>(e.value); },
        [](const Real& e) -> Result { return e.value; },
        [&](const Sum& e) { return fold(e.terms, std::plus<>()); },
        [&](const Product& e) { return fold(e.factors, std::multiplies<>()); },
        [&](const Quotient& e) {
          return fold({e.numerator, e.denominator}, std::divides<>());
        },
        [&](const Power& e) {
          return fold({e.base, e.exponent}, [](double a, double b) { return std::pow(a, b); });
        },
        [&](const Comparison& e) {
          return fold({e.left, e.right},
                      [&](double a, double b) { return holds(e.op, a, b) ? 1.0 : 0.0; });
        },
        [&](const Logical& e) {
          const bool is_and = e.op == LogicalOp::and_;
          return fold(e.operands, [&](double a, double b) {
            return (is_and ? a != 0 && b != 0 : a != 0 || b != 0) ? 1.0 : 0.0;
          });
        },
        [&](const Not& e) -> Result {
          const Result value = find(e.operand);
          return value ? Result(*value == 0 ? 1.0 : 0.0) : std::nullopt;
        },
        [&](const Bitwise& e) {
          return fold({e.left, e.right}, [&](double a, double b) { return bits(e.op, a, b); });
        },
        [&](const Conditional& e) -> Result {
          const Result condition = find(e.condition);
          return !condition ? condition : find(*condition != 0 ? e.then_value : e.else_value);
        },
        [&](const Cast& e) -> Result { return find(e.operand); },
        [&](const Call& e) { return call(e); },
        [&](const auto&) -> Result {
          unknown_ = to_string(expr);
          return std::nullopt;
        });
  }

  static bool holds(ComparisonOp op, double a, double b) {
    switch (op) {
      case ComparisonOp::less:
        return a < b;
      case ComparisonOp::less_equal:
        return a <= b;
      case ComparisonOp::greater:
        return a > b;
      case ComparisonOp::greater_equal:
        return a >= b;
      case ComparisonOp::equal:
        return a == b;
      case ComparisonOp::not_equal:
        break;
    }
    return a != b;
  }

  static double bits(BitOp op, double a, double b) {
    const std::int64_t left = whole(a);
    const std::int64_t right = whole(b);
    switch (op) {
      case BitOp::and_:
        return static_cast<double>(left & right);
      case BitOp::or_:
        return static_cast<double>(left | right);
      case BitOp::xor_:
        return static_cast<double>(left ^ right);
      case BitOp::shift_left:
        return std::ldexp(a, static_cast<int>(right & 63));
      case BitOp::shift_right:
        break;
    }
    return std::floor(std::ldexp(a, -static_cast<int>(right & 63)));
  }

  Result call(const Call& e) {
    using Function = double (*)(double);
    static const std::map<std::string, Function, std::less<>> of_one = {
        {"abs", [](double x) { return std::fabs(x); }},
        {"fabs", [](double x) { return std::fabs(x); }},
        {"sqrt", [](double x) { return std::sqrt(x); }},
        {"exp", [](double x) { return std::exp(x); }},
        {"log", [](double x) { return std::log(x); }},
        {"log1p", [](double x) { return std::log1p(x); }},
        {"expm1", [](double x) { return std::expm1(x); }},
        {"tanh", [](double x) { return std::tanh(x); }}};
    if (e.arguments.size() == 2 && (e.function == "min" || e.function == "fmin")) {
      return fold(e.arguments, [](double a, double b) { return std::fmin(a, b); });
    }
    if (e.arguments.size() == 2 && (e.function == "max" || e.function == "fmax")) {
      return fold(e.arguments, [](double a, double b) { return std::fmax(a, b); });
    }
    if (e.arguments.size() == 2 && e.function == "hypot") {
      return fold(e.arguments, [](double a, double b) { return std::hypot(a, b); });
    }
    if (const auto found = of_one.find(e.function);
        found != of_one.end() && e.arguments.size() == 1) {
      const Result value = find(e.arguments.front());
      return value ? Result(found->second(*value)) : std::nullopt;
    }
    const TypedFunction* typed = find_typed_function(kernel_, e.function);
    if (typed != nullptr && typed->meaning) {
      Substitution values;
      for (std::size_t i = 0; i < e.arguments.size(); ++i) {
        values.emplace(typed->parameters[i].name, e.arguments[i]);
      }
      return find(substitute(*typed->meaning, values));
    }
    unknown_ = e.function;
    return std::nullopt;
  }

  const Kernel& kernel_;
  const Expr& target_;
  bool is_integral_;
  double old_ = 0;
  int which_ = 0;
  std::uint64_t state_ = 1;
  std::map<std::string, double> drawn_[3];  // of the updates, and of both
  std::string unknown_;
};

constexpr int trials = 64;

bool is_near(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b ||
         std::fabs(a - b) <= 1e-9 * (1 + std::fabs(a) + std::fabs(b));
}

}  // namespace

std::optional<std::string> why_order_matters(const Kernel& kernel, const Expr& target,
                                             const Expr& value) {
  const auto kind = cgen::scalar_kind(number_type(type_of(kernel, target)));
  UpdateEvaluator evaluator(kernel, target, kind && cgen::is_integral(*kind));
  for (int trial = 0; trial < trials; ++trial) {
    evaluator.draw_anew();
    const double start = evaluator.draw();
    double ends[2] = {0, 0};
    for (const int first : {0, 1}) {
      std::optional<double> element = evaluator.evaluate(value, start, first);
      element = element ? evaluator.evaluate(value, *element, 1 - first) : element;
      if (!element) {
        return fmt::format("'{}' is not known, so nothing says that the order does not matter",
                           evaluator.unknown());
      }
      ends[first] = *element;
    }
    if (!is_near(ends[0], ends[1])) {
      return "two updates in one order give another value than in the other order";
    }
  }
  return std::nullopt;
}

bool is_neutral(const Kernel& kernel, const Expr& target, const Expr& value, const Expr& neutral,
                const Expr& operand) {
  const auto kind = cgen::scalar_kind(number_type(type_of(kernel, target)));
  UpdateEvaluator evaluator(kernel, target, kind && cgen::is_integral(*kind));
  for (int trial = 0; trial < trials; ++trial) {
    evaluator.draw_anew();
    const auto start = evaluator.evaluate(neutral, 0, 0);
    const auto expected = evaluator.evaluate(operand, 0, 0);
    const auto found = start ? evaluator.evaluate(value, *start, 0) : start;
    if (!expected || !found || !is_near(*found, *expected)) {
      return false;
    }
  }
  return true;
}

}  // namespace rtcg::loopy
