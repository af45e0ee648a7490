#include "rtcg/loopy/measure/least_operations.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/measure/statistics.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

NameSet operator|(NameSet left, const NameSet& right) {
  left.insert(right.begin(), right.end());
  return left;
}

/// Small powers are products.
double operations_of_power(const Power& power) {
  const std::int64_t exponent = as_integer(power.exponent).value_or(0);
  return exponent > 1 && exponent <= 4 ? static_cast<double>(exponent - 1) : 1;
}

/// The factors of a product without a sign.
std::vector<Expr> factors_of(const Product& product) {
  const bool is_negation = as_integer(product.factors.front()) == -1;
  return {product.factors.begin() + (is_negation ? 1 : 0), product.factors.end()};
}

/// Of an expression by itself.
double operations_in(const Expr& expr) {
  double count = 0;
  for_each_child(expr, [&](const Expr& child) { count += operations_in(child); });
  return count + match(
                     expr, [](const Sum& e) { return static_cast<double>(e.terms.size() - 1); },
                     [](const Product& e) { return static_cast<double>(factors_of(e).size() - 1); },
                     [](const Quotient&) { return 1.0; },
                     [](const Power& e) { return operations_of_power(e); },
                     [](const Comparison&) { return 1.0; }, [](const Call&) { return 1.0; },
                     [](const auto&) { return 0.0; });
}

class LeastOperations {
 public:
  explicit LeastOperations(const Kernel& kernel) : kernel_(kernel) {
    for (const Instruction& each : kernel.instructions) {
      for_each_target(each, [&](const Expr& target) {
        Writer& writer = writers_[target_name(target)].emplace_back();
        writer.inames = each.within_inames;
        for_each_child(target, [&](const Expr& index) { writer.indices.merge(free_names(index)); });
      });
    }
  }

  double of_all() {
    for (const Instruction& each : kernel_.instructions) {
      if (const Assignment* assignment = get_if<Assignment>(each)) {
        dependences_.clear();
        scopes_.assign(1, {each.within_inames, each.predicates});
        count(assignment->value);
      }
      const NameSet written = written_variables(each);
      std::erase_if(seen_, [&](const auto& entry) {
        return std::any_of(written.begin(), written.end(),
                           [&](const std::string& name) { return entry.second.count(name) != 0; });
      });
    }
    return operations_;
  }

 private:
  struct Writer {
    NameSet inames;
    NameSet indices;
  };
  /// The loops and reductions around an expression, and under which conditions it is computed.
  struct Scope {
    NameSet inames;
    std::vector<Expr> conditions;
    std::map<NameSet, ConstraintSet> domains{};
    std::map<NameSet, double> points{};
  };

  void count(const Expr& expr);
  void count_reduction(const Reduction& reduction);
  void count_under(const Expr& condition, const Expr& expr);
  [[nodiscard]] bool is_new(const Expr& expr);
  /// Whether an expression has more than inames and parameters.
  [[nodiscard]] bool reads_elements(const Expr& expr) const {
    const NameSet names = free_names(expr);
    return !accessed_arrays(expr).empty() ||
           std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return find_temporary(kernel_, name) != nullptr;
           });
  }
  /// The inames whose values decide about the value of an expression.
  [[nodiscard]] const NameSet& dependence(const Expr& expr, const NameSet& scope);
  /// Loops around a read that write the variable anew.
  [[nodiscard]] NameSet rewriting_loops(const std::string& variable, const NameSet& scope) const;
  /// Other inames in scope that bound this one.
  [[nodiscard]] NameSet bounding(const std::string& iname, const NameSet& scope) const;
  /// The values that inames take together, under the conditions of the innermost scope.
  [[nodiscard]] const ConstraintSet& domain(const NameSet& inames);
  [[nodiscard]] double points(const NameSet& inames);
  /// What it takes to combine operands with these dependences by one operation; gives that of the
  /// result.
  [[nodiscard]] std::pair<double, NameSet> combine(std::vector<NameSet> operands);
  /// The same where inames are summed over, in this order.
  [[nodiscard]] double eliminate(const std::vector<std::string>& order,
                                 std::vector<NameSet> factors, double operations_each);
  /// Whether the values of `iname` for one value of `other` are among those for the next one.
  [[nodiscard]] bool grows_with(const std::string& iname, const std::string& other);

  const Kernel& kernel_;
  double operations_ = 0;
  std::map<std::string, std::vector<Writer>, std::less<>> writers_{};
  std::vector<Scope> scopes_{};
  std::unordered_map<const ExprNode*, NameSet> dependences_{};  // of one statement
  /// Values in canonical names, and the variables that they read.
  std::map<std::string, NameSet> seen_{};
};

