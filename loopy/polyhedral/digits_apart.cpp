#include "rtcg/loopy/polyhedral/digits_apart.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

/// Bounds of single names, by the constraints that mention one name alone.
class Box {
 public:
  explicit Box(const ConstraintSet& set) {
    for (const Constraint& each : set.constraints()) {
      if (each.expr.terms().size() != 1 || std::abs(each.expr.terms().front().coefficient) != 1) {
        continue;
      }
      const Affine::Term& term = each.expr.terms().front();
      const std::int64_t bound = -each.expr.constant() * term.coefficient;
      Range& range = ranges_[term.name];
      if (each.is_equality || term.coefficient == 1) {
        range.first = std::max(range.first.value_or(bound), bound);
      }
      if (each.is_equality || term.coefficient == -1) {
        range.last = std::min(range.last.value_or(bound), bound);
      }
    }
  }

  void set_range(const std::string& name, std::int64_t first, std::int64_t last) {
    ranges_[name] = {first, last};
  }

  /// Whether the box alone says that the value is greater than -limit and less than limit.
  [[nodiscard]] bool keeps_within(const Affine& expr, std::int64_t limit) const {
    std::int64_t least = expr.constant();
    std::int64_t most = expr.constant();
    for (const Affine::Term& term : expr.terms()) {
      const auto found = ranges_.find(term.name);
      if (found == ranges_.end() || !found->second.first || !found->second.last) {
        return false;
      }
      std::int64_t first = 0;
      std::int64_t last = 0;
      if (__builtin_mul_overflow(term.coefficient, *found->second.first, &first) ||
          __builtin_mul_overflow(term.coefficient, *found->second.last, &last) ||
          __builtin_add_overflow(least, std::min(first, last), &least) ||
          __builtin_add_overflow(most, std::max(first, last), &most)) {
        return false;
      }
    }
    return least > -limit && most < limit;
  }

 private:
  struct Range {
    std::optional<std::int64_t> first{};
    std::optional<std::int64_t> last{};
  };
  std::map<std::string, Range, std::less<>> ranges_{};
};

/// `of - modulus * quotient`, which is from 0 to modulus - 1.
struct Remainder {
  std::string quotient{};
  Affine of{};
  std::int64_t modulus = 0;

  [[nodiscard]] Affine value() const { return of - Affine(quotient, modulus); }
  /// A name that no iname has.
  [[nodiscard]] std::string name() const { return "%" + quotient; }
};

/// Whether `one + other` is a constant.
bool are_opposite(const Affine& one, const Affine& other) {
  return std::equal(one.terms().begin(), one.terms().end(), other.terms().begin(),
                    other.terms().end(), [](const Affine::Term& a, const Affine::Term& b) {
                      return a.coefficient == -b.coefficient && a.name == b.name;
                    });
}

/// Those of quotients that two constraints of the set bound, each with its own name.
std::vector<Remainder> find_remainders(const ConstraintSet& set) {
  std::vector<Remainder> remainders;
  for (const Constraint& low : set.constraints()) {
    const auto may_be_quotient = [](const Affine::Term& term) { return term.coefficient < -1; };
    if (low.is_equality || low.expr.terms().size() < 2 ||
        std::none_of(low.expr.terms().begin(), low.expr.terms().end(), may_be_quotient)) {
      continue;
    }
    for (const Constraint& high : set.constraints()) {
      std::int64_t modulus = 1;
      if (high.is_equality || !are_opposite(low.expr, high.expr) ||
          __builtin_add_overflow(low.expr.constant(), high.expr.constant(), &modulus) ||
          __builtin_add_overflow(modulus, 1, &modulus) || modulus < 2) {
        continue;
      }
      for (const Affine::Term& term : low.expr.terms()) {
        if (term.coefficient != -modulus) {
          continue;
        }
        const bool is_known =
            std::any_of(remainders.begin(), remainders.end(),
                        [&](const Remainder& each) { return each.quotient == term.name; });
        if (!is_known) {
          remainders.push_back({term.name, low.expr + Affine(term.name, modulus), modulus});
        }
      }
    }
  }
  return remainders;
}

