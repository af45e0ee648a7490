#include "rtcg/loopy/symbolic/affine.h"

#include <algorithm>
#include <numeric>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/fold.h"
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

Affine::SharedTerms Affine::room_for(std::size_t most) {
  SharedTerms terms;
  if (most != 0) {
    terms.first = std::make_shared<Term[]>(most);
  }
  return terms;
}

Affine::Affine(std::string name, std::int64_t coefficient) {
  if (coefficient != 0) {
    terms_ = room_for(1);
    terms_.first[0] = {std::move(name), coefficient};
    terms_.count = 1;
  }
}

Affine::Affine(std::vector<Term> terms, std::int64_t constant) : constant_(constant) {
  const auto comes_before = [](const Term& l, const Term& r) { return l.name < r.name; };
  if (!std::is_sorted(terms.begin(), terms.end(), comes_before)) {
    std::sort(terms.begin(), terms.end(), comes_before);
  }
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (terms[i].name == terms[i - 1].name) {
      terms[i].coefficient = add(terms[i].coefficient, terms[i - 1].coefficient);
      terms[i - 1].coefficient = 0;
    }
  }
  std::erase_if(terms, [](const Term& term) { return term.coefficient == 0; });
  terms_ = room_for(terms.size());
  std::move(terms.begin(), terms.end(), terms_.first.get());
  terms_.count = terms.size();
}

bool Affine::has_same_terms(const Affine& other) const noexcept {
  if (terms_.count != other.terms_.count) {
    return false;
  }
  if (terms_.first == other.terms_.first) {
    return true;
  }
  // all coefficients before a name: they are read faster, and mostly differ
  const Terms own = terms();
  const Terms others = other.terms();
  return std::equal(own.begin(), own.end(), others.begin(),
                    [](const Term& l, const Term& r) { return l.coefficient == r.coefficient; }) &&
         std::equal(own.begin(), own.end(), others.begin(),
                    [](const Term& l, const Term& r) { return l.name == r.name; });
}

std::int64_t Affine::coefficient(std::string_view name) const noexcept {
  for (const Term& term : terms()) {
    if (term.name == name) {
      return term.coefficient;
    }
  }
  return 0;
}

std::int64_t Affine::coefficient_gcd() const noexcept {
  std::int64_t gcd = 0;
  for (const Term& term : terms()) {
    gcd = std::gcd(gcd, term.coefficient);
    if (gcd == 1) {
      break;
    }
  }
  return gcd;
}

Affine Affine::operator*(std::int64_t factor) const {
  if (factor == 0) {
    return {};
  }
  return Affine().combine(*this, factor);
}

Affine Affine::combine(const Affine& other, std::int64_t factor) const {
  Affine result(add(constant_, multiply(other.constant_, factor)));
  if (other.is_constant()) {
    result.terms_ = terms_;
    return result;
  }
  if (is_constant() && factor == 1) {
    result.terms_ = other.terms_;
    return result;
  }
  result.terms_ = room_for(terms_.count + other.terms_.count);
  Term* next = result.terms_.first.get();
  const Term* left = terms_.first.get();
  const Term* const left_end = left + terms_.count;
  const Term* right = other.terms_.first.get();
  const Term* const right_end = right + other.terms_.count;
  while (left != left_end || right != right_end) {
    const int order = left == left_end     ? 1
                      : right == right_end ? -1
                                           : left->name.compare(right->name);
    if (order < 0) {
      *next++ = *left++;
    } else if (order > 0) {
      next->coefficient = multiply(right->coefficient, factor);
      next->name = right->name;
      ++next;
      ++right;
    } else {
      const std::int64_t sum = add(left->coefficient, multiply(right->coefficient, factor));
      if (sum != 0) {
        next->name = left->name;
        next->coefficient = sum;
        ++next;
      }
      ++left;
      ++right;
    }
  }
  result.terms_.count = static_cast<std::size_t>(next - result.terms_.first.get());
  return result;
}

Affine Affine::substitute(std::string_view name, const Affine& value) const {
  const std::int64_t factor = coefficient(name);
  if (factor == 0) {
    return *this;
  }
  Affine rest(constant_);
  rest.terms_ = room_for(terms_.count - 1);
  for (const Term& term : terms()) {
    if (term.name != name) {
      rest.terms_.first[rest.terms_.count++] = term;
    }
  }
  return rest.combine(value, factor);
}

