#include "rtcg/loopy/polyhedral/constraint_set.h"

#include <algorithm>

#include "rtcg/loopy/polyhedral/elimination.h"
#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

/// Divided by the common divisor of its coefficients; as it is where that would lose something.
Constraint tightened(Constraint constraint) {
  const std::int64_t gcd = constraint.expr.coefficient_gcd();
  if (gcd > 1 && (!constraint.is_equality || constraint.expr.constant() % gcd == 0)) {
    constraint.expr = constraint.expr.divided_rounding_down(gcd);
  }
  return constraint;
}

void add_names(const Affine& expr, std::vector<std::string>& names) {
  for (const Affine::Term& term : expr.terms()) {
    if (std::find(names.begin(), names.end(), term.name) == names.end()) {
      names.push_back(term.name);
    }
  }
}

/// Affine::has_same_terms, with the frequent "no" found here.
bool have_same_terms(const Affine& one, const Affine& other) {
  const Affine::Terms terms = one.terms();
  const Affine::Terms others = other.terms();
  return terms.size() == others.size() &&
         (terms.empty() || terms.front().coefficient == others.front().coefficient) &&
         one.has_same_terms(other);
}

/// Whether the constraints say it already, the one with its terms made as sharp as it is.
bool is_covered(std::vector<Constraint>& constraints, const Constraint& constraint) {
  for (Constraint& known : constraints) {
    if (known.is_equality == constraint.is_equality &&
        have_same_terms(known.expr, constraint.expr)) {
      if (known.expr.constant() <= constraint.expr.constant() && !known.is_equality) {
        return true;
      }
      if (!known.is_equality || known == constraint) {
        known = constraint;
        return true;
      }
    }
  }
  return false;
}

/// The smallest value of `term` by the constraints that speak of its name alone.
std::optional<std::int64_t> smallest_alone(const std::vector<Constraint>& constraints,
                                           const Affine::Term& term) {
  std::optional<std::int64_t> smallest;
  for (const Constraint& each : constraints) {
    const Affine::Terms terms = each.expr.terms();
    if (terms.size() != 1 || terms.front().name != term.name ||
        terms.front().coefficient == INT64_MIN || each.expr.constant() == INT64_MIN ||
        (!each.is_equality && (terms.front().coefficient > 0) != (term.coefficient > 0))) {
      continue;
    }
    const std::int64_t sign = terms.front().coefficient > 0 ? 1 : -1;
    const std::int64_t coefficient = terms.front().coefficient * sign;
    const std::int64_t constant = -each.expr.constant() * sign;  // of coefficient * name
    const std::int64_t bound = term.coefficient > 0 ? divide_rounding_up(constant, coefficient)
                                                    : divide_rounding_down(constant, coefficient);
    std::int64_t value = 0;
    if (!__builtin_mul_overflow(bound, term.coefficient, &value)) {
      smallest = std::max(smallest.value_or(value), value);
    }
  }
  return smallest;
}

/// Whether `expr >= 0` follows from the ranges of its names.
bool follows_from_ranges(const std::vector<Constraint>& constraints, const Affine& expr) {
  std::int64_t least = expr.constant();
  for (const Affine::Term& term : expr.terms()) {
    const auto smallest = smallest_alone(constraints, term);
    if (!smallest || __builtin_add_overflow(least, *smallest, &least)) {
      return false;
    }
  }
  return least >= 0;
}

/// Whether each constraint on a name of `expr` speaks of that name alone, and leaves it values.
bool are_names_alone(const ConstraintSet& set, const Affine& expr) {
  const auto has_other = [&](const Affine& each, std::size_t most_names) {
    return each.is_constant() ||
           (each.terms().size() > most_names &&
            std::any_of(each.terms().begin(), each.terms().end(), [&](const Affine::Term& term) {
              return expr.coefficient(term.name) != 0;
            }));
  };
  return std::none_of(set.constraints().begin(), set.constraints().end(),
                      [&](const Constraint& each) { return has_other(each.expr, 1); }) &&
         std::none_of(set.congruences().begin(), set.congruences().end(),
                      [&](const Congruence& each) { return has_other(each.expr, 0); }) &&
         std::all_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
           const auto least = smallest_alone(set.constraints(), {term.name, 1});
           const auto negative = smallest_alone(set.constraints(), {term.name, -1});
           return !least || !negative || *least <= -*negative;
         });
}

/// Whether the sum is a constant, and not negative.
bool is_nonnegative_sum(const Affine& one, const Affine& other) {
  std::int64_t constant = 0;
  return one.terms().size() == other.terms().size() &&
         std::equal(one.terms().begin(), one.terms().end(), other.terms().begin(),
                    [](const Affine::Term& left, const Affine::Term& right) {
                      return left.coefficient == -right.coefficient && left.name == right.name;
                    }) &&
         !__builtin_add_overflow(one.constant(), other.constant(), &constant) && constant >= 0;
}

