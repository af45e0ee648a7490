#include "rtcg/loopy/analyze/sampled_value.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/analyze/checked_integers.h"
#include "rtcg/loopy/analyze/compare_values.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using Result = std::optional<SampledValue>;

bool is_near(long double a, long double b) {
  constexpr long double tolerance = 1e-9L;
  return a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(a) + std::fabs(b));
}

/// Nothing where it has more than 64 bits.
Result fraction_of(std::optional<std::int64_t> numerator, std::optional<std::int64_t> denominator) {
  if (!numerator || !denominator || *denominator == 0 || *numerator == INT64_MIN ||
      *denominator == INT64_MIN) {
    return std::nullopt;
  }
  const std::int64_t sign = *denominator < 0 ? -1 : 1;
  return SampledValue::fraction(sign * *numerator, sign * *denominator);
}

Result exact_sum(const SampledValue& a, const SampledValue& b) {
  const auto left = checked_product(a.numerator(), b.denominator());
  const auto right = checked_product(b.numerator(), a.denominator());
  return left && right ? fraction_of(checked_sum(*left, *right),
                                     checked_product(a.denominator(), b.denominator()))
                       : std::nullopt;
}

bool are_exact(const SampledValue& a, const SampledValue& b) {
  return a.is_exact() && b.is_exact();
}

SampledValue sum(const SampledValue& a, const SampledValue& b) {
  const Result exact = are_exact(a, b) ? exact_sum(a, b) : std::nullopt;
  return exact.value_or(SampledValue::about(a.approximation() + b.approximation()));
}

SampledValue product(const SampledValue& a, const SampledValue& b) {
  const Result exact = are_exact(a, b)
                           ? fraction_of(checked_product(a.numerator(), b.numerator()),
                                         checked_product(a.denominator(), b.denominator()))
                           : std::nullopt;
  return exact.value_or(SampledValue::about(a.approximation() * b.approximation()));
}

SampledValue quotient(const SampledValue& a, const SampledValue& b) {
  const Result exact = are_exact(a, b)
                           ? fraction_of(checked_product(a.numerator(), b.denominator()),
                                         checked_product(a.denominator(), b.numerator()))
                           : std::nullopt;
  return exact.value_or(SampledValue::about(a.approximation() / b.approximation()));
}

Result floor_of(const SampledValue& a) {
  return a.is_exact() ? Result(*checked_floor_quotient(a.numerator(), a.denominator()))
                      : std::nullopt;
}

/// Whole numbers divided by 0 give 0.
Result floor_quotient(const SampledValue& a, const SampledValue& b) {
  if (!are_exact(a, b)) {
    return std::nullopt;
  }
  return b.numerator() == 0 ? Result(0) : floor_of(quotient(a, b));
}

Result remainder(const SampledValue& a, const SampledValue& b) {
  const Result times = floor_quotient(a, b);
  return !times               ? std::nullopt
         : b.numerator() == 0 ? Result(0)
                              : Result(sum(a, product(SampledValue(-1), product(*times, b))));
}

Result power_of(const SampledValue& a, const SampledValue& b) {
  constexpr std::int64_t most_factors = 64;
  if (!b.is_whole() || std::abs(b.numerator()) > most_factors) {
    return SampledValue::about(std::pow(a.approximation(), b.approximation()));
  }
  SampledValue power = 1;
  for (std::int64_t i = 0; i < std::abs(b.numerator()); ++i) {
    power = product(power, a);
  }
  return b.numerator() < 0 ? quotient(SampledValue(1), power) : power;
}

/// Nothing where approximations nearly agree: then anything may be true.
std::optional<bool> holds(ComparisonOp op, const SampledValue& a, const SampledValue& b) {
  long double left = a.approximation();
  long double right = b.approximation();
  if (are_exact(a, b)) {
    const SampledValue difference = sum(a, product(SampledValue(-1), b));
    left = difference.is_exact() ? static_cast<long double>(difference.numerator())
                                 : difference.approximation();
    right = 0;
  } else if (left != right && is_near(left, right)) {
    return std::nullopt;
  }
  return compare_values(op, left, right);
}

Result bits(BitOp op, const SampledValue& a, const SampledValue& b) {
  if (!a.is_whole() || !b.is_whole()) {
    return std::nullopt;
  }
  const std::int64_t left = a.numerator();
  const std::int64_t right = b.numerator();
  switch (op) {
    case BitOp::and_:
      return SampledValue(left & right);
    case BitOp::or_:
      return SampledValue(left | right);
    case BitOp::xor_:
      return SampledValue(left ^ right);
    case BitOp::shift_left:
      return right < 0 || right > 62 ? std::nullopt
                                     : Result(product(a, SampledValue(std::int64_t{1} << right)));
    case BitOp::shift_right:
      break;
  }
  return right < 0 || right > 62 ? std::nullopt
                                 : floor_quotient(a, SampledValue(std::int64_t{1} << right));
}