NameSet LeastOperations::rewriting_loops(const std::string& variable, const NameSet& scope) const {
  NameSet loops;
  const auto found = writers_.find(variable);
  for (const Writer& each : found == writers_.end() ? std::vector<Writer>() : found->second) {
    for (const std::string& iname : each.inames) {
      if (scope.count(iname) != 0 && each.indices.count(iname) == 0) {
        loops.insert(iname);
      }
    }
  }
  return loops;
}

NameSet LeastOperations::bounding(const std::string& iname, const NameSet& scope) const {
  NameSet result;
  const ConstraintSet all = constraints_of(kernel_, {iname});
  std::vector<std::string> outside;
  for (const std::string& name : all.names()) {
    if (is_iname(kernel_, name) && scope.count(name) == 0) {
      outside.push_back(name);
    }
  }
  const ConstraintSet own = all.project_out(outside).without_redundancies();
  for (const Constraint& each : own.constraints()) {
    if (each.expr.coefficient(iname) == 0) {
      continue;
    }
    for (const Affine::Term& term : each.expr.terms()) {
      if (term.name != iname && scope.count(term.name) != 0) {
        result.insert(term.name);
      }
    }
  }
  return result;
}

const NameSet& LeastOperations::dependence(const Expr& expr, const NameSet& scope) {
  const auto known = dependences_.find(&expr.node());
  if (known != dependences_.end()) {
    return known->second;
  }
  NameSet result;
  if (const Name* name = get_if<Name>(expr)) {
    result =
        is_iname(kernel_, name->name) ? NameSet{name->name} : rewriting_loops(name->name, scope);
  } else if (const Access* access = get_if<Access>(expr)) {
    result = rewriting_loops(access->array, scope);
  } else if (const LinearAccess* linear = get_if<LinearAccess>(expr)) {
    result = rewriting_loops(linear->array, scope);
  }
  const Reduction* reduction = get_if<Reduction>(expr);
  const NameSet own = reduction == nullptr
                          ? NameSet()
                          : NameSet(reduction->inames.begin(), reduction->inames.end());
  const NameSet inner = scope | own;
  for_each_child(expr,
                 [&](const Expr& child) { result = std::move(result) | dependence(child, inner); });
  for (const std::string& iname : own) {
    result = std::move(result) | bounding(iname, inner);
  }
  for (const std::string& iname : own) {
    result.erase(iname);
  }
  return dependences_.emplace(&expr.node(), std::move(result)).first->second;
}

const ConstraintSet& LeastOperations::domain(const NameSet& inames) {
  Scope& scope = scopes_.back();
  const auto known = scope.domains.find(inames);
  if (known != scope.domains.end()) {
    return known->second;
  }
  ConstraintSet contexts;
  NameSet all = inames;
  for (const Expr& condition : scope.conditions) {
    const ConstraintSet context = context_of(condition);
    const std::vector<std::string> names = context.names();
    // not quotients, which would be counted as if they were loops, nor computed values
    const auto is_in_scope = [&](const auto& name) { return scope.inames.count(name) != 0; };
    const auto is_asked_for = [&](const auto& name) { return inames.count(name) != 0; };
    if (std::all_of(names.begin(), names.end(), is_in_scope) &&
        std::any_of(names.begin(), names.end(), is_asked_for)) {
      contexts.add(context);
      all.insert(names.begin(), names.end());
    }
  }
  ConstraintSet values = constraints_of(kernel_, with_parent_inames(kernel_, all));
  values.add(contexts);
  std::vector<std::string> others;
  for (const std::string& name : values.names()) {
    if (is_iname(kernel_, name) && inames.count(name) == 0) {
      others.push_back(name);
    }
  }
  return scope.domains.emplace(inames, values.project_out(others).without_redundancies())
      .first->second;
}

