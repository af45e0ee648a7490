#include "rtcg/dg/flux/step_builder.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace rtcg::dg::detail {

bool StepBuilder::Less::operator()(const Step& left, const Step& right) const {
  const auto key = [](const Step& step) {
    return std::tie(step.kind, step.operands, step.value, step.read.kind, step.read.side,
                    step.read.index, step.read.name, step.function);
  };
  return key(left) < key(right);
}

int StepBuilder::intern(Step step) {
  const auto [place, is_new] = numbers_.try_emplace(step, static_cast<int>(steps_.size()));
  if (is_new) {
    steps_.push_back(std::move(step));
  }
  return place->second;
}

Scaled StepBuilder::read(FluxRead read) {
  Step step{StepKind::read, 0, std::move(read), {}, {}};
  return {1, intern(std::move(step))};
}

int StepBuilder::step_of(Scaled value) {
  if (value.is_constant() || value.factor == 0) {
    return intern({StepKind::constant, value.factor, {}, {}, {}});
  }
  if (value.factor == 1) {
    return value.step;
  }
  if (value.factor == -1) {
    return intern({StepKind::negate, 0, {}, {value.step}, {}});
  }
  // c * a and -c * a are one product
  const auto opposite = numbers_.find({StepKind::constant, -value.factor, {}, {}, {}});
  if (opposite != numbers_.end()) {
    const auto product =
        numbers_.find({StepKind::multiply, 0, {}, {opposite->second, value.step}, {}});
    if (product != numbers_.end()) {
      return intern({StepKind::negate, 0, {}, {product->second}, {}});
    }
  }
  const int factor = intern({StepKind::constant, value.factor, {}, {}, {}});
  return intern({StepKind::multiply, 0, {}, {factor, value.step}, {}});
}

Scaled StepBuilder::scaled_of(int number) const {
  const Step& step = steps_[static_cast<std::size_t>(number)];
  const auto constant = [&](std::size_t operand) {
    const Step& candidate = steps_[static_cast<std::size_t>(step.operands[operand])];
    return candidate.kind == StepKind::constant ? std::optional(candidate.value) : std::nullopt;
  };
  if (step.kind == StepKind::constant) {
    return {step.value, -1};
  }
  if (step.kind == StepKind::negate) {
    const Scaled value = scaled_of(step.operands[0]);
    return {-value.factor, value.step};
  }
  for (const std::size_t operand : {0U, 1U}) {
    if (step.kind == StepKind::multiply && constant(operand)) {
      return {*constant(operand), step.operands[1 - operand]};
    }
  }
  return {1, number};
}

std::vector<Scaled> StepBuilder::terms_of(Scaled sum) const {
  if (sum.is_constant()) {
    return {};
  }
  const Step& step = steps_[static_cast<std::size_t>(sum.step)];
  if (step.kind != StepKind::add && step.kind != StepKind::subtract) {
    return {};
  }
  std::vector<Scaled> terms = {scaled_of(step.operands[0]), scaled_of(step.operands[1])};
  terms[0].factor *= sum.factor;
  terms[1].factor *= step.kind == StepKind::subtract ? -sum.factor : sum.factor;
  return terms;
}

// a - (a + b) is -b, and 2*a - (a + b) is a - b: one sum where there were two. Other multiples of a
// would take a product more.
std::optional<Scaled> StepBuilder::collapsed_into_sum(Scaled part, Scaled sum) {
  const std::vector<Scaled> terms = terms_of(sum);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Scaled& rest = terms[1 - i];
    if (part.is_constant() || terms[i].step != part.step) {
      continue;
    }
    const double factor = terms[i].factor + part.factor;
    if (factor == 0) {
      return rest;
    }
    if (merges_sums_ && !rest.is_constant() && std::abs(factor) == std::abs(rest.factor)) {
      return add({factor, part.step}, rest);
    }
  }
  return std::nullopt;
}

