#include "rtcg/loopy/interpret/compile_expr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/interpret/fetch.h"
#include "rtcg/loopy/interpret/functions_of_numbers.h"
#include "rtcg/loopy/interpret/nest.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::interpretation {
namespace {

using cgen::ScalarKind;

bool is_floating_kind(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(number_type(type));
  return kind && cgen::is_floating(*kind);
}

Value power_of_integers(const Value& base, Wide exponent, ScalarKind kind) {
  Value result = integer_value(1);
  for (Wide i = 0; i < exponent; ++i) {
    result = multiply(result, base, kind);
  }
  return result;
}

Value power_of_numbers(const Value& base, const Value& exponent, ScalarKind kind) {
  if (exponent.is_integer() && exponent.is_certain() && exponent.integer >= 0 &&
      exponent.integer <= 4096) {
    if (base.is_integer() && cgen::is_integral(kind)) {
      return power_of_integers(base, exponent.integer, kind);
    }
    if (exponent.integer <= 64) {  // products or the function, as a device likes
      Value result = real_value(1);
      for (Wide i = 0; i < exponent.integer; ++i) {
        result = multiply(result, base, kind);
      }
      return exponent.integer <= 1 ? result : approximated(result, kind, 16);
    }
  }
  if (exponent.is_integer() && exponent.is_certain() && exponent.integer < 0 &&
      exponent.integer >= -64) {
    Value result = real_value(1);
    for (Wide i = 0; i > exponent.integer; --i) {
      result = multiply(result, base, kind);
    }
    return approximated(divide(real_value(1), result, kind), kind, 16);
  }
  return apply_function(cgen::Intrinsic::pow, {base, exponent}, kind);
}

Value bits(BitOp op, const Value& left, const Value& right, ScalarKind kind) {
  if (!left.is_integer() || !right.is_integer()) {
    return unknown_integer();
  }
  const int known = std::min(left.known_bits, right.known_bits);
  Value result;
  switch (op) {
    case BitOp::and_:
      result = integer_value(left.integer & right.integer);
      for (const auto& [mask, other] : {std::pair(&left, &right), std::pair(&right, &left)}) {
        if (mask->is_certain() && mask->integer >= 0 && other->known_bits < Value::all_bits &&
            mask->integer < (Wide{1} << other->known_bits)) {
          return result;
        }
      }
      break;
    case BitOp::or_:
      result = integer_value(left.integer | right.integer);
      break;
    case BitOp::xor_:
      result = integer_value(left.integer ^ right.integer);
      break;
    case BitOp::shift_left:
    case BitOp::shift_right:
      if (!right.is_certain() || right.integer < 0 ||
          right.integer >= std::max(32, bits_of(kind))) {
        return unknown_integer();
      }
      if (op == BitOp::shift_left) {
        const Value factor = integer_value(Wide{1} << static_cast<int>(right.integer));
        return multiply(left, factor, kind);
      }
      return left.is_certain() ? integer_value(left.integer >> static_cast<int>(right.integer))
                               : unknown_integer();
  }
  result.known_bits = known;
  if (result.is_certain() && !cgen::is_signed(kind) && kind != ScalarKind::bool_) {
    result.integer = wrapped(result.integer, kind);
  }
  return result;
}

/// Those at the values of an index along some axes from the one given up to another one; none if
/// they are many, or all that there are.
Elements possible_elements(const Machine& machine, const Variable& variable,
                           std::vector<std::int64_t> values,
                           const std::vector<std::pair<std::size_t, std::int64_t>>& ranges) {
  constexpr std::int64_t most = 64;
  std::int64_t count = 1;
  for (const auto& [axis, last] : ranges) {
    count = std::min(most + 1, count * std::max<std::int64_t>(0, last - values[axis] + 1));
  }
  const auto all = static_cast<std::int64_t>(variable.count) / variable.numbers();
  if (count == 0 || count > most || (count > 1 && count >= all)) {
    return {};
  }
  const std::vector<std::int64_t> first = values;
  Elements elements;
  for (;;) {
    elements.possible.push_back(machine.element_at(variable, values));
    std::size_t i = 0;
    while (i < ranges.size() && values[ranges[i].first] == ranges[i].second) {
      values[ranges[i].first] = first[ranges[i].first];
      ++i;
    }
    if (i == ranges.size()) {
      break;
    }
    ++values[ranges[i].first];
  }
  if (elements.possible.size() == 1) {
    return {elements.possible.front(), {}};
  }
  return elements;
}

/// What is added up so far, and what that says of other orders.
class RunningSum {
 public:
  RunningSum(ScalarKind kind) : kind_(kind) {}

