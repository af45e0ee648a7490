#include "rtcg/loopy/analyze/type_of.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/support/close_names.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::loopy {
namespace {

using cgen::ScalarKind;

bool is_integral_type(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(type);
  return kind && cgen::is_integral(*kind);
}

ScalarKind common_scalar(ScalarKind left, ScalarKind right) {
  if (cgen::is_floating(left) != cgen::is_floating(right)) {
    return cgen::is_floating(left) ? left : right;
  }
  const int left_bytes = cgen::size_bytes(left);
  const int right_bytes = cgen::size_bytes(right);
  const bool is_mixed = cgen::is_signed(left) != cgen::is_signed(right);
  const int unsigned_bytes = cgen::is_signed(left) ? right_bytes : left_bytes;
  if (is_mixed && unsigned_bytes < 4 && unsigned_bytes == std::max(left_bytes, right_bytes)) {
    return unsigned_bytes == 1 ? ScalarKind::i16 : ScalarKind::i32;
  }
  if (left_bytes != right_bytes) {
    return left_bytes > right_bytes ? left : right;
  }
  if (cgen::is_floating(left)) {
    return left == right ? left : ScalarKind::f32;  // f16 and bf16 hold each other's values not
  }
  return cgen::is_signed(left) ? right : left;
}

/// What takes part in arithmetic in place of `type`.
cgen::Type arithmetic_type(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(type);
  return kind == ScalarKind::bool_ ? cgen::i32 : type;
}
LooseType arithmetic_type(const LooseType& operand) {
  return {arithmetic_type(operand.type), operand.firmness};
}

/// The type of a value that is one of two: the one in which they are added, but i64 for i32 and
/// u32, which holds the values of both.
LooseType type_of_either(const LooseType& left, const LooseType& right) {
  const LooseType common = common_type(left, right);
  const auto is_of = [&](ScalarKind kind) {
    return cgen::scalar_kind(left.type) == kind || cgen::scalar_kind(right.type) == kind;
  };
  const bool is_mixed = common.type == cgen::Type(cgen::u32) && left.firmness == right.firmness &&
                        (is_of(ScalarKind::i32) || is_of(ScalarKind::i16) || is_of(ScalarKind::i8));
  return is_mixed ? LooseType{cgen::i64, common.firmness} : common;
}

/// Types expressions from the inside out.
class TypeFinder {
 public:
  TypeFinder(const Kernel& kernel, const TypeLookup& lookup) : kernel_(kernel), lookup_(lookup) {}

  LooseType find(const Expr& expr);
  std::vector<LooseType> find_all(const std::vector<Expr>& exprs);
  std::vector<LooseType> find_targets(const Reduction& reduction);

 private:
  LooseType find_name(const std::string& name);
  LooseType find_common(const std::vector<Expr>& exprs);
  LooseType find_quotient(const Quotient& quotient);
  LooseType find_power(const Power& power);
  LooseType find_bitwise(const Bitwise& bitwise);
  LooseType find_conditional(const Conditional& conditional);
  LooseType find_rule(const SubstitutionRule& rule, const Call& call);
  std::vector<LooseType> find_combined(const RuleOperation& operation,
                                       std::vector<LooseType> types);
  LooseType find_call(const Call& call);

