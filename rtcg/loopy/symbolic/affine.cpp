#include "rtcg/loopy/symbolic/affine.h"

#include <algorithm>
#include <numeric>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void throw_overflow() {
  throw Unsupported("loopy.affine.overflow",
                    "an index or bound has constants beyond 64 bits: scale the domain down");
}

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw_overflow();
  }
  return result;
}

std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw_overflow();
  }
  return result;
}

}  // namespace

Affine::Affine(std::string name, std::int64_t coefficient) {
  if (coefficient != 0) {
    terms_.push_back({std::move(name), coefficient});
  }
}

std::int64_t Affine::coefficient(std::string_view name) const noexcept {
  for (const Term& term : terms_) {
    if (term.name == name) {
      return term.coefficient;
    }
  }
  return 0;
}

std::int64_t Affine::coefficient_gcd() const noexcept {
  std::int64_t gcd = 0;
  for (const Term& term : terms_) {
    gcd = std::gcd(gcd, term.coefficient);
  }
  return gcd;
}

Affine Affine::operator*(std::int64_t factor) const {
  if (factor == 0) {
    return {};
  }
  Affine result = *this;
  for (Term& term : result.terms_) {
    term.coefficient = multiply(term.coefficient, factor);
  }
  result.constant_ = multiply(constant_, factor);
  return result;
}

Affine Affine::combine(const Affine& other, std::int64_t factor) const {
  Affine result(add(constant_, multiply(other.constant_, factor)));
  result.terms_.reserve(terms_.size() + other.terms_.size());
  auto left = terms_.begin();
  auto right = other.terms_.begin();
  while (left != terms_.end() || right != other.terms_.end()) {
    const int order = left == terms_.end()          ? 1
                      : right == other.terms_.end() ? -1
                                                    : left->name.compare(right->name);
    if (order < 0) {
      result.terms_.push_back(*left++);
    } else if (order > 0) {
      result.terms_.push_back({right->name, multiply(right->coefficient, factor)});
      ++right;
    } else {
      const std::int64_t sum = add(left->coefficient, multiply(right->coefficient, factor));
      if (sum != 0) {
        result.terms_.push_back({left->name, sum});
      }
      ++left;
      ++right;
    }
  }
  return result;
}

Affine Affine::substitute(std::string_view name, const Affine& value) const {
  const std::int64_t factor = coefficient(name);
  if (factor == 0) {
    return *this;
  }
  Affine rest = *this;
  std::erase_if(rest.terms_, [&](const Term& term) { return term.name == name; });
  return rest.combine(value, factor);
}

Affine Affine::rename(const std::function<std::string(const std::string&)>& new_name) const {
  Affine result(constant_);
  for (const Term& term : terms_) {
    result = result + Affine(new_name(term.name), term.coefficient);
  }
  return result;
}

Affine Affine::divided_rounding_down(std::int64_t divisor) const {
  Affine result(divide_rounding_down(constant_, divisor));
  for (const Term& term : terms_) {
    require_internal(term.coefficient % divisor == 0, "a divisor of all coefficients");
    result.terms_.push_back({term.name, term.coefficient / divisor});
  }
  return result;
}

std::optional<Affine> to_affine(const Expr& expr) {
  using Result = std::optional<Affine>;
  return match(
      expr, [](const Integer& e) -> Result { return Affine(e.value); },
      [](const Name& e) -> Result { return Affine(e.name); },
      [](const Sum& e) -> Result {
        Affine sum;
        for (const Expr& term : e.terms) {
          const Result affine = to_affine(term);
          if (!affine) {
            return std::nullopt;
          }
          sum = sum + *affine;
        }
        return sum;
      },
      [](const Product& e) -> Result {
        Affine product(1);
        for (const Expr& factor : e.factors) {
          const Result affine = to_affine(factor);
          if (!affine || (!affine->is_constant() && !product.is_constant())) {
            return std::nullopt;
          }
          product =
              affine->is_constant() ? product * affine->constant() : *affine * product.constant();
        }
        return product;
      },
      [](const auto&) -> Result { return std::nullopt; });
}

Expr to_expr(const Affine& affine) {
  std::vector<Affine::Term> terms = affine.terms();
  std::stable_sort(terms.begin(), terms.end(), [](const auto& l, const auto& r) {
    if ((l.coefficient > 0) != (r.coefficient > 0)) {
      return l.coefficient > 0;
    }
    return std::abs(l.coefficient) > std::abs(r.coefficient);
  });
  // at once rather than by operators, which make a node for each partial sum
  std::vector<Expr> parts;
  parts.reserve(terms.size() + 1);
  for (const Affine::Term& term : terms) {
    parts.push_back(Expr(term.coefficient) * name(term.name));
  }
  if (affine.constant() != 0 || parts.empty()) {
    parts.emplace_back(affine.constant());
  }
  return parts.size() == 1 ? parts.front() : Expr(Sum{std::move(parts)});
}

Expr simplify_index(const Expr& expr) {
  if (const std::optional<Affine> affine = to_affine(expr)) {
    return to_expr(*affine);
  }
  const Expr inner = map_children(expr, simplify_index);
  const Sum* sum = get_if<Sum>(inner);
  if (sum == nullptr) {
    return inner;
  }
  // the affine terms are collected, the others stay in their order before them
  Affine affine;
  Expr others = 0;
  const std::function<void(const Sum&)> add_terms = [&](const Sum& terms) {
    for (const Expr& term : terms.terms) {
      if (const Sum* nested = get_if<Sum>(term)) {
        add_terms(*nested);
      } else if (const std::optional<Affine> part = to_affine(term)) {
        affine = affine + *part;
      } else {
        others = others + term;
      }
    }
  };
  add_terms(*sum);
  const Expr rest = to_expr(affine);
  if (const Sum* rest_sum = get_if<Sum>(rest)) {
    for (const Expr& term : rest_sum->terms) {
      others = others + term;
    }
    return others;
  }
  return others + rest;
}

std::int64_t divide_rounding_down(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t quotient = numerator / denominator;
  return numerator % denominator < 0 ? quotient - 1 : quotient;
}

std::int64_t divide_rounding_up(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t quotient = numerator / denominator;
  return numerator % denominator > 0 ? quotient + 1 : quotient;
}

}  // namespace rtcg::loopy
