#include "rtcg/loopy/polyhedral/set_union.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_values = 16;

/// c*l + e = 0 says that c divides e and that l is -e/c.
ConstraintSet without_defined(const ConstraintSet& set, const std::string& name,
                              const Constraint& definition) {
  const std::int64_t signed_factor = definition.expr.coefficient(name);
  const std::int64_t factor = std::abs(signed_factor);
  const Affine scaled_value =  // factor * l
      definition.expr.substitute(name, 0) * (signed_factor > 0 ? -1 : 1);
  ConstraintSet result;
  if (factor > 1) {
    result.add(Congruence{scaled_value, factor});
  }
  for (const Constraint& constraint : set.constraints()) {
    const std::int64_t multiple = constraint.expr.coefficient(name);
    const Affine others = constraint.expr.substitute(name, 0);
    if (&constraint != &definition) {
      result.add(multiple == 0 ? constraint
                               : Constraint{others * factor + scaled_value * multiple,
                                            constraint.is_equality});
    }
  }
  for (const Congruence& congruence : set.congruences()) {
    const std::int64_t multiple = congruence.expr.coefficient(name);
    const Affine others = congruence.expr.substitute(name, 0);
    result.add(multiple == 0 ? congruence
                             : Congruence{others * factor + scaled_value * multiple,
                                          congruence.modulus * factor});
  }
  return result;
}

const Constraint* find_definition(const ConstraintSet& set, const std::string& name) {
  const Constraint* definition = nullptr;
  for (const Constraint& constraint : set.constraints()) {
    const std::int64_t factor = std::abs(constraint.expr.coefficient(name));
    if (constraint.is_equality && factor != 0 &&
        (definition == nullptr || factor < std::abs(definition->expr.coefficient(name)))) {
      definition = &constraint;
    }
  }
  return definition;
}

/// What remains of inequalities, where the real numbers between the bounds always hold an integer.
/// @source Pugh 1991, The Omega test: the dark shadow
std::optional<ConstraintSet> find_shadow(const ConstraintSet& set, const std::string& name) {
  ConstraintSet result;
  std::vector<Affine> lower;
  std::vector<Affine> upper;
  for (const Congruence& each : set.congruences()) {
    if (each.expr.coefficient(name) != 0) {
      return std::nullopt;
    }
    result.add(each);
  }
  for (const Constraint& each : set.constraints()) {
    const std::int64_t factor = each.expr.coefficient(name);
    if (factor == 0) {
      result.add(each);
    } else {
      (factor > 0 ? lower : upper).push_back(each.expr);
    }
  }
  std::vector<Affine> narrow;
  for (const Affine& low : lower) {
    for (const Affine& high : upper) {
      const std::int64_t a = low.coefficient(name);
      const std::int64_t b = -high.coefficient(name);
      const Affine gap = high.substitute(name, 0) * a + low.substitute(name, 0) * b;
      result.add_nonnegative(gap);
      narrow.push_back(gap - (a - 1) * (b - 1));
    }
  }
  const bool is_exact = std::all_of(narrow.begin(), narrow.end(), [&](const Affine& each) {
    return result.implies_nonnegative(each);
  });
  return is_exact ? std::optional(std::move(result)) : std::nullopt;
}

/// Constraints without `name`, one of the set for each remainder that the part which bounds it
/// from both sides by the same multiple has: `d*l <= e <= d*l + w`.
std::optional<SetUnion> find_remainders(const ConstraintSet& set, const std::string& name) {
  for (const Constraint& low : set.constraints()) {
    const std::int64_t factor = -low.expr.coefficient(name);
    if (factor <= 1 || low.is_equality) {
      continue;
    }
    const Affine value = low.expr.substitute(name, 0);  // value - factor * l >= 0
    const auto most = set.maximum(low.expr);
    if (!most || *most >= most_values) {
      continue;
    }
    SetUnion result;
    for (std::int64_t remainder = 0; remainder <= *most; ++remainder) {
      ConstraintSet part = set;
      part.add_zero(low.expr - remainder);
      const std::vector<Constraint>& all = part.constraints();
      part = without_defined(part, name, *std::find_if(all.begin(), all.end(), [&](const auto& c) {
                               return c.is_equality && c.expr == low.expr - remainder;
                             }));
      if (!part.is_empty()) {
        result.push_back(part.without_redundancies());
      }
    }
    return result;
  }
  return std::nullopt;
}

std::optional<SetUnion> find_values(const ConstraintSet& set, const std::string& name) {
  const auto [first, last] = range_of(set, Affine(name));
  if (!first || !last || *last - *first >= most_values) {
    return std::nullopt;
  }
  SetUnion result;
  for (std::int64_t value = *first; value <= *last; ++value) {
    ConstraintSet part = set.substitute(name, Affine(value));
    if (!part.is_empty()) {
      result.push_back(std::move(part));
    }
  }
  return result;
}