  const Kernel& kernel_;
  const TypeLookup& lookup_;
  // parameters of the rule that is being typed, and the rules around it
  std::map<std::string, LooseType, std::less<>> bound_;
  std::vector<std::string> open_rules_;
};

const LooseType boolean{cgen::boolean, Firmness::fixed};

LooseType TypeFinder::find(const Expr& expr) {
  return match(
      expr,
      [](const Integer& e) -> LooseType {
        const bool is_small = e.value > -(std::int64_t{1} << 31) && e.value < std::int64_t{1} << 31;
        return is_small ? LooseType{cgen::i32, Firmness::integer_constant}
                        : LooseType{cgen::i64, Firmness::fixed};
      },
      [](const Real& e) {
        return e.stated_kind ? LooseType{cgen::Scalar{*e.stated_kind}, Firmness::fixed}
                             : LooseType{cgen::f64, Firmness::real_constant};
      },
      [&](const Name& e) { return find_name(e.name); },
      [&](const Sum& e) { return find_common(e.terms); },
      [&](const Product& e) { return find_common(e.factors); },
      [&](const Quotient& e) { return find_quotient(e); },
      [&](const FloorDiv& e) {
        return find_common({e.numerator, e.denominator});
      },
      [&](const Modulo& e) {
        return find_common({e.numerator, e.denominator});
      },
      [&](const Power& e) { return find_power(e); }, [](const Comparison&) { return boolean; },
      [](const Logical&) { return boolean; }, [](const Not&) { return boolean; },
      [&](const Bitwise& e) { return find_bitwise(e); },
      [&](const Conditional& e) { return find_conditional(e); },
      [&](const Access& e) { return lookup_(e.array); },
      [&](const LinearAccess& e) { return lookup_(e.array); },
      [&](const Call& e) { return find_call(e); },
      [](const Cast& e) {
        return LooseType{e.type, Firmness::fixed};
      },
      [&](const Reduction& e) {
        const std::vector<LooseType> targets = find_targets(e);
        return targets.empty() ? LooseType{} : targets.front();
      });
}

std::vector<LooseType> TypeFinder::find_all(const std::vector<Expr>& exprs) {
  std::vector<LooseType> types;
  for (const Expr& each : exprs) {
    types.push_back(find(each));
  }
  return types;
}

LooseType TypeFinder::find_name(const std::string& name) {
  const auto found = bound_.find(name);
  return found == bound_.end() ? lookup_(name) : found->second;
}

LooseType TypeFinder::find_common(const std::vector<Expr>& exprs) {
  LooseType common = arithmetic_type(find(exprs.front()));
  for (std::size_t i = 1; i < exprs.size(); ++i) {
    common = common_type(common, arithmetic_type(find(exprs[i])));
  }
  return common;
}

LooseType TypeFinder::find_quotient(const Quotient& quotient) {
  const LooseType common = find_common({quotient.numerator, quotient.denominator});
  if (!is_integral_type(common.type)) {
    return common;
  }
  return {cgen::f64,
          common.firmness == Firmness::fixed ? Firmness::fixed : Firmness::real_constant};
}

LooseType TypeFinder::find_power(const Power& power) {
  const LooseType base = arithmetic_type(find(power.base));
  const LooseType exponent = arithmetic_type(find(power.exponent));
  if (!is_known(exponent.type)) {
    return {};
  }
  if (is_integral_type(exponent.type)) {
    const bool is_negative = as_integer(power.exponent).value_or(0) < 0;
    if (is_negative && is_integral_type(base.type)) {
      return {cgen::f64,
              base.firmness == Firmness::fixed ? Firmness::fixed : Firmness::real_constant};
    }
    return base;
  }
  return common_type(base, exponent);
}

LooseType TypeFinder::find_bitwise(const Bitwise& bitwise) {
  const LooseType left = find(bitwise.left);
  if (bitwise.op == BitOp::shift_left || bitwise.op == BitOp::shift_right) {
    // a constant is as wide as what it is shifted by: 1 << k has bit 40 where k can be 40
    const LooseType right = find(bitwise.right);
    const auto kind = cgen::scalar_kind(right.type);
    const bool is_wide = kind && cgen::is_integral(*kind) && cgen::size_bytes(*kind) == 8;
    return left.firmness == Firmness::integer_constant && is_wide ? right : arithmetic_type(left);
  }
  return common_type(left, find(bitwise.right));
}

LooseType TypeFinder::find_conditional(const Conditional& conditional) {
  return type_of_either(find(conditional.then_value), find(conditional.else_value));
}

std::vector<LooseType> TypeFinder::find_targets(const Reduction& reduction) {
  std::vector<LooseType> types = find_all(reduction.operands);
  for (LooseType& type : types) {
    if (reduction.operation == "any" || reduction.operation == "all") {
      type = boolean;
    } else {
      type = arithmetic_type(type);
    }
  }
  const auto operation = find_rule_operation(kernel_, reduction);
  return operation ? find_combined(*operation, std::move(types)) : types;
}

/// The types that hold the operands and their combination.
std::vector<LooseType> TypeFinder::find_combined(const RuleOperation& operation,
                                                 std::vector<LooseType> types) {
  const std::size_t count = types.size();
  for (std::size_t i = 0; i < count; ++i) {
    types[i] = common_type(types[i], find(operation.neutral[i]));
  }
  // types only grow from round to round, each through few steps
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    std::map<std::string, LooseType, std::less<>> bound;
    for (std::size_t i = 0; i < count; ++i) {
      bound[operation.parameters[i]] = types[i];
      bound[operation.parameters[count + i]] = types[i];
    }
    std::swap(bound, bound_);
    const std::vector<LooseType> combined = find_all(operation.values);
    std::swap(bound, bound_);
    for (std::size_t i = 0; i < count; ++i) {
      const LooseType larger = common_type(types[i], combined[i]);
      if (!is_known(larger.type)) {
        return std::vector<LooseType>(count);
      }
      is_changed = is_changed || !(larger.type == types[i].type);
      types[i] = larger;
    }
  }
  return types;
}