  void add(const Value& term) {
    ++count_;
    if (term.is_integer() && total_.is_integer()) {
      total_ = interpretation::add(total_, term, kind_);
      return;
    }
    const Value part = rounded(in_reals(term), kind_);
    Value total = in_reals(total_);
    total.kind = std::max(total.kind, part.kind);
    total.real += part.real;
    total.imaginary += part.imaginary;
    total.error += part.error;
    total_ = total;
    largest_partial_ = std::max(largest_partial_, magnitude(total_));
    sum_of_sizes_ += magnitude(part);
    is_whole_ = is_whole_ && part.real == std::rint(part.real) &&
                part.imaginary == std::rint(part.imaginary);
  }

  [[nodiscard]] Value total() const {
    if (total_.is_integer()) {
      return total_;
    }
    Value total = total_;
    const long double unit = unit_of(kind_);
    if (!(is_whole_ && sum_of_sizes_ < 1 / unit)) {
      // roundings are independent of each other: their sum grows as the root of the length
      total.error += unit * (2 * std::sqrt(static_cast<long double>(count_)) * largest_partial_ +
                             sum_of_sizes_);
    }
    return rounded(total, kind_);
  }

 private:
  ScalarKind kind_;
  Value total_ = integer_value(0);
  std::size_t count_ = 0;
  long double largest_partial_ = 0;
  long double sum_of_sizes_ = 0;
  bool is_whole_ = true;
};

/// What other orders of an operation of the user may give: its partial results are rounded
/// elsewhere.
class OtherOrders {
 public:
  explicit OtherOrders(ScalarKind kind) : kind_(kind) {}

  void see(const Value& before, const Value& term, const Value& after) {
    ++count_;
    if (after.is_integer()) {
      return;
    }
    for (const Value* each : {&term, &after}) {
      const Value value = in_reals(*each);
      largest_ = std::max(largest_, magnitude(value));
      is_whole_ = is_whole_ && value.real == std::rint(value.real) &&
                  value.imaginary == std::rint(value.imaginary);
    }
    sum_of_sizes_ += magnitude(in_reals(term));
    is_choice_ = is_choice_ && (is_same(after, before) || is_same(after, term));
  }

  [[nodiscard]] Value widened(Value value) const {
    const long double unit = unit_of(kind_);
    const bool is_exact = is_choice_ || (is_whole_ && std::max(largest_, sum_of_sizes_) < 1 / unit);
    if (!value.is_integer() && !is_exact) {
      value.error +=
          unit * (2 * std::sqrt(static_cast<long double>(count_)) * largest_ + sum_of_sizes_);
    }
    return value;
  }

 private:
  static bool is_same(const Value& a, const Value& b) {
    const Value left = in_reals(a);
    const Value right = in_reals(b);
    return left.real == right.real && left.imaginary == right.imaginary;
  }

  ScalarKind kind_;
  std::size_t count_ = 0;
  long double largest_ = 0;
  long double sum_of_sizes_ = 0;
  bool is_whole_ = true;
  bool is_choice_ = true;
};

Wide least_of(ScalarKind kind) {
  return cgen::is_signed(kind) ? -(Wide{1} << (bits_of(kind) - 1)) : Wide{0};
}
Wide largest_of(ScalarKind kind) {
  return (Wide{1} << (bits_of(kind) - (cgen::is_signed(kind) ? 1 : 0))) - 1;
}

/// The extreme value so far, and where it is.
class Extreme {
 public:
  Extreme(bool is_min, bool has_nans) : is_min_(is_min), has_nans_(has_nans) {}

