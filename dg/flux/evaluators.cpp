#include "rtcg/dg/flux/evaluators.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/flux/step_builder.h"

namespace rtcg::dg {
namespace {

using detail::Scaled;

constexpr bool is_side_operator(FluxKind kind) {
  return kind == FluxKind::interior || kind == FluxKind::exterior || kind == FluxKind::jump ||
         kind == FluxKind::average;
}

// Turns flux expressions into steps. Expressions share parts, and each part is visited once a side.
class Lowering {
 public:
  explicit Lowering(const EvaluatorOptions& options, bool merges_sums = true)
      : options_(options), builder_(merges_sums) {}

  int output(const FluxExpr& component) {
    component_ = &component;
    return builder_.step_of(lower(component, FluxSide::none));
  }
  [[nodiscard]] const std::vector<Step>& steps() const { return builder_.steps(); }
  [[nodiscard]] Scaled value(const FluxExpr& expr) {
    component_ = &expr;
    return lower(expr, FluxSide::none);
  }
  /// The steps of this side's value and of the neighbour's, from parts that both share.
  std::pair<int, int> outputs_of_both(const FluxExpr& component) {
    component_ = &component;
    const Parts parts = parts_of(component);
    const Scaled here = builder_.add(builder_.add(parts.even, parts.odd), parts.here);
    const Scaled there = builder_.add(builder_.subtract(parts.even, parts.odd), parts.there);
    return {builder_.step_of(here), builder_.step_of(there)};
  }
  [[nodiscard]] Scaled sum_of_values(const FluxExpr& left, const FluxExpr& right) {
    const Scaled first = value(left);
    return builder_.add(first, value(right));
  }

 private:
  Scaled lower(const FluxExpr& expr, FluxSide side) {
    const auto key = std::make_pair(&expr.node(), side);
    const auto known = lowered_.find(key);
    // in a boundary state the exterior is refused, which it is not elsewhere
    const bool may_differ = is_in_boundary_state_ && side == FluxSide::exterior;
    if (known != lowered_.end() && !may_differ) {
      return known->second;
    }
    const Scaled value = lower_afresh(expr, side);
    lowered_.emplace(key, value);
    return value;
  }

  Scaled lower_afresh(const FluxExpr& expr, FluxSide side) {
    const std::vector<FluxExpr>& operands = expr.operands();
    if (is_side_operator(expr.kind())) {
      if (side != FluxSide::none) {
        refuse("dg.make_evaluators.nested_sides", expr,
               "inside of 'interior', 'exterior', 'jump' or 'average', which have chosen the side "
               "already");
      }
      return lower_side_operator(expr.kind(), operands[0]);
    }
    if (operands.empty()) {
      return lower_leaf(expr, side);
    }
    if (expr.kind() == FluxKind::add || expr.kind() == FluxKind::subtract) {
      return lower_sum(expr, side);
    }
    const Scaled value = lower_operation(expr, side);
    if (std::isnan(value.factor)) {
      refuse("dg.make_evaluators.not_a_number", expr, "which is not a number for any input");
    }
    return value;
  }

  Scaled lower_side_operator(FluxKind kind, const FluxExpr& operand) {
    switch (kind) {
      case FluxKind::interior:
        return lower(operand, FluxSide::interior);
      case FluxKind::exterior:
        return lower(operand, FluxSide::exterior);
      default:
        return lower_pair(kind, operand);
    }
  }

  // jump or average of an expression without sides. Both are linear: they go inward as far as they
  // get, so that jumps of fields are what fluxes share.
  Scaled lower_pair(FluxKind kind, const FluxExpr& operand) {
    const auto key = std::make_pair(&operand.node(), kind);
    const auto known = pairs_.find(key);
    if (known != pairs_.end()) {
      return known->second;
    }
    const Scaled value = lower_pair_afresh(kind, operand);
    pairs_.emplace(key, value);
    return value;
  }