void require_argument_count(const SubstitutionRule& rule, const Call& call) {
  if (rule.parameters.size() != call.arguments.size()) {
    throw InvalidInput("loopy.type_of.argument_count",
                       fmt::format("the rule '{}' takes {} arguments and was given {}", rule.name,
                                   rule.parameters.size(), call.arguments.size()));
  }
}

LooseType TypeFinder::find_rule(const SubstitutionRule& rule, const Call& call) {
  if (std::find(open_rules_.begin(), open_rules_.end(), rule.name) != open_rules_.end()) {
    throw InvalidInput(
        "loopy.type_of.recursive_rule",
        fmt::format(
            "the rule '{}' of kernel '{}' calls itself, through {}; rules must not be recursive",
            rule.name, kernel_.name, fmt::join(open_rules_, ", ")));
  }
  require_argument_count(rule, call);
  std::map<std::string, LooseType, std::less<>> bound;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    bound[rule.parameters[i]] = find(call.arguments[i]);
  }
  std::swap(bound, bound_);
  open_rules_.push_back(rule.name);
  const LooseType type = find(rule.body);
  open_rules_.pop_back();
  std::swap(bound, bound_);
  return type;
}

/// The result of a function of `arguments`, which are of the number it takes.
LooseType result_of(cgen::Intrinsic function, const std::vector<LooseType>& arguments) {
  const bool is_choice = function == cgen::Intrinsic::min || function == cgen::Intrinsic::max;
  LooseType common = arithmetic_type(arguments.front());
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const LooseType next = arithmetic_type(arguments[i]);
    common = is_choice ? type_of_either(common, next) : common_type(common, next);
  }
  const auto* complex = get_if<cgen::Complex>(common.type);
  const LooseType in_real_numbers =
      is_integral_type(common.type) ? LooseType{cgen::f64, Firmness::fixed} : common;
  switch (cgen::intrinsic_info(function).family) {
    case cgen::IntrinsicFamily::floating:
      return in_real_numbers;
    case cgen::IntrinsicFamily::arithmetic:
      return complex == nullptr ? common : LooseType{complex->element, Firmness::fixed};
    case cgen::IntrinsicFamily::floating_test:
      return boolean;
    case cgen::IntrinsicFamily::integral:
      return {cgen::i32, Firmness::fixed};
    case cgen::IntrinsicFamily::complex_make: {
      const bool is_fixed = common.firmness == Firmness::fixed;
      return is_known(in_real_numbers.type)
                 ? LooseType{cgen::complex_of(in_real_numbers.type),
                             is_fixed ? Firmness::fixed : Firmness::real_constant}
                 : LooseType{};
    }
    case cgen::IntrinsicFamily::complex_part:
      return complex == nullptr ? common : LooseType{complex->element, Firmness::fixed};
    case cgen::IntrinsicFamily::complex_same:
      return common;
    case cgen::IntrinsicFamily::shuffle_value:
      return arguments.front();
    case cgen::IntrinsicFamily::vote:
      return boolean;
    default:
      return {};
  }
}