Affine Affine::rename(const std::function<std::string(const std::string&)>& new_name) const {
  std::vector<Term> terms;
  terms.reserve(terms_.count);
  for (const Term& term : this->terms()) {
    terms.push_back({new_name(term.name), term.coefficient});
  }
  return {std::move(terms), constant_};
}

Affine Affine::divided_rounding_down(std::int64_t divisor) const {
  Affine result(divide_rounding_down(constant_, divisor));
  result.terms_ = room_for(terms_.count);
  for (const Term& term : terms()) {
    require_internal(term.coefficient % divisor == 0, "a divisor of all coefficients");
    result.terms_.first[result.terms_.count++] = {term.name, term.coefficient / divisor};
  }
  return result;
}

namespace {

/// to_affine from the inside out, an Affine for each part.
std::optional<Affine> affine_by_parts(const Expr& expr) {
  using Result = std::optional<Affine>;
  return match(
      expr, [](const Integer& e) -> Result { return Affine(e.value); },
      [](const Name& e) -> Result { return Affine(e.name); },
      [](const Sum& e) -> Result {
        Affine sum;
        for (const Expr& term : e.terms) {
          const Result affine = affine_by_parts(term);
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
          const Result affine = affine_by_parts(factor);
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

/// Adds up the terms of an expression, each under the factors around it, without an Affine for each
/// part.
class TermCollector {
 public:
  /// Whether `factor * expr` could be added. Where it could not and is_unsure() says no, it is not
  /// affine.
  bool collect(const Expr& expr, std::int64_t factor) {
    return match(
        expr,
        [&](const Integer& e) {
          std::int64_t product = 0;
          is_unsure_ = is_unsure_ || __builtin_mul_overflow(e.value, factor, &product) ||
                       __builtin_add_overflow(constant_, product, &constant_);
          return !is_unsure_;
        },
        [&](const Name& e) {
          terms_.reserve(4);  // few indices have more names
          terms_.push_back({e.name, factor});
          return true;
        },
        [&](const Sum& e) {
          return std::all_of(e.terms.begin(), e.terms.end(),
                             [&](const Expr& term) { return collect(term, factor); });
        },
        [&](const Product& e) { return collect_product(e, factor); },
        [](const auto&) { return false; });
  }
  /// Whether it found numbers beyond 64 bits, which have no answer.
  [[nodiscard]] bool is_unsure() const noexcept { return is_unsure_; }
  [[nodiscard]] Affine take() { return {std::move(terms_), constant_}; }

 private:
  bool collect_product(const Product& product, std::int64_t outer) {
    std::int64_t factor = outer;
    const Expr* other = nullptr;
    for (const Expr& each : product.factors) {
      if (const Integer* integer = get_if<Integer>(each)) {
        is_unsure_ = is_unsure_ || __builtin_mul_overflow(factor, integer->value, &factor);
      } else if (other != nullptr) {
        return collect_factors(product, outer);
      } else {
        other = &each;
      }
    }
    return !is_unsure_ && collect(other != nullptr ? *other : Expr(1), factor);
  }

  /// Several factors that are not integers: all but one have to be constants.
  bool collect_factors(const Product& product, std::int64_t factor) {
    Affine value(1);
    for (const Expr& each : product.factors) {
      TermCollector part;
      if (!part.collect(each, 1)) {
        is_unsure_ = is_unsure_ || part.is_unsure_;
        return false;
      }
      const Affine affine = part.take();
      if (!affine.is_constant() && !value.is_constant()) {
        return false;
      }
      value = affine.is_constant() ? value * affine.constant() : affine * value.constant();
    }
    value = value * factor;
    terms_.insert(terms_.end(), value.terms().begin(), value.terms().end());
    is_unsure_ = is_unsure_ || __builtin_add_overflow(constant_, value.constant(), &constant_);
    return !is_unsure_;
  }

  std::vector<Affine::Term> terms_;
  std::int64_t constant_ = 0;
  bool is_unsure_ = false;
};

}  // namespace

std::optional<Affine> to_affine(const Expr& expr) {
  TermCollector terms;
  if (terms.collect(expr, 1)) {
    return terms.take();
  }
  return terms.is_unsure() ? affine_by_parts(expr) : std::nullopt;
}

namespace {

/// As they are written: positive ones first, larger coefficients before smaller ones.
std::vector<const Affine::Term*> terms_in_order(const Affine& affine) {
  const auto comes_before = [](const Affine::Term* l, const Affine::Term* r) {
    if ((l->coefficient > 0) != (r->coefficient > 0)) {
      return l->coefficient > 0;
    }
    return std::abs(l->coefficient) > std::abs(r->coefficient);
  };
  std::vector<const Affine::Term*> terms;
  terms.reserve(affine.terms().size());
  for (const Affine::Term& term : affine.terms()) {
    // insertion after equal ones: there are few
    terms.insert(std::upper_bound(terms.begin(), terms.end(), &term, comes_before), &term);
  }
  return terms;
}

bool is_term(const Expr& expr, const Affine::Term& term) {
  const Product* product = term.coefficient != 1 ? get_if<Product>(expr) : nullptr;
  const bool is_multiple = product != nullptr && product->factors.size() == 2 &&
                           as_integer(product->factors[0]) == term.coefficient;
  const Name* variable = is_multiple             ? get_if<Name>(product->factors[1])
                         : term.coefficient == 1 ? get_if<Name>(expr)
                                                 : nullptr;
  return variable != nullptr && variable->name == term.name;
}

/// Whether it is what to_expr makes of its value.
bool is_simple(const Expr& expr, const Affine& value) {
  const Sum* sum = get_if<Sum>(expr);
  const std::size_t count = value.terms().size() + (value.constant() != 0 ? 1 : 0);
  if (sum == nullptr) {
    return value.is_constant() ? is<Integer>(expr)
                               : count == 1 && is_term(expr, value.terms().front());
  }
  if (sum->terms.size() != count) {
    return false;
  }
  const std::vector<const Affine::Term*> terms = terms_in_order(value);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!is_term(sum->terms[i], *terms[i])) {
      return false;
    }
  }
  return value.constant() == 0 || as_integer(sum->terms.back()) == value.constant();
}

}  // namespace

Expr to_expr(const Affine& affine) {
  const std::vector<const Affine::Term*> terms = terms_in_order(affine);
  // at once rather than by operators, which make a node for each partial sum
  std::vector<Expr> parts;
  parts.reserve(terms.size() + 1);
  for (const Affine::Term* term : terms) {
    Expr variable = name(term->name);
    parts.push_back(term->coefficient == 1
                        ? std::move(variable)
                        : Expr(Product{{Expr(term->coefficient), std::move(variable)}}));
  }
  if (affine.constant() != 0 || parts.empty()) {
    parts.emplace_back(affine.constant());
  }
  return parts.size() == 1 ? parts.front() : Expr(Sum{std::move(parts)});
}

Expr simplify_index(const Expr& expr) {
  if (is<Name>(expr) || is<Integer>(expr)) {
    return expr;
  }
  if (const std::optional<Affine> affine = to_affine(expr)) {
    // the same node, so that what holds it may stay
    return is_simple(expr, *affine) ? expr : to_expr(*affine);
  }
  const Expr inner = map_children(expr, simplify_index);
  if (const Product* product = get_if<Product>(inner)) {
    const bool is_zero = std::any_of(product->factors.begin(), product->factors.end(),
                                     [](const Expr& each) { return as_integer(each) == 0; });
    return is_zero ? Expr(0) : inner;
  }
  const Sum* sum = get_if<Sum>(inner);
  if (sum == nullptr) {
    return inner;
  }
  // the affine terms are collected, the others stay in their order before them
  Affine affine;
  std::vector<Expr> all = {Expr(0)};
  const std::function<void(const Sum&)> add_terms = [&](const Sum& terms) {
    for (const Expr& term : terms.terms) {
      if (const Sum* nested = get_if<Sum>(term)) {
        add_terms(*nested);
      } else if (const std::optional<Affine> part = to_affine(term)) {
        affine = affine + *part;
      } else {
        all.push_back(term);
      }
    }
  };
  add_terms(*sum);
  const Expr rest = to_expr(affine);
  if (const Sum* rest_sum = get_if<Sum>(rest)) {
    all.insert(all.end(), rest_sum->terms.begin(), rest_sum->terms.end());
  } else {
    all.push_back(rest);
  }
  const Expr result = sum_of(all);
  return result == expr ? expr : result;
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