/// With remainders in place of what they are made of, where that is shorter.
Affine with_remainders(Affine expr, const std::vector<Remainder>& remainders) {
  for (bool is_shorter = true; is_shorter;) {
    is_shorter = false;
    for (const Remainder& each : remainders) {
      const std::int64_t coefficient = expr.coefficient(each.quotient);
      if (coefficient == 0 || coefficient % each.modulus != 0) {
        continue;
      }
      const std::int64_t factor = -coefficient / each.modulus;
      Affine other = expr - each.value() * factor + Affine(each.name(), factor);
      if (other.terms().size() < expr.terms().size()) {
        expr = std::move(other);
        is_shorter = true;
      }
    }
  }
  return expr;
}

/// With quotients and remainders in place of names that quotients are of, where these are there,
/// too: `8 q + x` with q = x // 8 is `16 q + x % 8`.
Affine with_names_apart(Affine expr, const std::vector<Remainder>& remainders) {
  for (const Remainder& each : remainders) {
    const Affine::Terms terms = each.of.terms();
    const auto name = std::find_if(terms.begin(), terms.end(), [&](const Affine::Term& term) {
      return term.coefficient == 1 && expr.coefficient(term.name) != 0;
    });
    if (name != terms.end() && expr.coefficient(each.quotient) != 0) {
      const std::int64_t coefficient = expr.coefficient(name->name);
      expr = expr - each.value() * coefficient + Affine(each.name(), coefficient);
    }
  }
  return expr;
}

Affine without_remainders(Affine expr, const std::vector<Remainder>& remainders) {
  for (const Remainder& each : remainders) {
    if (expr.coefficient(each.name()) != 0) {
      expr = expr.substitute(each.name(), each.value());
    }
  }
  return expr;
}

/// `x // a // b` is `x // (a*b)`: what quotients of quotients are equal to.
std::vector<Affine> equal_quotients(const std::vector<Remainder>& remainders) {
  const auto find = [&](const std::string& quotient) {
    return std::find_if(remainders.begin(), remainders.end(),
                        [&](const Remainder& each) { return each.quotient == quotient; });
  };
  std::vector<Remainder> whole = remainders;
  for (Remainder& each : whole) {
    for (std::size_t i = 0; i < remainders.size(); ++i) {
      const Affine::Terms terms = each.of.terms();
      const auto inner =
          terms.size() == 1 && terms.front().coefficient == 1 && each.of.constant() == 0
              ? find(terms.front().name)
              : remainders.end();
      std::int64_t modulus = 0;
      if (inner == remainders.end() ||
          __builtin_mul_overflow(each.modulus, inner->modulus, &modulus)) {
        break;
      }
      each.modulus = modulus;
      each.of = inner->of;
    }
  }
  std::vector<Affine> zeros;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto same = std::find_if(
        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i), [&](const Remainder& each) {
          return each.modulus == whole[i].modulus && each.of == whole[i].of;
        });
    if (same != whole.begin() + static_cast<std::ptrdiff_t>(i)) {
      zeros.push_back(Affine(whole[i].quotient) - Affine(same->quotient));
    }
  }
  return zeros;
}

/// `zero` is 0 where this is 0.
Affine in_lowest_terms(const Affine& zero) {
  const std::int64_t divisor = zero.coefficient_gcd();
  return divisor > 1 && zero.constant() % divisor == 0 ? zero.divided_rounding_down(divisor) : zero;
}

/// Solves what is 0 for the quotients, and puts the solutions into the others. Keeps what mentions
/// no quotient, and what cannot be solved for one.
std::vector<Affine> without_quotients(std::vector<Affine> zeros,
                                      const std::vector<Remainder>& remainders) {
  const auto is_quotient = [&](const std::string& name) {
    return std::any_of(remainders.begin(), remainders.end(),
                       [&](const Remainder& each) { return each.quotient == name; });
  };
  for (bool is_solved = true; is_solved;) {
    is_solved = false;
    for (std::size_t i = 0; i < zeros.size() && !is_solved; ++i) {
      zeros[i] = in_lowest_terms(zeros[i]);
      const Affine::Terms terms = zeros[i].terms();
      const auto quotient = std::find_if(terms.begin(), terms.end(), [&](const Affine::Term& each) {
        return std::abs(each.coefficient) == 1 && is_quotient(each.name);
      });
      if (quotient == terms.end()) {
        continue;
      }
      const std::string name = quotient->name;
      const Affine value = Affine(name) - zeros[i] * quotient->coefficient;
      zeros.erase(zeros.begin() + static_cast<std::ptrdiff_t>(i));
      for (Affine& each : zeros) {
        each = each.substitute(name, value);
      }
      is_solved = true;
    }
  }
  return zeros;
}

