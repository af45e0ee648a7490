#include "rtcg/loopy/analyze/fold_quotients.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// `factor * (of // divisor % modulus)`.
struct Digit {
  std::int64_t factor = 1;
  Affine of{};
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;  ///< 0: no remainder is taken
};

/// `of // divisor % modulus`, or the quotient alone.
Expr digit_expr(const Digit& digit, const Expr& of) {
  const Expr quotient = digit.divisor == 1 ? of : floor_div(of, digit.divisor);
  return digit.modulus == 0 ? quotient : modulo(quotient, digit.modulus);
}

/// Digits that others divide, under names that no iname has.
class NamedDigits {
 public:
  explicit NamedDigits(const std::function<bool(const Affine&)>& is_nonnegative)
      : is_nonnegative_(is_nonnegative) {}

  /// Without its factor.
  Affine name_of(const Digit& digit) {
    const auto is_same = [&](const Digit& each) {
      return each.of == digit.of && each.divisor == digit.divisor && each.modulus == digit.modulus;
    };
    const auto found = std::find_if(digits_.begin(), digits_.end(), is_same);
    const auto place = found - digits_.begin();
    if (found == digits_.end()) {
      digits_.push_back(digit);
    }
    return Affine(name_at(static_cast<std::size_t>(place)));
  }

  [[nodiscard]] bool is_nonnegative(const Affine& value) const {
    // those that came later may be made of earlier ones
    for (std::size_t i = digits_.size(); i-- > 0;) {
      const std::int64_t factor = value.coefficient(name_at(i));
      if (factor == 0) {
        continue;
      }
      const Digit& digit = digits_[i];
      const Affine rest = value - Affine(name_at(i), factor);
      if (digit.modulus != 0) {
        return is_nonnegative(factor > 0 ? rest : rest + factor * (digit.modulus - 1));
      }
      // of - divisor < divisor * (of // divisor) <= of
      const Affine least = factor > 0 ? digit.of - (digit.divisor - 1) : digit.of;
      if (is_nonnegative(rest * digit.divisor + least * factor)) {
        return true;
      }
      if (factor > 0) {
        return is_nonnegative(digit.of) && is_nonnegative(rest);
      }
      const std::optional<std::int64_t> largest = largest_of(digit);
      return largest && is_nonnegative(rest + factor * *largest);
    }
    return is_nonnegative_(value);
  }

  /// The form without them; they are added to `digits`.
  [[nodiscard]] Affine take_digits(Affine form, std::vector<Digit>& digits) const {
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      const std::int64_t factor = form.coefficient(name_at(i));
      if (factor != 0) {
        form = form - Affine(name_at(i), factor);
        digits.push_back(digits_[i]);
        digits.back().factor = factor;
      }
    }
    return form;
  }

  [[nodiscard]] Expr expr_of(const Affine& affine) const { return with_digits(to_expr(affine)); }

 private:
  /// The largest value of a quotient, if it is known to be small.
  [[nodiscard]] std::optional<std::int64_t> largest_of(const Digit& digit) const {
    constexpr std::int64_t most = 1 << 12;
    const auto is_bound = [&](std::int64_t value) {
      return is_nonnegative(Affine(digit.divisor * (value + 1) - 1) - digit.of);
    };
    std::int64_t above = 0;
    while (above < most && !is_bound(above)) {
      above = 2 * above + 1;
    }
    if (above >= most) {
      return std::nullopt;
    }
    std::int64_t below = above / 2;  // no bound, or 0
    while (below + 1 < above) {
      const std::int64_t middle = (below + above) / 2;
      (is_bound(middle) ? above : below) = middle;
    }
    return above;
  }

  static std::string name_at(std::size_t place) { return "%" + std::to_string(place); }

  [[nodiscard]] Expr with_digits(const Expr& expr) const {
    return digits_.empty() ? expr : rewrite_bottom_up(expr, [&](const Expr& part) {
      const Name* name = get_if<Name>(part);
      if (name == nullptr || name->name.front() != '%') {
        return std::optional<Expr>();
      }
      const Digit& digit = digits_[std::stoul(name->name.substr(1))];
      return std::optional(digit_expr(digit, expr_of(digit.of)));
    });
  }

  const std::function<bool(const Affine&)>& is_nonnegative_;
  std::vector<Digit> digits_{};
};