double LeastOperations::points(const NameSet& inames) {
  if (inames.empty()) {
    return 1;
  }
  Scope& scope = scopes_.back();
  const auto known = scope.points.find(inames);
  if (known != scope.points.end()) {
    return known->second;
  }
  Count all;
  all.add(domain(inames), {inames.begin(), inames.end()});
  return scope.points.emplace(inames, static_cast<double>(all.evaluate({}))).first->second;
}

bool LeastOperations::is_new(const Expr& expr) {
  std::map<std::string, std::string, std::less<>> names;
  const auto add_name = [&](const std::string& name) {
    if (is_iname(kernel_, name)) {
      names.emplace(name, fmt::format("#{}", names.size()));
    }
  };
  walk(expr, [&](const Expr& part) {
    if (const Name* name = get_if<Name>(part)) {
      add_name(name->name);
    } else if (const Reduction* reduction = get_if<Reduction>(part)) {
      for_each_child(part, [&](const Expr& child) {
        walk(child, [&](const Expr& inner) {
          if (const Name* name = get_if<Name>(inner)) {
            add_name(name->name);
          }
          return true;
        });
      });
      std::for_each(reduction->inames.begin(), reduction->inames.end(), add_name);
    }
    return true;
  });
  NameSet inames = dependence(expr, scopes_.back().inames);
  for (const auto& [name, canonical] : names) {
    inames.insert(name);
  }
  for (const std::string& name : inames) {
    add_name(name);
  }
  const ConstraintSet values = domain(inames).rename([&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  });
  std::vector<std::string> constraints;
  for (const Constraint& each : values.constraints()) {
    constraints.push_back(to_string(each));
  }
  std::sort(constraints.begin(), constraints.end());
  std::string key =
      fmt::format("{} for {}", to_string(rename_all(expr, names)), fmt::join(constraints, " and "));
  return seen_.emplace(std::move(key), free_names(expr) | accessed_arrays(expr)).second;
}

std::pair<double, NameSet> LeastOperations::combine(std::vector<NameSet> operands) {
  double count = 0;
  while (operands.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t first = 0;
    std::size_t second = 1;
    NameSet joined;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (std::size_t j = i + 1; j < operands.size(); ++j) {
        const NameSet both = operands[i] | operands[j];
        if (const double here = points(both); here < least) {
          std::tie(least, first, second, joined) = std::tuple(here, i, j, both);
        }
      }
    }
    count += least;
    operands[first] = std::move(joined);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(second));
  }
  return {count, operands.empty() ? NameSet() : operands.front()};
}

bool LeastOperations::grows_with(const std::string& iname, const std::string& other) {
  std::optional<bool> is_upper;
  for (const Constraint& each : domain({iname, other}).constraints()) {
    const std::int64_t own = each.expr.coefficient(iname);
    if (own == 0 || each.expr.coefficient(other) == 0) {
      continue;
    }
    const bool is_it_upper = own < 0;
    if (each.is_equality || (is_upper && *is_upper != is_it_upper)) {
      return false;  // a single value, or a window that moves
    }
    is_upper = is_it_upper;
  }
  return true;
}

double LeastOperations::eliminate(const std::vector<std::string>& order,
                                  std::vector<NameSet> factors, double operations_each) {
  double count = 0;
  for (const std::string& iname : order) {
    const auto middle =
        std::stable_partition(factors.begin(), factors.end(),
                              [&](const NameSet& factor) { return factor.count(iname) == 0; });
    const std::vector<NameSet> own(middle, factors.end());
    factors.erase(middle, factors.end());
    auto [multiplications, all] = combine(own);
    all.insert(iname);
    const NameSet bounds = bounding(iname, scopes_.back().inames);
    NameSet result = all | bounds;
    result.erase(iname);
    const bool is_running =
        bounds.size() == 1 && all.count(*bounds.begin()) == 0 && grows_with(iname, *bounds.begin());
    // a running value takes in each operand once, and gives one more result
    count += multiplications + operations_each * (is_running ? std::max(points(all), points(result))
                                                             : points(all | bounds));
    factors.push_back(std::move(result));
  }
  return count + combine(std::move(factors)).first;
}