/// Finds what whole numbers add to equalities, and adds it to the set.
class DigitSplitter {
 public:
  DigitSplitter(ConstraintSet& set, const std::vector<Remainder>& remainders)
      : set_(set), box_(set), remainders_(remainders) {
    for (const Remainder& each : remainders) {
      box_.set_range(each.name(), 0, each.modulus - 1);
    }
  }

  /// @param is_thorough  whether the set is asked where bounds of single names do not suffice
  /// @returns  what is 0, without names of remainders
  std::vector<Affine> split(const Affine& zero, bool is_thorough) {
    std::vector<Affine> found;
    const auto is_large = [](const Affine::Term& term) { return std::abs(term.coefficient) > 1; };
    if (std::none_of(zero.terms().begin(), zero.terms().end(), is_large)) {
      return found;
    }
    std::vector<Affine::Term> terms(zero.terms().begin(), zero.terms().end());
    std::stable_sort(terms.begin(), terms.end(), [](const auto& one, const auto& other) {
      return std::abs(one.coefficient) > std::abs(other.coefficient);
    });
    std::int64_t divisor = 0;
    Affine left = zero;  // without the digits found
    Affine rest = zero;
    for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
      divisor = std::gcd(divisor, terms[i].coefficient);
      rest = rest - Affine(terms[i].name) * terms[i].coefficient;
      if (divisor <= 1) {
        break;
      }
      if (std::abs(terms[i + 1].coefficient) >= divisor) {
        continue;
      }
      // triangles and guards make the elimination lose bounds, and single names have them
      const auto is_found_within = [&] {
        const auto [least, most] = range_of(set_, without_remainders(rest, remainders_));
        return least && most && *least > -divisor && *most < divisor;
      };
      if (box_.keeps_within(rest, divisor) || (is_thorough && is_found_within())) {
        for (const Affine& each : {left - rest, rest}) {
          found.push_back(without_remainders(each, remainders_));
          set_.add_zero(found.back());
        }
        left = rest;
        divisor = 0;
      }
    }
    return found;
  }

 private:
  ConstraintSet& set_;
  Box box_;
  const std::vector<Remainder>& remainders_;
};

}  // namespace

ConstraintSet with_digits_apart(ConstraintSet set) {
  std::vector<Affine> zeros;
  for (const Constraint& constraint : set.constraints()) {
    if (constraint.is_equality) {
      zeros.push_back(constraint.expr);
    }
  }
  const std::vector<Remainder> remainders = find_remainders(set);
  DigitSplitter splitter(set, remainders);
  if (remainders.empty()) {
    for (const Affine& each : zeros) {
      static_cast<void>(splitter.split(each, true));
    }
    return set;
  }
  std::vector<Affine> found = equal_quotients(remainders);
  for (const Affine& each : found) {
    set.add_zero(each);
  }
  std::vector<Affine> open;
  for (const Affine& each : zeros) {
    std::vector<Affine> parts = splitter.split(with_remainders(each, remainders), false);
    if (parts.empty()) {
      parts = splitter.split(with_names_apart(each, remainders), false);
    }
    if (parts.empty()) {
      open.push_back(each);
    }
    found.push_back(each);
    found.insert(found.end(), parts.begin(), parts.end());
  }
  for (const Affine& each : without_quotients(std::move(found), remainders)) {
    set.add_zero(each);
    static_cast<void>(splitter.split(each, false));
  }
  // the set is easier to ask when it has these
  for (const Affine& each : open) {
    static_cast<void>(splitter.split(each, true));
  }
  return set;
}

}  // namespace rtcg::loopy