class QuotientFolder {
 public:
  explicit QuotientFolder(NamedDigits& named) : named_(named) {}

  Expr fold(const Expr& index) {
    shorten(index);
    return is_shorter_ ? result() : index;
  }

 private:
  void shorten(const Expr& index) {
    add(index, 1);
    put_together();
    std::vector<Digit> digits = std::exchange(digits_, {});
    for (Digit& each : digits) {
      add_shortened(std::move(each));
    }
    rest_ = named_.take_digits(rest_, digits_);
    put_together();
  }

  /// A sum with quotients in it, shortened by itself, as a form of them.
  std::optional<Affine> form_of(const Expr& expr) {
    if (const auto affine = to_affine(expr)) {
      return affine;
    }
    if (!is<Sum>(expr) && !is<Product>(expr)) {
      return std::nullopt;
    }
    QuotientFolder inner(named_);
    inner.shorten(expr);
    if (!inner.others_.empty()) {
      return std::nullopt;
    }
    is_shorter_ = is_shorter_ || inner.is_shorter_;
    Affine form = inner.rest_;
    for (const Digit& each : inner.digits_) {
      form = form + named_.name_of(each) * each.factor;
    }
    return form;
  }

  /// A quotient or remainder of a form, however deep they nest.
  std::optional<Digit> digit_of(const Expr& expr) {
    if (const auto form = form_of(expr)) {
      return Digit{1, *form};
    }
    const FloorDiv* quotient = get_if<FloorDiv>(expr);
    const Modulo* remainder = get_if<Modulo>(expr);
    if (quotient == nullptr && remainder == nullptr) {
      return std::nullopt;
    }
    const auto by =
        as_integer(quotient != nullptr ? quotient->denominator : remainder->denominator);
    auto digit = digit_of(quotient != nullptr ? quotient->numerator : remainder->numerator);
    if (!digit || !by || *by < 1) {
      return std::nullopt;
    }
    if (digit->modulus != 0 && digit->modulus % *by != 0) {
      digit = Digit{1, named_.name_of(*digit)};
    }
    if (digit->modulus == 0) {
      (quotient != nullptr ? digit->divisor *= * by : digit->modulus = *by);
    } else if (quotient == nullptr) {
      digit->modulus = *by;
      is_shorter_ = true;
    } else {
      digit->divisor *= *by;
      digit->modulus /= *by;
    }
    return digit;
  }

  void add(const Expr& expr, std::int64_t factor) {
    if (const auto affine = to_affine(expr)) {
      rest_ = rest_ + *affine * factor;
      return;
    }
    if (const Sum* sum = get_if<Sum>(expr)) {
      for (const Expr& term : sum->terms) {
        add(term, factor);
      }
      return;
    }
    if (const Product* product = get_if<Product>(expr)) {
      std::vector<Expr> others;
      std::int64_t constant = factor;
      for (const Expr& each : product->factors) {
        if (const auto value = as_integer(each)) {
          constant *= *value;
        } else {
          others.push_back(each);
        }
      }
      if (others.size() == 1) {
        add(others.front(), constant);
        return;
      }
    }
    const bool is_digit = is<FloorDiv>(expr) || is<Modulo>(expr);
    if (auto digit = is_digit ? digit_of(expr) : std::nullopt) {
      digit->factor = factor;
      digits_.push_back(*std::move(digit));
    } else {
      others_.push_back(factor == 1 ? expr : Expr(factor) * expr);
    }
  }