void LeastOperations::count_reduction(const Reduction& reduction) {
  constexpr std::size_t most_permuted = 4;
  Scope inner{scopes_.back().inames, scopes_.back().conditions};
  inner.inames.insert(reduction.inames.begin(), reduction.inames.end());
  scopes_.push_back(std::move(inner));
  const Product* product = reduction.operation == "sum" && reduction.operands.size() == 1
                               ? get_if<Product>(reduction.operands.front())
                               : nullptr;
  std::vector<NameSet> factors;
  if (product != nullptr) {
    for (const Expr& each : factors_of(*product)) {
      count(each);
      factors.push_back(dependence(each, scopes_.back().inames));
    }
  } else {
    NameSet all;
    for (const Expr& each : reduction.operands) {
      count(each);
      all = std::move(all) | dependence(each, scopes_.back().inames);
    }
    factors.push_back(std::move(all));
  }
  double each = 1;
  if (const auto rule = find_rule_operation(kernel_, reduction)) {
    each = 0;
    for (const Expr& value : rule->values) {
      each += operations_in(value);
    }
  }
  std::vector<std::string> order = reduction.inames;
  std::sort(order.begin(), order.end());
  double least = eliminate(order, factors, each);
  while (order.size() <= most_permuted && std::next_permutation(order.begin(), order.end())) {
    least = std::min(least, eliminate(order, factors, each));
  }
  operations_ += least;
  scopes_.pop_back();
}

void LeastOperations::count_under(const Expr& condition, const Expr& expr) {
  Scope inner{scopes_.back().inames, scopes_.back().conditions};
  inner.conditions.push_back(condition);
  scopes_.push_back(std::move(inner));
  count(expr);
  scopes_.pop_back();
}

void LeastOperations::count(const Expr& expr) {
  if (is<Integer>(expr) || is<Real>(expr) || is<Name>(expr) || is<Access>(expr) ||
      is<LinearAccess>(expr) || !is_new(expr)) {
    return;
  }
  const NameSet inames = dependence(expr, scopes_.back().inames);
  const auto add = [&](double each) { operations_ += each * points(inames); };
  const auto count_parts = [&] { for_each_child(expr, [&](const Expr& child) { count(child); }); };
  const auto add_combination = [&](const std::vector<Expr>& operands) {
    std::vector<NameSet> dependences;
    for (const Expr& each : operands) {
      dependences.push_back(dependence(each, scopes_.back().inames));
    }
    operations_ += combine(std::move(dependences)).first;
  };
  match(
      expr, [&](const Reduction& e) { count_reduction(e); },
      [&](const Conditional& e) {
        count(e.condition);
        count_under(e.condition, e.then_value);
        count_under(logical_not(e.condition), e.else_value);
      },
      [&](const Sum& e) {
        count_parts();
        add_combination(e.terms);
      },
      [&](const Product& e) {
        count_parts();
        add_combination(factors_of(e));
      },
      [&](const Quotient&) {
        count_parts();
        add(1);
      },
      [&](const Power& e) {
        count_parts();
        add(operations_of_power(e));
      },
      [&](const Comparison&) {
        // comparisons of indices alone mostly vanish
        if (reads_elements(expr)) {
          count_parts();
          add(1);
        }
      },
      [&](const Call& e) {
        count_parts();
        add(is_scan_call(e) ? 0 : 1);
      },
      [&](const auto&) { count_parts(); });
}

}  // namespace

std::optional<double> least_operations(const Kernel& kernel) {
  try {
    return LeastOperations(kernel).of_all();
  } catch (const Error&) {
    return std::nullopt;  // not countable
  }
}

}  // namespace rtcg::loopy::detail