cgen::Intrinsic function_of(const Kernel& kernel, const Call& call) {
  const auto function = find_function(call.function);
  if (!function && call.function == sample_function) {
    throw InvalidInput("loopy.type_of.not_an_image",
                       fmt::format("kernel '{}' samples what is not an image: the first argument "
                                   "of 'sample' is an argument of the kernel with space=image",
                                   kernel.name));
  }
  if (!function) {
    std::vector<std::string> candidates = function_names();
    for (const SubstitutionRule& rule : kernel.rules) {
      candidates.push_back(rule.name);
    }
    for (const TypedFunction& each : kernel.functions) {
      candidates.push_back(each.name);
    }
    const std::vector<std::string> close = close_names(call.function, candidates);
    throw InvalidInput(
        "loopy.type_of.unknown_function",
        fmt::format("kernel '{}' calls '{}', which is neither a function nor a rule; {}",
                    kernel.name, call.function,
                    close.empty()
                        ? fmt::format("the functions are {}", fmt::join(function_names(), ", "))
                        : fmt::format("close names are '{}'", fmt::join(close, "', '"))));
  }
  const int wanted = cgen::intrinsic_info(*function).arguments;
  const bool has_part = call.function == shuffle_xor_function && call.arguments.size() == 3;
  if (call.arguments.size() != static_cast<std::size_t>(wanted) && !has_part) {
    throw InvalidInput("loopy.type_of.argument_count",
                       fmt::format("the function '{}' takes {} arguments and was given {}",
                                   call.function, wanted, call.arguments.size()));
  }
  return *function;
}

void require_argument_count(const TypedFunction& function, const Call& call) {
  if (function.parameters.size() != call.arguments.size()) {
    throw InvalidInput(
        "loopy.type_of.argument_count",
        fmt::format("the function '{}' takes {} arguments and was given {}", function.name,
                    function.parameters.size(), call.arguments.size()));
  }
}

LooseType TypeFinder::find_call(const Call& call) {
  if (const SubstitutionRule* rule = loopy::find_rule(kernel_, call.function)) {
    return find_rule(*rule, call);
  }
  if (const TypedFunction* function = find_typed_function(kernel_, call.function)) {
    require_argument_count(*function, call);
    return {function->result, Firmness::fixed};
  }
  if (const Argument* image = sampled_image(kernel_, call)) {
    return lookup_(image->name);
  }
  return is_scan_call(call) ? find(call.arguments.front())
                            : result_of(function_of(kernel_, call), find_all(call.arguments));
}

bool is_in_constraints(const Kernel& kernel, const std::string& name) {
  return kernel.assumptions.mentions(name) ||
         std::any_of(kernel.domains.begin(), kernel.domains.end(),
                     [&](const Domain& domain) { return domain.constraints.mentions(name); });
}

LooseType declared_type(const Kernel& kernel, const std::string& name, const Argument* argument,
                        const Temporary* temporary) {
  if (is_iname(kernel, name)) {
    return {cgen::i32, Firmness::fixed};
  }
  if (argument != nullptr) {
    return {argument->type.value_or(cgen::Unknown{}), Firmness::fixed};
  }
  if (temporary != nullptr) {
    return {temporary->type.value_or(cgen::Unknown{}), Firmness::fixed};
  }
  return is_in_constraints(kernel, name) ? LooseType{cgen::i32, Firmness::fixed} : LooseType{};
}

}  // namespace

cgen::Type number_type(const cgen::Type& type) {
  const auto* complex = get_if<cgen::Complex>(type);
  const auto* vector = get_if<cgen::Vector>(type);
  return complex != nullptr ? complex->element : vector != nullptr ? vector->element : type;
}

int numbers_in(const cgen::Type& type) {
  const auto* vector = get_if<cgen::Vector>(type);
  return is<cgen::Complex>(type) ? 2 : vector != nullptr ? vector->lanes : 1;
}