/// Constraints without `name`, whose multiple has a remainder, `c*l + e = 0 mod m` with c prime to
/// m, and whose bounds have no factors: where m integers are between all of them, one of these has
/// the remainder; elsewhere it is one of the m - 1 that follow a lower bound.
std::optional<SetUnion> find_with_remainder(const ConstraintSet& set, const std::string& name) {
  std::vector<Affine> lower;  // l - low >= 0
  std::vector<Affine> upper;
  ConstraintSet others;
  const Congruence* own = nullptr;
  for (const Congruence& each : set.congruences()) {
    const std::int64_t factor = each.expr.coefficient(name);
    if (factor == 0) {
      others.add(each);
    } else if (own != nullptr || std::gcd(factor, each.modulus) != 1 ||
               each.modulus > most_values) {
      return std::nullopt;
    } else {
      own = &each;
    }
  }
  for (const Constraint& each : set.constraints()) {
    const std::int64_t factor = each.expr.coefficient(name);
    if (factor == 0) {
      others.add(each);
    } else if (each.is_equality || std::abs(factor) != 1) {
      return std::nullopt;
    } else {
      (factor > 0 ? lower : upper).push_back(each.expr);
    }
  }
  if (own == nullptr) {
    return std::nullopt;
  }
  ConstraintSet with_room = others;
  for (const Affine& low : lower) {
    for (const Affine& high : upper) {
      with_room.add_nonnegative(low + high - (own->modulus - 1));
    }
  }
  SetUnion result;
  const auto add = [&](ConstraintSet part) {
    if (!part.is_empty()) {
      result.push_back(part.without_redundancies());
    }
  };
  add(std::move(with_room));
  for (const Affine& low : upper.empty() ? std::vector<Affine>() : lower) {
    for (std::int64_t distance = 0; distance + 1 < own->modulus; ++distance) {
      add(set.substitute(name, Affine(distance) - low.substitute(name, 0)));
    }
  }
  return result;
}

/// What does not meet the constraint, in parts that share no point.
std::vector<Constraint> opposites(const Constraint& constraint) {
  if (constraint.is_equality) {
    return {{constraint.expr - 1, false}, {-constraint.expr - 1, false}};
  }
  return {{-constraint.expr - 1, false}};
}

SetUnion difference(const ConstraintSet& set, const ConstraintSet& removed) {
  ConstraintSet both = set;
  both.add(removed);
  if (both.is_empty()) {
    return {set};
  }
  SetUnion parts;
  ConstraintSet met = set;
  const auto add = [&](const auto& opposite) {
    ConstraintSet part = met;
    part.add(opposite);
    if (!part.is_empty()) {
      parts.push_back(part.without_redundancies());
    }
  };
  for (const Constraint& each : removed.constraints()) {
    for (const Constraint& opposite : opposites(each)) {
      add(opposite);
    }
    met.add(each);
  }
  for (const Congruence& each : removed.congruences()) {
    for (std::int64_t remainder = 1; remainder < each.modulus; ++remainder) {
      add(Congruence{each.expr - remainder, each.modulus});
    }
    met.add(each);
  }
  return parts;
}

}  // namespace

SetUnion intersection(const SetUnion& left, const SetUnion& right) {
  SetUnion result;
  for (const ConstraintSet& l : left) {
    for (const ConstraintSet& r : right) {
      ConstraintSet both = l;
      both.add(r);
      result.push_back(std::move(both));
    }
  }
  return result;
}

SetUnion disjoint_parts(const SetUnion& all) {
  SetUnion result;
  for (const ConstraintSet& each : all) {
    SetUnion rest = {each};
    for (const ConstraintSet& earlier : result) {
      SetUnion smaller;
      for (const ConstraintSet& part : rest) {
        const SetUnion parts = difference(part, earlier);
        smaller.insert(smaller.end(), parts.begin(), parts.end());
      }
      rest = std::move(smaller);
    }
    if (result.empty() || !each.is_empty()) {
      result.insert(result.end(), rest.begin(), rest.end());
    }
  }
  return result;
}

std::optional<SetUnion> without_existing(const ConstraintSet& set, const std::string& name) {
  if (!set.mentions(name)) {
    return SetUnion{set};
  }
  if (const Constraint* definition = find_definition(set, name)) {
    return SetUnion{without_defined(set, name, *definition)};
  }
  if (std::optional<ConstraintSet> shadow = find_shadow(set, name)) {
    return SetUnion{std::move(*shadow)};
  }
  if (auto remainders = find_remainders(set, name)) {
    return remainders;
  }
  if (auto values = find_values(set, name)) {
    return values;
  }
  return find_with_remainder(set, name);
}

}  // namespace rtcg::loopy