std::vector<std::size_t> columns_of(const Affine& expr, Elimination& elimination) {
  std::vector<std::size_t> columns;
  columns.reserve(expr.terms().size());
  for (const Affine::Term& term : expr.terms()) {
    columns.push_back(elimination.column_of(term.name));
  }
  return columns;
}

using IntegerRange = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;

/// bounds_of where `expr` has a single name, and no constraint ties it to others.
std::optional<IntegerRange> range_alone(const ConstraintSet& set, const Affine& expr) {
  if (expr.terms().size() != 1 || std::abs(expr.terms().front().coefficient) != 1) {
    return std::nullopt;
  }
  const Affine::Term& term = expr.terms().front();
  const auto is_tied = [&](const Affine& each) {
    return each.terms().size() != 1 && (each.is_constant() || each.coefficient(term.name) != 0);
  };
  const bool has_ties =
      std::any_of(set.constraints().begin(), set.constraints().end(),
                  [&](const Constraint& each) { return is_tied(each.expr); }) ||
      std::any_of(set.congruences().begin(), set.congruences().end(),
                  [&](const Congruence& each) { return each.expr.coefficient(term.name) != 0; });
  if (has_ties) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> least = smallest_alone(set.constraints(), term);
  const std::optional<std::int64_t> negative =
      smallest_alone(set.constraints(), {term.name, -term.coefficient});
  IntegerRange range = {least, negative};
  if ((least && __builtin_add_overflow(*least, expr.constant(), &*range.first)) ||
      (negative && __builtin_sub_overflow(expr.constant(), *negative, &*range.second))) {
    return std::nullopt;
  }
  return range;
}

/// The tightest bounds `expr` can have: smallest and largest value.
IntegerRange bounds_of(const ConstraintSet& set, const Affine& expr) {
  const std::string value = "=";  // no name of a kernel
  const Constraint definition{Affine(value) - expr, true};
  Elimination elimination(set);
  elimination.add(definition);
  const std::size_t column = elimination.column_of(value);
  elimination.keep_connected_to({column});
  elimination.eliminate_all_but({column});
  IntegerRange bounds;
  if (elimination.is_contradictory()) {
    return bounds;  // no points; the rows still have other names
  }
  for (const Constraint& constraint : elimination.named_constraints()) {
    const std::int64_t coefficient = constraint.expr.coefficient(value);
    const std::int64_t constant = constraint.expr.constant();
    if (coefficient > 0 || constraint.is_equality) {
      const std::int64_t low =
          divide_rounding_up(-constant * (coefficient > 0 ? 1 : -1), std::abs(coefficient));
      bounds.first = std::max(bounds.first.value_or(low), low);
    }
    if (coefficient < 0 || constraint.is_equality) {
      const std::int64_t high =
          divide_rounding_down(constant * (coefficient < 0 ? 1 : -1), std::abs(coefficient));
      bounds.second = std::min(bounds.second.value_or(high), high);
    }
  }
  return bounds;
}

}  // namespace

void ConstraintSet::add(Constraint constraint) {
  constraint = tightened(std::move(constraint));
  if (constraint.expr.is_constant() && (constraint.is_equality ? constraint.expr.constant() == 0
                                                               : constraint.expr.constant() >= 0)) {
    return;
  }
  if (!is_covered(constraints_, constraint)) {
    constraints_.push_back(std::move(constraint));
  }
}

void ConstraintSet::add(Congruence congruence) {
  if (congruence.modulus <= 1 ||
      std::find(congruences_.begin(), congruences_.end(), congruence) != congruences_.end()) {
    return;
  }
  congruences_.push_back(std::move(congruence));
}

void ConstraintSet::add(const ConstraintSet& other) {
  if (is_unconstrained()) {
    *this = other;
    return;
  }
  const std::size_t most = constraints_.size() + other.constraints_.size();
  if (most > constraints_.capacity()) {
    constraints_.reserve(std::max(most, 2 * constraints_.capacity()));  // more sets may follow
  }
  for (const Constraint& constraint : other.constraints_) {
    if (!is_covered(constraints_, constraint)) {
      constraints_.push_back(constraint);
    }
  }
  for (const Congruence& congruence : other.congruences_) {
    add(congruence);
  }
}

std::vector<std::string> ConstraintSet::names() const {
  std::vector<std::string> names;
  for (const Constraint& constraint : constraints_) {
    add_names(constraint.expr, names);
  }
  for (const Congruence& congruence : congruences_) {
    add_names(congruence.expr, names);
  }
  return names;
}

bool ConstraintSet::mentions(std::string_view name) const {
  const auto has_name = [&](const auto& each) { return each.expr.coefficient(name) != 0; };
  return std::any_of(constraints_.begin(), constraints_.end(), has_name) ||
         std::any_of(congruences_.begin(), congruences_.end(), has_name);
}