  /// `m*c*(x // (d*m) % n) + c*(x // d % m)` is `c*(x // d % (m*n))`.
  void put_together() {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (std::size_t low = 0; low < digits_.size(); ++low) {
        const auto high = std::find_if(digits_.begin(), digits_.end(), [&](const Digit& each) {
          const Digit& lower = digits_[low];
          return lower.modulus != 0 && each.of == lower.of &&
                 each.divisor == lower.divisor * lower.modulus &&
                 each.factor == lower.factor * lower.modulus;
        });
        if (high != digits_.end()) {
          digits_[low].modulus *= high->modulus;
          digits_.erase(high);
          is_changed = true;
          is_shorter_ = true;
          break;
        }
      }
    }
    for (std::size_t i = digits_.size(); i-- > 0;) {
      if (digits_[i].divisor == 1 && digits_[i].modulus == 0) {
        rest_ = rest_ + digits_[i].of * digits_[i].factor;
        digits_.erase(digits_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  [[nodiscard]] bool is_within(const Affine& value, std::int64_t length) const {
    return named_.is_nonnegative(value) && named_.is_nonnegative(Affine(length - 1) - value);
  }

  void add_shortened(Digit digit) {
    do {
      drop_multiples(digit);
      if (digit.modulus == 1 || is_within(digit.of, digit.divisor)) {
        is_shorter_ = true;
        return;  // it is 0
      }
      if (digit.modulus != 0 && is_within(digit.of, digit.divisor * digit.modulus)) {
        digit.modulus = 0;
        is_shorter_ = true;
      }
      if (digit.divisor == 1 && digit.modulus == 0) {
        rest_ = rest_ + digit.of * digit.factor;
        return;
      }
    } while (take_out_multiples(digit) || take_out_divisor(digit));
    digits_.push_back(std::move(digit));
  }

  /// Of what the remainder does not see.
  void drop_multiples(Digit& digit) {
    const std::int64_t period = digit.divisor * digit.modulus;
    if (period == 0) {
      return;
    }
    Affine seen = digit.of.constant() - period * divide_rounding_down(digit.of.constant(), period);
    for (const Affine::Term& term : digit.of.terms()) {
      if (term.coefficient % period != 0) {
        seen = seen + Affine(term.name, term.coefficient);
      }
    }
    if (!(seen == digit.of) && named_.is_nonnegative(seen)) {
      digit.of = seen;
      is_shorter_ = true;
    }
  }

  /// `(d*h + l) // d` is `h + l // d`: the rest often stays the same while h counts.
  bool take_out_multiples(Digit& digit) {
    if (digit.divisor == 1 || digit.modulus != 0) {
      return false;
    }
    const std::int64_t whole = divide_rounding_down(digit.of.constant(), digit.divisor);
    Affine high = whole;
    Affine low = digit.of.constant() - digit.divisor * whole;
    for (const Affine::Term& term : digit.of.terms()) {
      if (term.coefficient % digit.divisor == 0) {
        high = high + Affine(term.name, term.coefficient / digit.divisor);
      } else {
        low = low + Affine(term.name, term.coefficient);
      }
    }
    if (high == Affine(0) || !named_.is_nonnegative(low)) {
      return false;
    }
    rest_ = rest_ + high * digit.factor;
    digit.of = low;
    is_shorter_ = true;
    return true;
  }

  /// `(g*h + l) // d` is `h // (d/g)`, and `(g*h + l) % m` is `g*(h % (m/g)) + l`, where g divides
  /// and l is from 0 to g - 1.
  bool take_out_divisor(Digit& digit) {
    const std::int64_t of = digit.divisor > 1 ? digit.divisor : digit.modulus;
    std::set<std::int64_t, std::greater<>> divisors;
    for (const Affine::Term& term : digit.of.terms()) {
      divisors.insert(std::gcd(term.coefficient, of));
    }
    for (const std::int64_t divisor : divisors) {
      if (divisor <= 1) {
        break;
      }
      const std::int64_t whole = divide_rounding_down(digit.of.constant(), divisor);
      Affine high = whole;
      Affine low = digit.of.constant() - divisor * whole;
      for (const Affine::Term& term : digit.of.terms()) {
        if (term.coefficient % divisor == 0) {
          high = high + Affine(term.name, term.coefficient / divisor);
        } else {
          low = low + Affine(term.name, term.coefficient);
        }
      }
      if (!is_within(low, divisor)) {
        continue;
      }
      digit.of = high;
      is_shorter_ = true;
      if (digit.divisor > 1) {
        digit.divisor /= divisor;
      } else {
        rest_ = rest_ + low * digit.factor;
        digit.factor *= divisor;
        digit.modulus /= divisor;
      }
      return true;
    }
    return false;
  }

  [[nodiscard]] Expr result() {
    std::stable_sort(digits_.begin(), digits_.end(),
                     [](const Digit& a, const Digit& b) { return a.factor > b.factor; });
    std::vector<Expr> terms = std::move(others_);
    for (const Digit& each : digits_) {
      const Expr term = digit_expr(each, named_.expr_of(each.of));
      terms.push_back(each.factor == 1 ? term : Expr(each.factor) * term);
    }
    if (terms.empty()) {
      return to_expr(rest_);
    }
    const Expr rest = to_expr(rest_);
    if (const Sum* sum = get_if<Sum>(rest)) {
      terms.insert(terms.end(), sum->terms.begin(), sum->terms.end());
    } else if (as_integer(rest) != 0) {
      terms.push_back(rest);
    }
    return terms.size() == 1 ? terms.front() : Expr(Sum{std::move(terms)});
  }

  NamedDigits& named_;
  bool is_shorter_ = false;
  Affine rest_{};
  std::vector<Digit> digits_{};
  std::vector<Expr> others_{};
};

using Factors = std::vector<Expr>;

Factors factors_of(const Expr& expr) {
  const Product* product = get_if<Product>(expr);
  return product != nullptr ? product->factors : Factors{expr};
}

/// The others, if `expr` is among the factors.
std::optional<Factors> without_factor(Factors factors, const Expr& expr) {
  const auto found = std::find(factors.begin(), factors.end(), expr);
  if (found == factors.end()) {
    return std::nullopt;
  }
  factors.erase(found);
  return factors;
}

bool are_same(Factors factors, const Factors& others) {
  for (const Expr& each : others) {
    std::optional<Factors> rest = without_factor(std::move(factors), each);
    if (!rest) {
      return false;
    }
    factors = *std::move(rest);
  }
  return factors.empty();
}

Expr as_product(const Factors& factors) {
  return factors.empty() ? Expr(1) : factors.size() == 1 ? factors.front() : Expr(Product{factors});
}

/// The rest of division by a parameter among the factors of a term.
const Modulo* find_rest(const Factors& term) {
  for (const Expr& factor : term) {
    const Modulo* rest = get_if<Modulo>(factor);
    if (rest != nullptr && !as_integer(rest->denominator)) {
      return rest;
    }
  }
  return nullptr;
}

/// `c*m*(x // m) + c*(x % m)` is `c*x`, also where m is a parameter: it is not 0, or neither has a
/// value.
Expr with_parameter_digits_together(const Expr& index) {
  const Sum* sum = get_if<Sum>(index);
  if (sum == nullptr) {
    return index;
  }
  std::vector<Factors> terms;
  for (const Expr& term : sum->terms) {
    terms.push_back(factors_of(term));
  }
  const auto join_one = [&] {
    for (Factors& low : terms) {
      const Modulo* rest = find_rest(low);
      if (rest == nullptr) {
        continue;
      }
      const Expr whole = rest->numerator;
      const Expr quotient = floor_div(whole, rest->denominator);
      Factors common = *without_factor(low, modulo(whole, rest->denominator));
      const auto high = std::find_if(terms.begin(), terms.end(), [&](const Factors& each) {
        const auto others = without_factor(each, quotient);
        Factors wanted = common;
        const Factors length = factors_of(rest->denominator);
        wanted.insert(wanted.end(), length.begin(), length.end());
        return others && are_same(*others, wanted);
      });
      if (high != terms.end()) {
        common.push_back(whole);
        low = std::move(common);
        terms.erase(high);
        return true;
      }
    }
    return false;
  };
  bool is_changed = false;
  while (join_one()) {
    is_changed = true;
  }
  if (!is_changed) {
    return index;
  }
  std::vector<Expr> products;
  for (const Factors& each : terms) {
    products.push_back(as_product(each));
  }
  return simplify_index(products.size() == 1 ? products.front() : Expr(Sum{std::move(products)}));
}

}  // namespace

bool has_quotients(const Expr& index) {
  bool has_any = false;
  walk(index, [&](const Expr& part) {
    has_any = has_any || is<FloorDiv>(part) || is<Modulo>(part);
    return !has_any;
  });
  return has_any;
}

Expr fold_quotients(const Expr& index, const std::function<bool(const Affine&)>& is_nonnegative) {
  if (!has_quotients(index)) {
    return index;
  }
  NamedDigits named(is_nonnegative);
  return QuotientFolder(named).fold(with_parameter_digits_together(index));
}

}  // namespace rtcg::loopy