Result smaller(const SampledValue& a, const SampledValue& b, ComparisonOp op) {
  if (std::isnan(a.approximation()) || std::isnan(b.approximation())) {
    return std::isnan(a.approximation()) ? b : a;
  }
  const auto is_first = holds(op, a, b);
  return is_first ? Result(*is_first ? a : b) : a;  // nearly equal: either will do
}

/// Rounded towards zero, and wrapped around.
Result converted(const SampledValue& value, const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(type);
  if (!kind) {
    return std::nullopt;
  }
  if (cgen::is_floating(*kind)) {
    return value;
  }
  if (!value.is_exact()) {
    return std::nullopt;
  }
  if (*kind == cgen::ScalarKind::bool_) {
    return SampledValue(value.numerator() != 0 ? 1 : 0);
  }
  const std::int64_t whole = value.numerator() / value.denominator();
  const auto width = static_cast<int>(8 * cgen::size_bytes(*kind));
  if (width >= 64) {
    const bool is_larger = whole < 0 && !cgen::is_signed(*kind);
    return is_larger ? SampledValue::about(0x1p64L + static_cast<long double>(whole))
                     : SampledValue(whole);
  }
  const std::int64_t wrapped = whole & ((std::int64_t{1} << width) - 1);
  const bool is_negative = cgen::is_signed(*kind) && (wrapped >> (width - 1) & 1) != 0;
  return SampledValue(is_negative ? wrapped - (std::int64_t{1} << width) : wrapped);
}

using RealFunction = long double (*)(long double);

RealFunction find_real_function(const std::string& name) {
  static const std::map<std::string, RealFunction, std::less<>> functions = {
      {"sqrt", [](long double x) { return std::sqrt(x); }},
      {"cbrt", [](long double x) { return std::cbrt(x); }},
      {"exp", [](long double x) { return std::exp(x); }},
      {"exp2", [](long double x) { return std::exp2(x); }},
      {"expm1", [](long double x) { return std::expm1(x); }},
      {"log", [](long double x) { return std::log(x); }},
      {"log2", [](long double x) { return std::log2(x); }},
      {"log1p", [](long double x) { return std::log1p(x); }},
      {"sin", [](long double x) { return std::sin(x); }},
      {"cos", [](long double x) { return std::cos(x); }},
      {"tan", [](long double x) { return std::tan(x); }},
      {"atan", [](long double x) { return std::atan(x); }},
      {"tanh", [](long double x) { return std::tanh(x); }}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

/// What a function gives that is not known: equal for equal arguments.
SampledValue of_unknown(const std::string& function, const std::vector<SampledValue>& arguments) {
  std::uint64_t state = std::hash<std::string>()(function);
  for (const SampledValue& each : arguments) {
    for (const std::int64_t part : {each.numerator(), each.denominator()}) {
      state =
          (state ^ static_cast<std::uint64_t>(part)) * 6364136223846793005U + 1442695040888963407U;
    }
  }
  return SampledValue(static_cast<std::int64_t>(state >> 44));
}

}  // namespace

SampledValue SampledValue::fraction(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t common = std::gcd(numerator, denominator);
  SampledValue value =
      about(static_cast<long double>(numerator) / static_cast<long double>(denominator));
  value.numerator_ = numerator / common;
  value.denominator_ = denominator / common;
  return value;
}

SampledValue SampledValue::about(long double approximation) {
  SampledValue value;
  value.approximation_ = approximation;
  return value;
}

SampledValue SampledValue::of(double number) {
  constexpr std::int64_t most_parts = std::int64_t{1} << 20;
  const double parts = number * static_cast<double>(most_parts);
  const bool is_short = std::fabs(parts) < 0x1p53 && std::floor(parts) == parts;
  return is_short ? fraction(static_cast<std::int64_t>(parts), most_parts)
                  : about(static_cast<long double>(number));
}

bool are_same(const SampledValue& left, const SampledValue& right) {
  if (are_exact(left, right)) {
    return left.numerator() == right.numerator() && left.denominator() == right.denominator();
  }
  return is_near(left.approximation(), right.approximation()) ||
         (std::isnan(left.approximation()) && std::isnan(right.approximation()));
}

std::size_t NumberSource::below(std::size_t count) {
  state_ = state_ * 6364136223846793005U + 1442695040888963407U;
  return static_cast<std::size_t>((state_ >> 33) % count);
}

std::int64_t NumberSource::between(std::int64_t first, std::int64_t last) {
  return first + static_cast<std::int64_t>(below(static_cast<std::size_t>(last - first + 1)));
}

SampledValue NumberSource::number(int trial, bool is_whole) {
  switch (trial % 4) {
    case 0:
      return between(-2, 2);
    case 1:
      return between(-9, 9);
    case 2:
      return is_whole ? SampledValue(between(-3, 3)) : SampledValue::fraction(between(-7, 7), 2);
    default:
      return between(0, 3);
  }
}

Result SampledEvaluator::fold(const std::vector<Expr>& parts, const Combine& combine) const {
  Result result = evaluate(parts.front());
  for (std::size_t i = 1; i < parts.size() && result; ++i) {
    const Result next = evaluate(parts[i]);
    result = next ? combine(*result, *next) : std::nullopt;
  }
  return result;
}

Result SampledEvaluator::choose(const Conditional& conditional) const {
  const Result condition = evaluate(conditional.condition);
  return !condition ? condition
                    : evaluate(condition->approximation() != 0 ? conditional.then_value
                                                               : conditional.else_value);
}

Result SampledEvaluator::logical(const Logical& logical) const {
  const bool is_and = logical.op == LogicalOp::and_;
  for (const Expr& each : logical.operands) {
    const Result value = evaluate(each);
    if (!value || (value->approximation() != 0) != is_and) {
      return value ? Result(is_and ? 0 : 1) : value;
    }
  }
  return SampledValue(is_and ? 1 : 0);
}

Result SampledEvaluator::call(const Call& call) const {
  const TypedFunction* typed = find_typed_function(kernel_, call.function);
  if (typed != nullptr && typed->meaning) {
    Substitution values;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      values.emplace(typed->parameters[i].name, call.arguments[i]);
    }
    return evaluate(substitute(*typed->meaning, values));
  }
  std::vector<SampledValue> arguments;
  bool are_all_exact = true;
  for (const Expr& each : call.arguments) {
    const Result argument = evaluate(each);
    if (!argument) {
      return std::nullopt;
    }
    are_all_exact = are_all_exact && argument->is_exact();
    arguments.push_back(*argument);
  }
  const std::string& name = call.function;
  if (arguments.size() == 1) {
    const SampledValue& x = arguments.front();
    if (name == "abs" || name == "fabs") {
      const bool is_negative = x.approximation() < 0;
      return is_negative ? product(SampledValue(-1), x) : x;
    }
    if (name == "floor" && x.is_exact()) {
      return floor_of(x);
    }
    if (const RealFunction function = find_real_function(name)) {
      return SampledValue::about(function(x.approximation()));
    }
  }
  if (arguments.size() == 2) {
    const SampledValue& x = arguments[0];
    const SampledValue& y = arguments[1];
    if (name == "min" || name == "fmin" || name == "max" || name == "fmax") {
      const bool is_min = name == "min" || name == "fmin";
      return smaller(x, y, is_min ? ComparisonOp::less : ComparisonOp::greater);
    }
    if (name == "pow") {
      return power_of(x, y);
    }
    if (name == "hypot") {
      return SampledValue::about(std::hypot(x.approximation(), y.approximation()));
    }
  }
  if (arguments.size() == 3 && name == "fma") {
    return sum(product(arguments[0], arguments[1]), arguments[2]);
  }
  return are_all_exact && !arguments.empty() ? Result(of_unknown(name, arguments)) : std::nullopt;
}