bool ConstraintSet::implies_nonnegative(const Affine& expr) const {
  if (expr.is_constant()) {
    return expr.constant() >= 0 || is_empty();
  }
  // the common case: the set has the constraint, as sharp or sharper
  for (const Constraint& known : constraints_) {
    const bool is_as_sharp =
        known.expr.constant() <= expr.constant() && have_same_terms(known.expr, expr);
    if (is_as_sharp || (known.is_equality && is_nonnegative_sum(known.expr, expr))) {
      return true;
    }
  }
  if (follows_from_ranges(constraints_, expr)) {
    return true;
  }
  if (are_names_alone(*this, expr)) {
    return false;  // each name takes the ends of its range, whatever the others are
  }
  const Constraint negative{Affine(-1) - expr, false};
  Elimination elimination(*this);
  elimination.add(negative);
  elimination.keep_connected_to(columns_of(expr, elimination));
  elimination.eliminate_all_but({});
  return elimination.is_contradictory();
}

bool ConstraintSet::implies(const Constraint& constraint) const {
  return implies_nonnegative(constraint.expr) &&
         (!constraint.is_equality || implies_nonnegative(-constraint.expr));
}

bool ConstraintSet::implies(const Congruence& congruence) const {
  const auto reduced = [&](const Affine& expr) {
    Affine rest(((expr.constant() % congruence.modulus) + congruence.modulus) % congruence.modulus);
    for (const Affine::Term& term : expr.terms()) {
      rest = rest + Affine(term.name, term.coefficient % congruence.modulus);
    }
    return rest;
  };
  Affine rest = reduced(congruence.expr);
  for (const Congruence& known : congruences_) {
    if (known.modulus % congruence.modulus == 0) {
      for (const std::int64_t factor : {1, -1}) {
        if (reduced(rest - known.expr * factor) == Affine(0)) {
          return true;
        }
      }
    }
  }
  return rest == Affine(0);
}

bool ConstraintSet::is_empty() const {
  Elimination elimination(*this);
  elimination.eliminate_all_but({});
  return elimination.is_contradictory();
}

IntegerRange range_of(const ConstraintSet& set, const Affine& expr) {
  if (expr.is_constant()) {
    return {expr.constant(), expr.constant()};
  }
  const std::optional<IntegerRange> alone = range_alone(set, expr);
  return alone ? *alone : bounds_of(set, expr);
}

std::optional<std::int64_t> ConstraintSet::minimum(const Affine& expr) const {
  return range_of(*this, expr).first;
}

std::optional<std::int64_t> ConstraintSet::maximum(const Affine& expr) const {
  return range_of(*this, expr).second;
}

ConstraintSet ConstraintSet::project_out(const std::vector<std::string>& names) const {
  ConstraintSet constraints_only;
  constraints_only.constraints_ = constraints_;
  Elimination elimination(constraints_only);
  std::vector<std::size_t> kept;
  for (const std::string& name : constraints_only.names()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      kept.push_back(elimination.column_of(name));
    }
  }
  elimination.eliminate_all_but(kept);
  ConstraintSet result;
  if (elimination.is_contradictory()) {
    // the elimination has stopped half-way: its rows still have the names
    result.constraints_.push_back({Affine(-1), false});
    return result;
  }
  std::vector<Constraint> left = elimination.named_constraints();
  result.constraints_.reserve(left.size());
  for (Constraint& constraint : left) {
    result.add(std::move(constraint));
  }
  for (const Congruence& congruence : congruences_) {
    const bool is_kept = std::none_of(names.begin(), names.end(), [&](const std::string& name) {
      return congruence.expr.coefficient(name) % congruence.modulus != 0;
    });
    if (is_kept) {
      Congruence without = congruence;
      for (const std::string& name : names) {
        without.expr = without.expr.substitute(name, 0);
      }
      result.add(std::move(without));
    }
  }
  return result;
}

ConstraintSet ConstraintSet::substitute(std::string_view name, const Affine& value) const {
  ConstraintSet result;
  result.constraints_.reserve(constraints_.size());
  for (const Constraint& constraint : constraints_) {
    result.add(Constraint{constraint.expr.substitute(name, value), constraint.is_equality});
  }
  for (const Congruence& congruence : congruences_) {
    result.add(Congruence{congruence.expr.substitute(name, value), congruence.modulus});
  }
  return result;
}

ConstraintSet ConstraintSet::rename(
    const std::function<std::string(const std::string&)>& new_name) const {
  ConstraintSet result;
  result.constraints_.reserve(constraints_.size());
  for (const Constraint& constraint : constraints_) {
    result.add(Constraint{constraint.expr.rename(new_name), constraint.is_equality});
  }
  for (const Congruence& congruence : congruences_) {
    result.add(Congruence{congruence.expr.rename(new_name), congruence.modulus});
  }
  return result;
}

ConstraintSet ConstraintSet::without_redundancies() const {
  ConstraintSet result = *this;
  for (std::size_t i = result.constraints_.size(); i-- > 0;) {
    ConstraintSet others = result;
    others.constraints_.erase(others.constraints_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!result.constraints_[i].is_equality && others.implies(result.constraints_[i])) {
      result = std::move(others);
    }
  }
  return result;
}

}  // namespace rtcg::loopy