// r*p + r*q and p/r + q/r, where p + q is simpler than p and q.
std::optional<Scaled> StepBuilder::collapsed_products(Scaled left, Scaled right, int depth) {
  const Step l = steps_[static_cast<std::size_t>(left.step)];
  const Step r = steps_[static_cast<std::size_t>(right.step)];
  const auto rest = [&](const Scaled& whole, int operand) {
    const Scaled value = scaled_of(operand);
    return Scaled{whole.factor * value.factor, value.step};
  };
  if (l.kind == StepKind::divide && r.kind == StepKind::divide && l.operands[1] == r.operands[1]) {
    const auto sum = collapsed(rest(left, l.operands[0]), rest(right, r.operands[0]), depth);
    return sum ? std::optional(divide(*sum, {1, l.operands[1]})) : std::nullopt;
  }
  if (l.kind != StepKind::multiply || r.kind != StepKind::multiply) {
    return std::nullopt;
  }
  for (const std::size_t i : {0U, 1U}) {
    for (const std::size_t j : {0U, 1U}) {
      if (l.operands[i] != r.operands[j]) {
        continue;
      }
      if (const auto sum =
              collapsed(rest(left, l.operands[1 - i]), rest(right, r.operands[1 - j]), depth)) {
        return multiply(scaled_of(l.operands[i]), *sum);
      }
    }
  }
  return std::nullopt;
}

std::optional<Scaled> StepBuilder::collapsed(Scaled left, Scaled right, int depth) {
  // parts of parts are looked at, which takes time that grows with a power of the depth
  constexpr int deepest = 5;
  if (left.step == right.step) {
    return add(left, right);
  }
  if (left.is_constant() || right.is_constant() || depth == deepest) {
    return std::nullopt;
  }
  for (const auto& [part, sum] : {std::pair(left, right), std::pair(right, left)}) {
    if (const auto simpler = collapsed_into_sum(part, sum)) {
      return simpler;
    }
  }
  if (!merges_sums_) {
    return std::nullopt;
  }
  if (const auto simpler = collapsed_products(left, right, depth + 1)) {
    return simpler;
  }
  const std::vector<Scaled> l = terms_of(left);
  const std::vector<Scaled> r = terms_of(right);
  for (std::size_t i = 0; i < (l.empty() ? 0 : r.size()); ++i) {
    const auto first = collapsed(l[0], r[i], depth + 1);
    const auto second = collapsed(l[1], r[1 - i], depth + 1);
    if (first && (second || *first == Scaled{})) {
      return add(*first, second ? *second : add(l[1], r[1 - i]));
    }
    if (second && *second == Scaled{}) {
      return add(l[0], r[i]);
    }
  }
  return std::nullopt;
}

Scaled StepBuilder::add(Scaled left, Scaled right) {
  if (left.is_constant() && right.is_constant()) {
    return {left.factor + right.factor, -1};
  }
  if (left.factor == 0) {
    return right;
  }
  if (right.factor == 0) {
    return left;
  }
  if (left.step == right.step) {
    const double factor = left.factor + right.factor;
    return factor == 0 ? Scaled{} : Scaled{factor, left.step};
  }
  if (const auto simpler = collapsed(left, right)) {
    return *simpler;
  }
  // a common factor moves outward; another than the sign is multiplied out here
  double common = std::abs(left.factor);
  if (common != std::abs(right.factor) || left.is_constant() || right.is_constant()) {
    const auto plain = [&](Scaled value) -> Scaled {
      const double sign = value.factor < 0 ? -1 : 1;
      return {sign, step_of({std::abs(value.factor), value.step})};
    };
    left = plain(left);
    right = plain(right);
    common = 1;
  }
  if ((left.factor < 0) == (right.factor < 0)) {
    std::vector<int> operands = {left.step, right.step};
    std::sort(operands.begin(), operands.end());
    return {left.factor < 0 ? -common : common,
            intern({StepKind::add, 0, {}, std::move(operands), {}})};
  }
  // a - b and b - a are one step, whichever comes first
  const auto reversed = numbers_.find({StepKind::subtract, 0, {}, {right.step, left.step}, {}});
  double factor = left.factor < 0 ? -common : common;
  if (reversed != numbers_.end()) {
    return {-factor, reversed->second};
  }
  if (left.factor < 0 &&
      !numbers_.contains({StepKind::subtract, 0, {}, {left.step, right.step}, {}})) {
    factor = common;
    std::swap(left, right);
  }
  return {factor, intern({StepKind::subtract, 0, {}, {left.step, right.step}, {}})};
}