  void add(const Value& value, const Value& place) {
    if (!value.is_integer() && std::isnan(in_reals(value).real)) {
      is_nan_ = has_nans_;
      return;
    }
    if (!value_) {
      value_ = value;
      place_ = place;
      return;
    }
    const int compared = compare_numbers(value, *value_);
    if (compared == 2 && value.is_integer() && value_->is_integer()) {
      is_place_known_ = false;
      value_ =
          value.has_range() && value_->has_range() ? better_of(value, *value_) : unknown_integer();
      return;
    }
    if (compared == 2) {  // either may be it
      largest_error_ = std::max({largest_error_, in_reals(value).error, in_reals(*value_).error});
      is_place_known_ = false;
    }
    const bool is_better = compare_exactly(value) < 0;
    const bool is_earlier = compared == 0 && compare_numbers(place, place_) < 0;
    if (is_better || is_earlier) {
      is_place_known_ = is_place_known_ || (compared != 2 && is_better);
      value_ = value;
      place_ = place;
    }
  }
  [[nodiscard]] std::vector<Value> result(ScalarKind kind) const {
    if (is_nan_) {
      return {real_value(std::numeric_limits<long double>::quiet_NaN()), unknown_integer()};
    }
    if (!value_) {
      return {is_floating(kind) ? real_value(is_min_ ? HUGE_VALL : -HUGE_VALL)
                                : integer_value(is_min_ ? largest_of(kind) : least_of(kind)),
              unknown_integer()};
    }
    Value value = *value_;
    value.error = value.is_integer() ? 0 : std::max(value.error, largest_error_);
    return {value, is_place_known_ ? place_ : unknown_integer()};
  }

 private:
  /// Of integers in ranges.
  [[nodiscard]] Value better_of(const Value& one, const Value& other) const {
    const auto better = [&](Wide a, Wide b) { return is_min_ ? std::min(a, b) : std::max(a, b); };
    return integer_between(better(one.integer, other.integer),
                           better(one.integer + one.spread, other.integer + other.spread));
  }
  /// Negative if `value` is the better one by the values without their errors.
  [[nodiscard]] int compare_exactly(const Value& value) const {
    Value left = value;
    Value right = *value_;
    left.error = 0;
    right.error = 0;
    const int compared = compare_numbers(left, right);
    return compared > 1 ? 0 : is_min_ ? compared : -compared;
  }

  bool is_min_;
  bool has_nans_;  // a NaN is the result; otherwise it does not count
  bool is_nan_ = false;
  std::optional<Value> value_{};
  Value place_{};
  long double largest_error_ = 0;
  bool is_place_known_ = true;
};

/// 32 bits are more than any array has.
std::optional<std::int64_t> known_index(const Value& value) {
  const bool is_known = value.is_integer() && value.known_bits >= 32;
  return is_known ? std::optional(static_cast<std::int64_t>(value.integer)) : std::nullopt;
}

}  // namespace

LooseType ExprCompiler::type_of(const Expr& expr) const {
  const auto lookup = [&](const std::string& name) {
    const auto local = locals_.find(name);
    return local != locals_.end() ? local->second.type : declared_type(machine_.kernel(), name);
  };
  const auto types = loose_types_of_targets(machine_.kernel(), lookup, expr);
  return types.empty() ? LooseType{} : types.front();
}

ScalarKind ExprCompiler::kind_of(const Expr& expr, ScalarKind around) const {
  const LooseType type = type_of(expr);
  const auto kind = cgen::scalar_kind(number_type(type.type));
  if (!kind) {
    return ScalarKind::i64;
  }
  if (cgen::is_floating(*kind)) {
    return type.firmness != Firmness::fixed && cgen::is_floating(around) ? around : *kind;
  }
  return type.firmness == Firmness::fixed ? *kind : ScalarKind::i64;
}

std::vector<Evaluate> ExprCompiler::compile_each(const std::vector<Expr>& exprs,
                                                 ScalarKind around) {
  std::vector<Evaluate> all;
  for (const Expr& each : exprs) {
    all.push_back(compile(each, around));
  }
  return all;
}