  Scaled lower_pair_afresh(FluxKind kind, const FluxExpr& operand) {
    const std::vector<FluxExpr>& parts = operand.operands();
    switch (operand.kind()) {
      case FluxKind::add:
      case FluxKind::subtract: {
        const Scaled left = lower_pair(kind, parts[0]);
        const Scaled right = lower_pair(kind, parts[1]);
        return operand.kind() == FluxKind::add ? builder_.add(left, right)
                                               : builder_.subtract(left, right);
      }
      case FluxKind::negate:
        return builder_.multiply({-1, -1}, lower_pair(kind, parts[0]));
      case FluxKind::multiply:
        for (const std::size_t factor : {0U, 1U}) {
          if (!has_sides(parts[factor])) {
            const Scaled outer = lower(parts[factor], FluxSide::none);
            return builder_.multiply(outer, lower_pair(kind, parts[1 - factor]));
          }
        }
        break;
      case FluxKind::divide:
        if (!has_sides(parts[1])) {
          const Scaled dividend = lower_pair(kind, parts[0]);
          return divide(operand, dividend, lower(parts[1], FluxSide::none));
        }
        break;
      default:
        break;
    }
    const Scaled inside = lower(operand, FluxSide::interior);
    const Scaled outside = lower(operand, FluxSide::exterior);
    return kind == FluxKind::jump ? builder_.subtract(inside, outside)
                                  : builder_.multiply({0.5, -1}, builder_.add(inside, outside));
  }

  Scaled lower_leaf(const FluxExpr& leaf, FluxSide side) {
    const FluxNode& node = leaf.node();
    if (leaf.kind() == FluxKind::constant) {
      return {node.value, -1};
    }
    if (!detail::is_two_sided(leaf.kind())) {
      const bool has_place = leaf.kind() == FluxKind::normal ||
                             leaf.kind() == FluxKind::coordinate ||
                             leaf.kind() == FluxKind::boundary_value;
      return builder_.read({leaf.kind(), FluxSide::none, has_place ? node.index : 0, node.name});
    }
    if (side == FluxSide::none) {
      refuse("dg.make_evaluators.side_missing", leaf,
             "without a side: say interior, exterior, jump or average of it");
    }
    if (side == FluxSide::exterior && options_.boundary_state) {
      return lower_exterior_on_boundary(leaf);
    }
    return builder_.read({leaf.kind(), side, node.index, node.name});
  }

  Scaled lower_exterior_on_boundary(const FluxExpr& leaf) {
    if (is_in_boundary_state_) {
      refuse("dg.make_evaluators.exterior_of_boundary", leaf,
             "with the exterior side in a boundary state, which is the exterior: use interior");
    }
    if (leaf.kind() != FluxKind::field) {
      return lower(leaf, FluxSide::interior);
    }
    const std::vector<FluxExpr>& state = options_.boundary_state->components();
    const auto index = static_cast<std::size_t>(leaf.node().index);
    if (index >= state.size()) {
      refuse("dg.make_evaluators.no_boundary_state", leaf,
             fmt::format("and the boundary state has {} components only", state.size()));
    }
    is_in_boundary_state_ = true;
    const FluxExpr* component = std::exchange(component_, &state[index]);
    const Scaled value = lower(state[index], FluxSide::none);
    component_ = component;
    is_in_boundary_state_ = false;
    return value;
  }

  Scaled lower_sum(const FluxExpr& expr, FluxSide side) {
    std::vector<Scaled> terms;
    collect_terms(expr, 1, side, terms);
    if (terms.size() > 2) {
      if (const std::optional<Scaled> value = builder_.sum_with_jumps(terms)) {
        return *value;
      }
    }
    const Scaled left = lower(expr.operands()[0], side);
    const Scaled right = lower(expr.operands()[1], side);
    return expr.kind() == FluxKind::add ? builder_.add(left, right)
                                        : builder_.subtract(left, right);
  }

  void collect_terms(const FluxExpr& expr, double sign, FluxSide side, std::vector<Scaled>& terms) {
    if (expr.kind() == FluxKind::add || expr.kind() == FluxKind::subtract) {
      collect_terms(expr.operands()[0], sign, side, terms);
      collect_terms(expr.operands()[1], expr.kind() == FluxKind::add ? sign : -sign, side, terms);
      return;
    }
    const Scaled term = lower(expr, side);
    terms.push_back({sign * term.factor, term.step});
  }