Scaled StepBuilder::multiply(Scaled left, Scaled right) {
  const double factor = left.factor * right.factor;
  if (factor == 0) {
    return {};
  }
  if (left.is_constant() || right.is_constant()) {
    return {factor, std::max(left.step, right.step)};
  }
  // r * (m / r) is m
  for (const auto& [number, quotient] : {std::pair(left, right), std::pair(right, left)}) {
    const Step& step = steps_[static_cast<std::size_t>(quotient.step)];
    if (step.kind == StepKind::divide && step.operands[1] == number.step) {
      const Scaled dividend = scaled_of(step.operands[0]);
      return {factor * dividend.factor, dividend.step};
    }
  }
  std::vector<int> operands = {left.step, right.step};
  std::sort(operands.begin(), operands.end());
  return {factor, intern({StepKind::multiply, 0, {}, std::move(operands), {}})};
}

Scaled StepBuilder::divide(Scaled left, Scaled right) {
  if (left.factor == 0) {
    return {};
  }
  const double factor = left.factor / right.factor;
  if (right.is_constant() || left.step == right.step) {
    return {factor, right.is_constant() ? left.step : -1};
  }
  // (r * m) / r is m
  if (!left.is_constant()) {
    const Step& step = steps_[static_cast<std::size_t>(left.step)];
    for (const std::size_t operand : {0U, 1U}) {
      if (step.kind == StepKind::multiply && step.operands[operand] == right.step) {
        const Scaled rest = scaled_of(step.operands[1 - operand]);
        return {factor * rest.factor, rest.step};
      }
    }
  }
  if (left.is_constant()) {
    const int dividend = step_of({std::abs(factor), -1});
    return {factor < 0 ? -1.0 : 1.0, intern({StepKind::divide, 0, {}, {dividend, right.step}, {}})};
  }
  return {factor, intern({StepKind::divide, 0, {}, {left.step, right.step}, {}})};
}

Scaled StepBuilder::extremum(StepKind kind, Scaled left, Scaled right) {
  const auto pick = [&](double l, double r) {
    return kind == StepKind::minimum ? std::min(l, r) : std::max(l, r);
  };
  if (left == right) {
    return left;
  }
  if (left.is_constant() && right.is_constant()) {
    return {pick(left.factor, right.factor), -1};
  }
  double factor = 1;
  if (left.factor == right.factor && !left.is_constant() && !right.is_constant()) {
    factor = left.factor;
    left.factor = right.factor = 1;
    if (factor < 0) {
      kind = kind == StepKind::minimum ? StepKind::maximum : StepKind::minimum;
    }
  }
  std::vector<int> operands = {step_of(left), step_of(right)};
  std::sort(operands.begin(), operands.end());
  return {factor, intern({kind, 0, {}, std::move(operands), {}})};
}

Scaled StepBuilder::minimum(Scaled left, Scaled right) {
  return extremum(StepKind::minimum, left, right);
}
Scaled StepBuilder::maximum(Scaled left, Scaled right) {
  return extremum(StepKind::maximum, left, right);
}

Scaled StepBuilder::absolute(Scaled value) {
  const double factor = std::abs(value.factor);
  if (value.is_constant()) {
    return {factor, -1};
  }
  const StepKind kind = steps_[static_cast<std::size_t>(value.step)].kind;
  if (kind == StepKind::absolute || kind == StepKind::square_root) {
    return {factor, value.step};
  }
  return {factor, intern({StepKind::absolute, 0, {}, {value.step}, {}})};
}

Scaled StepBuilder::square_root(Scaled value) {
  if (value.is_constant()) {
    return {std::sqrt(value.factor), -1};
  }
  return {1, intern({StepKind::square_root, 0, {}, {step_of(value)}, {}})};
}

Scaled StepBuilder::integer_power(Scaled base, int exponent) {
  if (exponent == 1) {
    return base;
  }
  const Scaled half = integer_power(base, exponent / 2);
  const Scaled square = multiply(half, half);
  return exponent % 2 == 0 ? square : multiply(square, base);
}