Evaluate ExprCompiler::compile(const Expr& expr, ScalarKind around) {
  const ScalarKind kind = kind_of(expr, around);
  const ScalarKind inner = cgen::is_floating(kind) ? kind : around;
  const auto of_two = [&](const Expr& left, const Expr& right, auto operation) -> Evaluate {
    return [l = compile(left, inner), r = compile(right, inner), kind, operation](Machine& m) {
      m.count_operation();
      const Value first = l(m);
      return operation(first, r(m), kind);
    };
  };
  const auto of_all = [&](const std::vector<Expr>& exprs, auto operation) -> Evaluate {
    return [all = compile_each(exprs, inner), kind, operation](Machine& m) {
      Value result = all.front()(m);
      for (std::size_t i = 1; i < all.size(); ++i) {
        m.count_operation();
        result = operation(result, all[i](m), kind);
      }
      return result;
    };
  };
  return match(
      expr,
      [](const Integer& e) -> Evaluate {
        return [value = integer_value(e.value)](Machine&) { return value; };
      },
      [&](const Real& e) -> Evaluate {
        const ScalarKind own = e.stated_kind.value_or(inner);
        return [value = rounded(real_value(e.value), own)](Machine&) { return value; };
      },
      [&](const Name& e) { return compile_name(e.name); },
      [&](const Sum& e) { return compile_sum(e, kind, inner); },
      [&](const Product& e) { return of_all(e.factors, multiply); },
      [&](const Quotient& e) { return of_two(e.numerator, e.denominator, divide); },
      [&](const FloorDiv& e) { return of_two(e.numerator, e.denominator, floor_divide); },
      [&](const Modulo& e) { return of_two(e.numerator, e.denominator, floor_remainder); },
      [&](const Power& e) { return compile_power(e, kind); },
      [&](const Comparison& e) { return compile_comparison(e, around); },
      [&](const Logical& e) -> Evaluate {
        return [all = compile_each(e.operands, around), ends = e.op == LogicalOp::or_](Machine& m) {
          bool is_open = false;
          for (const Evaluate& each : all) {
            m.count_operation();
            const Value value = truth(each(m));
            if (!value.is_certain()) {
              is_open = true;
            } else if ((value.integer != 0) == ends) {
              return value;
            }
          }
          return is_open ? unknown_integer() : integer_value(ends ? 0 : 1);
        };
      },
      [&](const Not& e) -> Evaluate {
        return [operand = compile(e.operand, around)](Machine& m) {
          const Value value = truth(operand(m));
          return value.is_certain() ? integer_value(value.integer == 0 ? 1 : 0) : value;
        };
      },
      [&](const Bitwise& e) { return compile_bitwise(e, kind); },
      [&](const Conditional& e) -> Evaluate {
        return [condition = compile(e.condition, ScalarKind::f64),
                then_value = compile(e.then_value, inner),
                else_value = compile(e.else_value, inner), kind](Machine& m) {
          m.count_operation();
          const Value holds = truth(condition(m));
          if (!holds.is_certain()) {
            const Value first = converted_as_in_c(then_value(m), kind);
            return either(first, converted_as_in_c(else_value(m), kind));
          }
          return converted_as_in_c(holds.integer != 0 ? then_value(m) : else_value(m), kind);
        };
      },
      [&](const Access& e) -> Evaluate {
        const Argument* image = find_image(machine_.kernel(), e.array);
        return image != nullptr ? compile_texel(*image, e.indices) : compile_read(expr);
      },
      [&](const LinearAccess&) { return compile_read(expr); },
      [&](const Call& e) { return compile_call(e, expr, around); },
      [&](const Cast& e) { return compile_cast(e); },
      [&](const Reduction& e) -> Evaluate {
        return [all = compile_reduction(e, around)](Machine& m) { return all(m).front(); };
      });
}

/// What is subtracted has the type of the sum before its sign is changed: i8 - u8 is no i8 + u8.
Evaluate ExprCompiler::compile_sum(const Sum& sum, ScalarKind kind, ScalarKind inner) {
  struct Term {
    Evaluate value;
    bool is_subtracted = false;
  };
  std::vector<Term> terms;
  for (const Expr& each : sum.terms) {
    const std::optional<Expr> subtracted = subtracted_term(each);
    terms.push_back({compile(subtracted.value_or(each), inner), subtracted.has_value()});
  }
  return [terms = std::move(terms), kind](Machine& m) {
    const auto signed_value = [&](const Term& term) {
      const Value value = term.value(m);
      return term.is_subtracted ? negate(value, kind) : value;
    };
    Value result = signed_value(terms.front());
    for (std::size_t i = 1; i < terms.size(); ++i) {
      m.count_operation();
      result = add(result, signed_value(terms[i]), kind);
    }
    return result;
  };
}