  Scaled divide(const FluxExpr& quotient, const Scaled& left, const Scaled& right) {
    if (right.factor == 0) {
      refuse("dg.make_evaluators.division_by_zero", quotient, "and the divisor is always zero");
    }
    return builder_.divide(left, right);
  }

  Scaled lower_operation(const FluxExpr& expr, FluxSide side) {
    std::vector<Scaled> values;
    for (const FluxExpr& operand : expr.operands()) {
      values.push_back(lower(operand, side));
    }
    switch (expr.kind()) {
      case FluxKind::negate:
        return builder_.multiply({-1, -1}, values[0]);
      case FluxKind::multiply:
        return builder_.multiply(values[0], values[1]);
      case FluxKind::divide:
        return divide(expr, values[0], values[1]);
      case FluxKind::minimum:
        return builder_.minimum(values[0], values[1]);
      case FluxKind::maximum:
        return builder_.maximum(values[0], values[1]);
      case FluxKind::absolute:
        return builder_.absolute(values[0]);
      case FluxKind::square_root:
        return builder_.square_root(values[0]);
      case FluxKind::power:
        return builder_.power(values[0], values[1]);
      case FluxKind::if_positive:
        return builder_.if_positive(values[0], values[1], values[2]);
      default:
        require_internal(expr.kind() == FluxKind::user_function,
                         "an operation of the flux language");
        return builder_.user_function(expr.node().name, values);
    }
  }

  // The value is even + odd + here, and what the neighbour sees is even - odd + there.
  struct Parts {
    Scaled even{};
    Scaled odd{};
    Scaled here{};
    Scaled there{};

    [[nodiscard]] bool is_even() const { return odd == Scaled{} && here == odd && there == odd; }
    [[nodiscard]] bool is_odd() const { return even == Scaled{} && here == even && there == even; }
  };

  // Sums, and products with what keeps its value or changes its sign alone when it is flipped, are
  // taken part by part: n x (a + b) and its neighbour's n x (a - b) are n x a + n x b and the
  // difference of these.
  Parts parts_of(const FluxExpr& expr) {
    const auto known = parts_.find(&expr.node());
    if (known != parts_.end()) {
      return known->second;
    }
    const Parts parts = parts_afresh(expr);
    parts_.emplace(&expr.node(), parts);
    return parts;
  }

  Parts parts_afresh(const FluxExpr& expr) {
    const Scaled here = lower(expr, FluxSide::none);
    const Scaled there = lower(detail::flip(expr, flipped_), FluxSide::none);
    if (here == there) {
      return {.even = here};
    }
    if (here == Scaled{-there.factor, there.step}) {
      return {.odd = here};
    }
    const std::vector<FluxExpr>& operands = expr.operands();
    switch (expr.kind()) {
      case FluxKind::negate:
        return sum_of_parts({}, parts_of(operands[0]), -1);
      case FluxKind::add:
      case FluxKind::subtract:
        return sum_of_parts(parts_of(operands[0]), parts_of(operands[1]),
                            expr.kind() == FluxKind::add ? 1 : -1);
      case FluxKind::multiply:
      case FluxKind::divide:
        for (const std::size_t place : expr.kind() == FluxKind::divide
                                           ? std::vector<std::size_t>{1}
                                           : std::vector<std::size_t>{0, 1}) {
          const Parts factor = parts_of(operands[place]);
          if (factor.is_even() || factor.is_odd()) {
            return product_of_parts(parts_of(operands[1 - place]), factor,
                                    expr.kind() == FluxKind::divide);
          }
        }
        break;
      default:
        break;
    }
    return {.here = here, .there = there};
  }

  Parts sum_of_parts(const Parts& left, const Parts& right, double sign) {
    const auto sum = [&](const Scaled& l, const Scaled& r) {
      return builder_.add(l, {sign * r.factor, r.step});
    };
    return {sum(left.even, right.even), sum(left.odd, right.odd), sum(left.here, right.here),
            sum(left.there, right.there)};
  }

  // `factor`, or the divisor, is even or odd.
  Parts product_of_parts(const Parts& value, const Parts& factor, bool is_quotient) {
    const auto product = [&](const Scaled& part, double sign = 1) {
      const Scaled by = factor.is_even() ? factor.even : factor.odd;
      const Scaled result = is_quotient ? builder_.divide(part, by) : builder_.multiply(part, by);
      return Scaled{sign * result.factor, result.step};
    };
    if (factor.is_even()) {
      return {product(value.even), product(value.odd), product(value.here), product(value.there)};
    }
    return {product(value.odd), product(value.even), product(value.here), product(value.there, -1)};
  }