Scaled StepBuilder::power(Scaled base, Scaled exponent) {
  constexpr double largest_unrolled = 16;
  if (exponent.is_constant()) {
    const double value = exponent.factor;
    if (value == 0) {
      return {1, -1};
    }
    if (base.is_constant()) {
      return {std::pow(base.factor, value), -1};
    }
    if (value == 0.5) {
      return square_root(base);
    }
    if (value == std::floor(value) && std::abs(value) <= largest_unrolled) {
      const Scaled positive = integer_power(base, static_cast<int>(std::abs(value)));
      return value < 0 ? divide({1, -1}, positive) : positive;
    }
  }
  const int base_step = step_of(base);
  return {1, intern({StepKind::power, 0, {}, {base_step, step_of(exponent)}, {}})};
}

Scaled StepBuilder::if_positive(Scaled condition, Scaled then_value, Scaled else_value) {
  if (condition.is_constant()) {
    return condition.factor > 0 ? then_value : else_value;
  }
  if (then_value == else_value) {
    return then_value;
  }
  double factor = 1;
  if (then_value.factor == else_value.factor && !then_value.is_constant() &&
      !else_value.is_constant()) {
    factor = then_value.factor;
    then_value.factor = else_value.factor = 1;
  }
  const int condition_step = step_of({condition.factor < 0 ? -1.0 : 1.0, condition.step});
  const int then_step = step_of(then_value);
  const int else_step = step_of(else_value);
  return {factor,
          intern({StepKind::if_positive, 0, {}, {condition_step, then_step, else_step}, {}})};
}

Scaled StepBuilder::user_function(const std::string& name, const std::vector<Scaled>& arguments) {
  std::vector<int> operands;
  operands.reserve(arguments.size());
  for (const Scaled& argument : arguments) {
    operands.push_back(step_of(argument));
  }
  return {1, intern({StepKind::user_function, 0, {}, std::move(operands), name})};
}

bool StepBuilder::are_two_sides(int left, int right) const {
  const Step& l = steps_[static_cast<std::size_t>(left)];
  const Step& r = steps_[static_cast<std::size_t>(right)];
  return l.kind == StepKind::read && r.kind == StepKind::read && l.read.kind == r.read.kind &&
         l.read.index == r.read.index && l.read.name == r.read.name && l.read.side != r.read.side;
}

// left + right, where they are c * interior and -c * exterior of one thing, or simpler than both.
std::optional<Scaled> StepBuilder::paired(const Scaled& left, const Scaled& right) {
  if (left.is_constant() || right.is_constant()) {
    return std::nullopt;
  }
  if (const auto simpler = collapsed(left, right)) {
    return simpler;
  }
  if (left.factor != -right.factor) {
    return std::nullopt;
  }
  if (are_two_sides(left.step, right.step)) {
    return add(left, right);
  }
  const Step l = steps_[static_cast<std::size_t>(left.step)];
  const Step r = steps_[static_cast<std::size_t>(right.step)];
  if (l.kind != StepKind::multiply || r.kind != StepKind::multiply) {
    return std::nullopt;
  }
  for (const std::size_t i : {0U, 1U}) {
    for (const std::size_t j : {0U, 1U}) {
      if (l.operands[i] == r.operands[j] && are_two_sides(l.operands[1 - i], r.operands[1 - j])) {
        const Scaled difference = subtract({1, l.operands[1 - i]}, {1, r.operands[1 - j]});
        return multiply({left.factor, l.operands[i]}, difference);
      }
    }
  }
  return std::nullopt;
}

std::optional<Scaled> StepBuilder::sum_with_jumps(std::vector<Scaled> terms) {
  const std::size_t count = terms.size();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      if (const std::optional<Scaled> pair = paired(terms[i], terms[j])) {
        terms[i] = *pair;
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(j));
        break;
      }
    }
  }
  if (terms.size() == count) {
    return std::nullopt;
  }
  Scaled total;
  for (const Scaled& term : terms) {
    total = add(total, term);
  }
  return total;
}

}  // namespace rtcg::dg::detail