Evaluate ExprCompiler::compile_name(const std::string& name) {
  if (const auto local = locals_.find(name); local != locals_.end()) {
    return [number = local->second.number](Machine& m) { return m.locals[number]; };
  }
  if (const int slot = machine_.find_slot(name); slot >= 0) {
    return [slot = static_cast<std::size_t>(slot)](Machine& m) {
      return integer_value(m.slots[slot]);
    };
  }
  const int variable = machine_.find_variable(name);
  if (variable < 0) {
    throw InvalidInput(
        "loopy.interpret.missing_value",
        fmt::format("'{}' of kernel '{}' has no value", name, machine_.kernel().name));
  }
  const std::int64_t element = machine_.variables[static_cast<std::size_t>(variable)].offset;
  return [variable, element](Machine& m) { return m.load(variable, element); };
}

Evaluate ExprCompiler::compile_read(const Expr& element) {
  const auto [variable, place] = compile_place(element);
  const bool is_written = std::find(targets_.begin(), targets_.end(), element) != targets_.end();
  return [variable = variable, place = place, is_written](Machine& m) {
    m.count_operation();
    if (is_written && m.written_element >= 0) {
      return m.load(variable, m.written_element);
    }
    const Elements elements = place(m);
    if (elements.is_certain()) {
      return m.load(variable, elements.first);
    }
    if (elements.possible.empty()) {
      const Variable& unknown = m.variables[static_cast<std::size_t>(variable)];
      return cgen::is_floating(unknown.kind) ? unknown_real() : unknown_integer();
    }
    Value value = m.load(variable, elements.possible.front());
    for (std::size_t i = 1; i < elements.possible.size(); ++i) {
      value = either(value, m.load(variable, elements.possible[i]));
    }
    return value;
  };
}

std::pair<int, FindElement> ExprCompiler::compile_place(const Expr& target) {
  const std::string& name = target_name(target);
  const int variable = machine_.find_variable(name);
  if (variable < 0) {
    throw InvalidInput("loopy.interpret.missing_value",
                       fmt::format("'{}' of kernel '{}' is not a variable that can be set or read",
                                   name, machine_.kernel().name));
  }
  const auto number = static_cast<std::size_t>(variable);
  if (const LinearAccess* linear = get_if<LinearAccess>(target)) {
    return {variable,
            [number, index = compile(linear->index, ScalarKind::f64)](Machine& m) -> Elements {
              const auto at = known_index(index(m));
              const Variable& array = m.variables[number];
              const auto count = static_cast<std::int64_t>(array.count) / array.numbers();
              if (at && (*at < 0 || *at >= count)) {
                throw InvalidInput(
                    "loopy.interpret.out_of_bounds",
                    fmt::format("statement '{}' uses {}[[{}]], which has {} elements", m.statement,
                                array.name, *at, count));
              }
              return {at.value_or(-1), {}};
            }};
  }
  std::vector<Evaluate> indices;
  if (const Access* access = get_if<Access>(target)) {
    indices = compile_each(access->indices, ScalarKind::f64);
  }
  return {variable, [number, indices](Machine& m) -> Elements {
            std::vector<std::int64_t> values(indices.size());
            std::vector<std::pair<std::size_t, std::int64_t>> ranges;  // axes, and last values
            for (std::size_t i = 0; i < indices.size(); ++i) {
              const Value index = indices[i](m);
              if (const auto at = known_index(index)) {
                values[i] = *at;
              } else if (index.has_range() && i < m.variables[number].shape.size()) {
                // a program that is right stays within the array
                const std::int64_t end = m.variables[number].shape[i];
                values[i] = static_cast<std::int64_t>(std::max<Wide>(0, index.integer));
                ranges.emplace_back(i, static_cast<std::int64_t>(
                                           std::min<Wide>(end - 1, index.integer + index.spread)));
              } else {
                return {};
              }
            }
            return ranges.empty() ? Elements{m.element_at(m.variables[number], values), {}}
                                  : possible_elements(m, m.variables[number], values, ranges);
          }};
}