Result SampledEvaluator::evaluate(const Expr& expr) const {
  const Result value = inside(expr);
  return value ? value : leaf_(expr);
}

/// Nothing for leaves.
Result SampledEvaluator::inside(const Expr& expr) const {
  const auto truth = [](std::optional<bool> value) {
    return value ? Result(*value ? 1 : 0) : std::nullopt;
  };
  return match(
      expr, [](const Integer& e) -> Result { return SampledValue(e.value); },
      [](const Real& e) -> Result { return SampledValue::of(e.value); },
      [&](const Sum& e) { return fold(e.terms, sum); },
      [&](const Product& e) { return fold(e.factors, product); },
      [&](const Quotient& e) {
        return fold({e.numerator, e.denominator}, quotient);
      },
      [&](const FloorDiv& e) {
        return fold({e.numerator, e.denominator}, floor_quotient);
      },
      [&](const Modulo& e) {
        return fold({e.numerator, e.denominator}, remainder);
      },
      [&](const Power& e) {
        return fold({e.base, e.exponent}, power_of);
      },
      [&](const Comparison& e) {
        return fold({e.left, e.right}, [&](const SampledValue& a, const SampledValue& b) {
          return truth(holds(e.op, a, b));
        });
      },
      [&](const Logical& e) { return logical(e); },
      [&](const Not& e) -> Result {
        const Result value = evaluate(e.operand);
        return value ? Result(value->approximation() == 0 ? 1 : 0) : value;
      },
      [&](const Bitwise& e) {
        return fold({e.left, e.right},
                    [&](const SampledValue& a, const SampledValue& b) { return bits(e.op, a, b); });
      },
      [&](const Conditional& e) { return choose(e); },
      [&](const Cast& e) -> Result {
        const Result value = evaluate(e.operand);
        return value ? converted(*value, e.type) : value;
      },
      [&](const Call& e) { return call(e); }, [](const auto&) -> Result { return std::nullopt; });
}

}  // namespace rtcg::loopy