int size_bytes(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(number_type(type));
  const int numbers = numbers_in(type);
  if (!kind || numbers == 3) {
    throw Unsupported("loopy.type_of.no_size",
                      fmt::format("elements of {} have no size that is the same everywhere: arrays "
                                  "hold numbers, complex numbers and vectors of 2, 4, 8 or 16",
                                  cgen::describe(type)));
  }
  return cgen::size_bytes(*kind) * numbers;
}

cgen::Type common_type(const cgen::Type& left, const cgen::Type& right) {
  if (left == right || !is_known(left)) {
    return left;
  }
  const auto* left_complex = get_if<cgen::Complex>(left);
  const auto* right_complex = get_if<cgen::Complex>(right);
  if (left_complex != nullptr || right_complex != nullptr) {
    const cgen::Type element =
        common_type(left_complex != nullptr ? left_complex->element : left,
                    right_complex != nullptr ? right_complex->element : right);
    return is_known(element) ? cgen::complex_of(element) : element;
  }
  const auto left_kind = cgen::scalar_kind(left);
  const auto right_kind = cgen::scalar_kind(right);
  if (left_kind && right_kind) {
    return cgen::Scalar{common_scalar(*left_kind, *right_kind)};
  }
  // a vector meets a scalar in itself
  if (is<cgen::Vector>(left) && right_kind) {
    return left;
  }
  return is<cgen::Vector>(right) && left_kind ? right : cgen::Type(cgen::Unknown{});
}

LooseType common_type(const LooseType& left, const LooseType& right) {
  if (!is_known(left.type) || !is_known(right.type)) {
    return {};
  }
  if (left.firmness == right.firmness) {
    return {common_type(left.type, right.type), left.firmness};
  }
  const LooseType& looser = left.firmness < right.firmness ? left : right;
  const LooseType& firmer = left.firmness < right.firmness ? right : left;
  if (looser.firmness == Firmness::real_constant && is_integral_type(firmer.type)) {
    return looser;  // an index times a real constant, still to meet its surroundings
  }
  const bool turns_complex = is<cgen::Complex>(looser.type) && cgen::scalar_kind(firmer.type);
  return turns_complex ? LooseType{cgen::complex_of(firmer.type), firmer.firmness}
                       : arithmetic_type(firmer);
}

LooseType declared_type(const Kernel& kernel, const std::string& name) {
  return declared_type(kernel, name, find_argument(kernel, name), find_temporary(kernel, name));
}

LooseType declared_type(const Kernel& kernel, const VariableIndex& variables,
                        const std::string& name) {
  return declared_type(kernel, name, variables.find_argument(name), variables.find_temporary(name));
}

std::vector<LooseType> loose_types_of_targets(const Kernel& kernel, const TypeLookup& lookup,
                                              const Expr& value) {
  TypeFinder finder(kernel, lookup);
  const Reduction* scanned = as_scan(value);
  const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(value);
  if (reduction != nullptr && reduction->operands.size() > 1) {
    return finder.find_targets(*reduction);
  }
  return {finder.find(value)};
}

std::vector<cgen::Type> types_of_targets(const Kernel& kernel, const Expr& value) {
  std::vector<cgen::Type> types;
  const auto lookup = [&](const std::string& name) { return declared_type(kernel, name); };
  for (LooseType& each : loose_types_of_targets(kernel, lookup, value)) {
    types.push_back(std::move(each.type));
  }
  return types;
}

void require_callable(const Kernel& kernel, const Call& call) {
  if (const SubstitutionRule* rule = find_rule(kernel, call.function)) {
    require_argument_count(*rule, call);
  } else if (const TypedFunction* function = find_typed_function(kernel, call.function)) {
    require_argument_count(*function, call);
  } else if (!is_scan_call(call) && sampled_image(kernel, call) == nullptr) {
    static_cast<void>(function_of(kernel, call));
  }
}

cgen::Type type_of(const Kernel& kernel, const Expr& expr) {
  return types_of_targets(kernel, expr).front();
}

}  // namespace rtcg::loopy