Evaluate ExprCompiler::compile_power(const Power& power, ScalarKind kind) {
  return [base = compile(power.base, kind), exponent = compile(power.exponent, kind),
          kind](Machine& m) {
    m.count_operation();
    const Value b = base(m);
    return power_of_numbers(b, exponent(m), kind);
  };
}

Evaluate ExprCompiler::compile_comparison(const Comparison& comparison, ScalarKind around) {
  const LooseType common = common_type(type_of(comparison.left), type_of(comparison.right));
  const auto own = cgen::scalar_kind(number_type(common.type));
  const ScalarKind kind = own && cgen::is_floating(*own) ? *own : around;
  return [left = compile(comparison.left, kind), right = compile(comparison.right, kind),
          op = comparison.op](Machine& m) {
    m.count_operation();
    const Value l = left(m);
    const int compared = compare_numbers(l, right(m));
    if (compared == 2) {
      return unknown_integer();
    }
    const bool is_number = compared != 3;
    switch (op) {
      case ComparisonOp::less:
        return integer_value(is_number && compared < 0 ? 1 : 0);
      case ComparisonOp::less_equal:
        return integer_value(is_number && compared <= 0 ? 1 : 0);
      case ComparisonOp::greater:
        return integer_value(is_number && compared > 0 ? 1 : 0);
      case ComparisonOp::greater_equal:
        return integer_value(is_number && compared >= 0 ? 1 : 0);
      case ComparisonOp::equal:
        return integer_value(compared == 0 ? 1 : 0);
      case ComparisonOp::not_equal:
        break;
    }
    return integer_value(compared != 0 ? 1 : 0);
  };
}

Evaluate ExprCompiler::compile_bitwise(const Bitwise& bitwise, ScalarKind kind) {
  return [left = compile(bitwise.left, kind), right = compile(bitwise.right, kind), op = bitwise.op,
          kind](Machine& m) {
    m.count_operation();
    const Value l = left(m);
    return bits(op, l, right(m), kind);
  };
}

Evaluate ExprCompiler::compile_call(const Call& call, const Expr& expr, ScalarKind around) {
  if (is_scan_call(call)) {
    return compile(call.arguments.front(), around);
  }
  if (const Argument* image = sampled_image(machine_.kernel(), call)) {
    return compile_sample(*image, call);
  }
  if (const TypedFunction* typed = find_typed_function(machine_.kernel(), call.function);
      typed != nullptr && typed->meaning) {
    Substitution values;
    for (std::size_t i = 0; i < typed->parameters.size(); ++i) {
      values.emplace(typed->parameters[i].name, Cast{typed->parameters[i].type, call.arguments[i]});
    }
    return compile(Cast{typed->result, substitute(*typed->meaning, values)}, around);
  }
  const auto function = find_function(call.function);
  if (!function || !is_function_of_numbers(*function)) {
    throw Unsupported("loopy.interpret.function",
                      fmt::format("kernel '{}' calls '{}', which the interpreter does not know",
                                  machine_.kernel().name, call.function));
  }
  const cgen::IntrinsicFamily family = cgen::intrinsic_info(*function).family;
  const bool keeps_operand = family == cgen::IntrinsicFamily::floating_test ||
                             family == cgen::IntrinsicFamily::integral ||
                             family == cgen::IntrinsicFamily::complex_part;
  const ScalarKind kind = kind_of(keeps_operand ? call.arguments.front() : expr, around);
  return [all = compile_each(call.arguments, kind), function = *function, kind](Machine& m) {
    m.count_operation();
    std::vector<Value> arguments;
    arguments.reserve(all.size());
    for (const Evaluate& each : all) {
      arguments.push_back(each(m));
    }
    return apply_function(function, arguments, kind);
  };
}