  bool has_sides(const FluxExpr& expr) {
    if (detail::is_two_sided(expr.kind()) || is_side_operator(expr.kind())) {
      return true;
    }
    const auto known = has_sides_.find(&expr.node());
    if (known != has_sides_.end()) {
      return known->second;
    }
    const bool found = std::any_of(expr.operands().begin(), expr.operands().end(),
                                   [this](const FluxExpr& operand) { return has_sides(operand); });
    has_sides_.emplace(&expr.node(), found);
    return found;
  }

  [[noreturn]] void refuse(const char* code, const FluxExpr& term,
                           const std::string& problem) const {
    throw InvalidInput(code, fmt::format("the flux term '{}' contains '{}' {}",
                                         to_string(*component_), to_string(term), problem));
  }

  const EvaluatorOptions& options_;
  const FluxExpr* component_ = nullptr;
  bool is_in_boundary_state_ = false;
  detail::StepBuilder builder_;
  std::map<std::pair<const FluxNode*, FluxSide>, Scaled> lowered_;
  std::map<std::pair<const FluxNode*, FluxKind>, Scaled> pairs_;
  std::map<const FluxNode*, bool> has_sides_;
  std::map<const FluxNode*, Parts> parts_;
  detail::Flipped flipped_;
};

// The steps that outputs need, renumbered in place.
Evaluators without_dead_steps(const std::vector<Step>& steps, std::vector<int> outputs,
                              std::vector<int> neighbour_outputs) {
  std::vector<bool> is_needed(steps.size(), false);
  for (const std::vector<int>* list : {&outputs, &neighbour_outputs}) {
    for (const int step : *list) {
      is_needed[static_cast<std::size_t>(step)] = true;
    }
  }
  for (std::size_t i = steps.size(); i-- > 0;) {
    for (const int operand : is_needed[i] ? steps[i].operands : std::vector<int>{}) {
      is_needed[static_cast<std::size_t>(operand)] = true;
    }
  }
  Evaluators result;
  std::vector<int> number(steps.size(), -1);
  const auto renumber = [&](std::vector<int>& list) {
    for (int& step : list) {
      step = number[static_cast<std::size_t>(step)];
    }
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (is_needed[i]) {
      number[i] = static_cast<int>(result.steps.size());
      result.steps.push_back(steps[i]);
      renumber(result.steps.back().operands);
    }
  }
  renumber(outputs);
  renumber(neighbour_outputs);
  result.outputs = std::move(outputs);
  result.neighbour_outputs = std::move(neighbour_outputs);
  return result;
}

// Quotients by one number become products with its reciprocal, which is computed once.
Evaluators with_shared_reciprocals(Evaluators evaluators) {
  std::map<int, int> quotients;  // by divisor
  for (const Step& step : evaluators.steps) {
    if (step.kind == StepKind::divide) {
      ++quotients[step.operands[1]];
    }
  }
  std::vector<Step> steps;
  std::vector<int> number;        // by the number before
  std::map<int, int> reciprocal;  // by divisor
  const auto push = [&](Step step) {
    steps.push_back(std::move(step));
    return static_cast<int>(steps.size()) - 1;
  };
  const auto is_one = [](const Step& step) {
    return step.kind == StepKind::constant && step.value == 1;
  };
  for (Step& step : evaluators.steps) {
    const int divisor = step.kind == StepKind::divide ? step.operands[1] : -1;
    for (int& operand : step.operands) {
      operand = number[static_cast<std::size_t>(operand)];
    }
    if (divisor < 0 || quotients[divisor] < 2) {
      number.push_back(push(std::move(step)));
      continue;
    }
    const auto [place, is_new] = reciprocal.try_emplace(divisor, 0);
    if (is_new) {
      const auto known = std::find_if(steps.begin(), steps.end(), is_one);
      const int one = known != steps.end() ? static_cast<int>(known - steps.begin())
                                           : push({StepKind::constant, 1, {}, {}, {}});
      place->second = push({StepKind::divide, 0, {}, {one, step.operands[1]}, {}});
    }
    const int dividend = step.operands[0];
    if (is_one(steps[static_cast<std::size_t>(dividend)])) {
      number.push_back(place->second);
      continue;
    }
    std::vector<int> operands = {dividend, place->second};
    std::sort(operands.begin(), operands.end());
    number.push_back(push({StepKind::multiply, 0, {}, std::move(operands), {}}));
  }
  for (std::vector<int>* outputs : {&evaluators.outputs, &evaluators.neighbour_outputs}) {
    for (int& output : *outputs) {
      output = number[static_cast<std::size_t>(output)];
    }
  }
  evaluators.steps = std::move(steps);
  return evaluators;
}

Evaluators finished(const Lowering& lowering, std::vector<int> outputs,
                    std::vector<int> neighbour_outputs) {
  return with_shared_reciprocals(
      without_dead_steps(lowering.steps(), std::move(outputs), std::move(neighbour_outputs)));
}

// What the neighbour sees is the flux once more, flipped: both share the steps that are the same.
Evaluators evaluators_of_each_side(const FluxVector& flux, const EvaluatorOptions& options,
                                   bool merges_sums) {
  Lowering lowering(options, merges_sums);
  std::vector<int> outputs;
  for (const FluxExpr& component : flux.components()) {
    outputs.push_back(lowering.output(component));
  }
  std::vector<int> neighbour_outputs;
  const FluxVector flipped = options.neighbour ? flip(flux) : FluxVector();
  for (const FluxExpr& component : flipped.components()) {
    neighbour_outputs.push_back(lowering.output(component));
  }
  return finished(lowering, std::move(outputs), std::move(neighbour_outputs));
}

// Both sides from sums and differences of the same parts.
Evaluators evaluators_by_parts(const FluxVector& flux, const EvaluatorOptions& options,
                               bool merges_sums) {
  Lowering lowering(options, merges_sums);
  std::vector<int> outputs;
  std::vector<int> neighbour_outputs;
  for (const FluxExpr& component : flux.components()) {
    const auto [here, there] = lowering.outputs_of_both(component);
    outputs.push_back(here);
    neighbour_outputs.push_back(there);
  }
  return finished(lowering, std::move(outputs), std::move(neighbour_outputs));
}

// How an expression depends on the state.
enum class Dependence { none, linear, nonlinear };

Dependence dependence(const FluxExpr& expr, std::map<const FluxNode*, Dependence>& known);

Dependence dependence_afresh(const FluxExpr& expr, std::map<const FluxNode*, Dependence>& known) {
  if (expr.kind() == FluxKind::field) {
    return Dependence::linear;
  }
  std::vector<Dependence> parts;
  for (const FluxExpr& operand : expr.operands()) {
    parts.push_back(dependence(operand, known));
  }
  if (std::all_of(parts.begin(), parts.end(), [](Dependence d) { return d == Dependence::none; })) {
    return Dependence::none;
  }
  const auto is_zero = [&](std::size_t operand) {
    const FluxExpr& value = expr.operands()[operand];
    return value.kind() == FluxKind::constant && value.node().value == 0;
  };
  const auto linear_if = [](bool condition) {
    return condition ? Dependence::linear : Dependence::nonlinear;
  };
  const auto is_linear_or_zero = [&](std::size_t operand) {
    return parts[operand] == Dependence::linear || is_zero(operand);
  };
  switch (expr.kind()) {
    case FluxKind::interior:
    case FluxKind::exterior:
    case FluxKind::jump:
    case FluxKind::average:
    case FluxKind::negate:
      return parts[0];
    case FluxKind::add:
    case FluxKind::subtract:
      return linear_if(is_linear_or_zero(0) && is_linear_or_zero(1));
    case FluxKind::multiply:
      return linear_if(std::min(parts[0], parts[1]) == Dependence::none &&
                       std::max(parts[0], parts[1]) == Dependence::linear);
    case FluxKind::divide:
      return linear_if(parts[0] == Dependence::linear && parts[1] == Dependence::none);
    case FluxKind::if_positive:
      return linear_if(parts[0] == Dependence::none && is_linear_or_zero(1) &&
                       is_linear_or_zero(2));
    default:
      return Dependence::nonlinear;
  }
}

Dependence dependence(const FluxExpr& expr, std::map<const FluxNode*, Dependence>& known) {
  const auto place = known.find(&expr.node());
  if (place != known.end()) {
    return place->second;
  }
  const Dependence value = dependence_afresh(expr, known);
  known.emplace(&expr.node(), value);
  return value;
}

}  // namespace

Evaluators make_evaluators(const FluxVector& flux, const EvaluatorOptions& options) {
  if (options.neighbour && options.boundary_state) {
    throw InvalidInput("dg.make_evaluators.boundary_neighbour",
                       fmt::format("the flux '{}' is requested on a boundary and for the "
                                   "neighbour, but a boundary has no neighbour",
                                   to_string(flux)));
  }
  // what shares most depends on the flux: the fewest operations win, among equals the first
  std::optional<Evaluators> fewest;
  for (const bool merges_sums : {true, false}) {
    for (const auto make : {evaluators_of_each_side, evaluators_by_parts}) {
      if (make == evaluators_by_parts && !options.neighbour) {
        continue;
      }
      Evaluators found = make(flux, options, merges_sums);
      if (!fewest || count_flops(found) < count_flops(*fewest)) {
        fewest = std::move(found);
      }
    }
  }
  return std::move(*fewest);
}

std::vector<FluxRead> reads(const Evaluators& evaluators) {
  std::vector<FluxRead> result;
  for (const Step& step : evaluators.steps) {
    if (step.kind == StepKind::read) {
      result.push_back(step.read);
    }
  }
  return result;
}

int count_flops(const Evaluators& evaluators) {
  return static_cast<int>(
      std::count_if(evaluators.steps.begin(), evaluators.steps.end(), [](const Step& step) {
        return step.kind != StepKind::constant && step.kind != StepKind::read &&
               step.kind != StepKind::negate && step.kind != StepKind::user_function;
      }));
}

bool is_zero(const Evaluators& evaluators) {
  const auto is_zero_step = [&](int number) {
    const Step& step = evaluators.steps[static_cast<std::size_t>(number)];
    return step.kind == StepKind::constant && step.value == 0;
  };
  const std::vector<int>& outputs = evaluators.outputs;
  return std::all_of(outputs.begin(), outputs.end(), is_zero_step);
}

std::vector<int> count_uses(const Evaluators& evaluators) {
  std::vector<int> uses(evaluators.steps.size(), 0);
  const auto count = [&](const std::vector<int>& list) {
    for (const int step : list) {
      ++uses[static_cast<std::size_t>(step)];
    }
  };
  for (const Step& step : evaluators.steps) {
    count(step.operands);
  }
  count(evaluators.outputs);
  count(evaluators.neighbour_outputs);
  return uses;
}

std::string variable_name(const FluxRead& read) {
  std::string name;
  for (const char c : read.name) {
    name += c == '[' ? "_" : c == ']' ? "" : std::string(1, c);
  }
  if (read.kind == FluxKind::boundary_value) {
    name += fmt::format("_{}", read.index);
  }
  return name + (read.side == FluxSide::interior   ? "_interior"
                 : read.side == FluxSide::exterior ? "_exterior"
                                                   : "");
}

bool is_linear(const FluxVector& flux) {
  std::map<const FluxNode*, Dependence> known;
  return std::all_of(
      flux.components().begin(), flux.components().end(), [&](const FluxExpr& component) {
        const bool is_zero = component.kind() == FluxKind::constant && component.node().value == 0;
        return is_zero || dependence(component, known) == Dependence::linear;
      });
}

std::optional<std::string> why_not_conservative(const FluxVector& flux) {
  const EvaluatorOptions options;
  Lowering lowering(options);
  const FluxVector flipped = flip(flux);
  for (std::size_t i = 0; i < flux.count(); ++i) {
    const Scaled sum = lowering.sum_of_values(flux.components()[i], flipped.components()[i]);
    if (!sum.is_constant() || sum.factor != 0) {
      return fmt::format("component {}, '{}', is not the opposite of what the neighbour gets", i,
                         to_string(flux.components()[i]));
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::dg