Evaluate ExprCompiler::compile_texel(const Argument& image, const std::vector<Expr>& indices) {
  return [all = compile_each(indices, ScalarKind::f64),
          fetched = std::make_shared<const FetchedImage>(machine_, image)](Machine& m) {
    m.count_operation();
    std::vector<std::int64_t> values;
    for (const Evaluate& each : all) {
      const auto at = known_index(each(m));
      if (!at) {
        return fetched->unknown();
      }
      values.push_back(*at);
    }
    return fetched->element(m, values);
  };
}

Evaluate ExprCompiler::compile_sample(const Argument& image, const Call& call) {
  const std::vector<Expr> position(call.arguments.begin() + 1, call.arguments.end());
  return [all = compile_each(position, ScalarKind::f32),
          fetched = std::make_shared<const FetchedImage>(machine_, image)](Machine& m) {
    m.count_operation();
    std::vector<Value> values;
    for (const Evaluate& each : all) {
      values.push_back(each(m));
    }
    return fetched->between(m, values);
  };
}

Evaluate ExprCompiler::compile_cast(const Cast& cast) {
  const ScalarKind kind = cgen::scalar_kind(number_type(cast.type)).value_or(ScalarKind::f64);
  const ScalarKind around = cgen::is_floating(kind) ? kind : ScalarKind::f64;
  // the operand is computed in its own type
  const ScalarKind inner = is_floating_kind(type_of(cast.operand).type)
                               ? kind_of(cast.operand, around)
                               : ScalarKind::f64;
  return [operand = compile(cast.operand, inner), kind,
          is_complex = is<cgen::Complex>(cast.type)](Machine& m) {
    const Value value = converted(operand(m), kind);
    return is_complex ? in_complex(value) : value;
  };
}

EvaluateAll ExprCompiler::compile_all(const Expr& expr, std::size_t count, ScalarKind around) {
  const Reduction* scanned = as_scan(expr);
  const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(expr);
  if (count > 1 && reduction != nullptr) {
    return compile_reduction(*reduction, around);
  }
  if (const Call* tuple = get_if<Call>(expr);
      tuple != nullptr && tuple->function == "make_tuple" && tuple->arguments.size() == count) {
    return [all = compile_each(tuple->arguments, around)](Machine& m) {
      std::vector<Value> values;
      for (const Evaluate& each : all) {
        values.push_back(each(m));
      }
      return values;
    };
  }
  return [one = compile(expr, around)](Machine& m) { return std::vector<Value>{one(m)}; };
}

std::function<void(Machine&, const std::function<void(std::vector<Value>)>&)>
ExprCompiler::compile_terms(const Reduction& reduction, ScalarKind around) {
  NameSet all = known_;
  all.insert(reduction.inames.begin(), reduction.inames.end());
  // without what is said about the loops around alone: they are within it already
  const NameSet own(reduction.inames.begin(), reduction.inames.end());
  const Nest nest(machine_, constraints_of(machine_.kernel(), own), reduction.inames, known_);
  const NameSet outside = known_;
  known_ = all;
  const std::vector<Evaluate> operands = compile_each(reduction.operands, around);
  const std::vector<Evaluate> order = compile_each(reduction.order, around);
  known_ = outside;
  const auto values_of = [](Machine& m, const std::vector<Evaluate>& exprs) {
    std::vector<Value> values;
    values.reserve(exprs.size());
    for (const Evaluate& each : exprs) {
      values.push_back(each(m));
    }
    return values;
  };
  return [nest, operands, order, values_of](Machine& m,
                                            const std::function<void(std::vector<Value>)>& use) {
    if (order.empty()) {
      nest.run(m, [&] {
        use(values_of(m, operands));
        return true;
      });
      return;
    }
    std::vector<std::pair<std::vector<Value>, std::vector<Value>>> terms;
    nest.run(m, [&] {
      terms.emplace_back(values_of(m, order), values_of(m, operands));
      return true;
    });
    std::stable_sort(terms.begin(), terms.end(), [](const auto& left, const auto& right) {
      return std::lexicographical_compare(
          left.first.begin(), left.first.end(), right.first.begin(), right.first.end(),
          [](const Value& a, const Value& b) { return a.integer < b.integer; });
    });
    for (auto& each : terms) {
      use(std::move(each.second));
    }
  };
}

EvaluateAll ExprCompiler::compile_reduction(const Reduction& reduction, ScalarKind around) {
  if (!is_known_operation(reduction.operation)) {
    return compile_rule_reduction(reduction, around);
  }
  const ScalarKind kind = kind_of(Expr(reduction), around);
  const ScalarKind inner = cgen::is_floating(kind) ? kind : around;
  const auto terms = compile_terms(reduction, inner);
  const std::string& name = reduction.operation;
  if (name == "sum") {
    return [terms, kind](Machine& m) {
      RunningSum sum(kind);
      terms(m, [&](const std::vector<Value>& values) { sum.add(values.front()); });
      return std::vector<Value>{sum.total()};
    };
  }
  if (name == "product") {
    return [terms, kind](Machine& m) {
      Value product = integer_value(1);
      terms(m, [&](const std::vector<Value>& values) {
        product = multiply(product, values.front(), kind);
      });
      return std::vector<Value>{product};
    };
  }
  if (name == "any" || name == "all") {
    return [terms, is_any = name == "any"](Machine& m) {
      bool is_open = false;
      bool is_decided = false;
      terms(m, [&](const std::vector<Value>& values) {
        const Value value = truth(values.front());
        is_open = is_open || !value.is_certain();
        is_decided = is_decided || (value.is_certain() && (value.integer != 0) == is_any);
      });
      return std::vector<Value>{is_decided ? integer_value(is_any ? 1 : 0)
                                : is_open  ? unknown_integer()
                                           : integer_value(is_any ? 0 : 1)};
    };
  }
  const bool is_min = is_least(name) || name == "argmin";
  const bool has_place = name == "argmin" || name == "argmax";
  const bool has_nans = name == "minimum" || name == "maximum";
  return [terms, is_min, has_place, has_nans, kind](Machine& m) {
    Extreme extreme(is_min, has_nans);
    terms(m, [&](const std::vector<Value>& values) {
      extreme.add(values.front(), has_place ? values.at(1) : integer_value(0));
    });
    return extreme.result(kind);
  };
}

EvaluateAll ExprCompiler::compile_rule_reduction(const Reduction& reduction, ScalarKind around) {
  const RuleOperation operation = *find_rule_operation(machine_.kernel(), reduction);
  const std::size_t count = operation.neutral.size();
  const auto lookup = [&](const std::string& name) {
    const auto local = locals_.find(name);
    return local != locals_.end() ? local->second.type : declared_type(machine_.kernel(), name);
  };
  const auto types = loose_types_of_targets(machine_.kernel(), lookup, Expr(reduction));
  std::vector<ScalarKind> kinds;
  for (std::size_t i = 0; i < count; ++i) {
    kinds.push_back(cgen::scalar_kind(number_type(types.at(i).type)).value_or(around));
  }
  const ScalarKind inner = cgen::is_floating(kinds.front()) ? kinds.front() : around;
  const auto terms = compile_terms(reduction, inner);
  const std::vector<Evaluate> neutral = compile_each(operation.neutral, inner);
  const auto outside = locals_;
  const std::size_t base = machine_.locals.size() + outside.size();
  for (std::size_t i = 0; i < 2 * count; ++i) {
    locals_[operation.parameters[i]] = {base + i, types.at(i % count)};
  }
  const std::vector<Evaluate> combine = compile_each(operation.values, inner);
  locals_ = outside;
  return [terms, neutral, combine, count, base, kinds](Machine& m) {
    std::vector<Value> held;
    std::vector<OtherOrders> others;
    for (std::size_t i = 0; i < count; ++i) {
      held.push_back(converted(neutral[i](m), kinds[i]));
      others.emplace_back(kinds[i]);
    }
    terms(m, [&](const std::vector<Value>& values) {
      m.locals.resize(std::max(m.locals.size(), base + 2 * count));
      for (std::size_t i = 0; i < count; ++i) {
        m.locals[base + i] = held[i];
        m.locals[base + count + i] = converted(values[i], kinds[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        held[i] = combine[i](m);
        others[i].see(m.locals[base + i], m.locals[base + count + i], held[i]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      held[i] = others[i].widened(held[i]);
    }
    return held;
  };
}

}  // namespace rtcg::loopy::interpretation
