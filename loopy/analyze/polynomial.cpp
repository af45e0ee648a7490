#include "rtcg/loopy/analyze/polynomial.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

__extension__ using Wide = __int128;

Rational reduced(Wide numerator, Wide denominator) {
  Wide a = numerator < 0 ? -numerator : numerator;
  Wide b = denominator;
  while (b != 0) {
    a = std::exchange(b, a % b);
  }
  numerator /= a;
  denominator /= a;
  constexpr Wide most = std::numeric_limits<std::int64_t>::max();
  if (numerator > most || numerator < -most || denominator > most) {
    throw Unsupported("loopy.polynomial.overflow",
                      "a count has coefficients beyond 64 bits: scale the domain down");
  }
  return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

Rational add_fractions(Rational a, Rational b) {
  // halves, so that the sum of two products of 63 bits stays within 127
  const std::int64_t gcd = std::gcd(a.denominator, b.denominator);
  return reduced(static_cast<Wide>(a.numerator) * (b.denominator / gcd) +
                     static_cast<Wide>(b.numerator) * (a.denominator / gcd),
                 static_cast<Wide>(a.denominator / gcd) * b.denominator);
}
Rational multiply_fractions(Rational a, Rational b) {
  return reduced(static_cast<Wide>(a.numerator) * b.numerator,
                 static_cast<Wide>(a.denominator) * b.denominator);
}

/// The sums of i^k over 0 <= i < x, for k = 0 ... degree.
/// @source Pascal: x^(k+1) is the sum over j <= k of binomial(k+1, j) S_j(x)
std::vector<Polynomial> power_sums(const Polynomial& x, int degree) {
  std::vector<Polynomial> sums;
  Polynomial power = x;
  for (int k = 0; k <= degree; ++k) {
    Polynomial rest = power;
    std::int64_t binomial = 1;
    for (int j = 0; j < k; ++j) {
      rest = rest - sums[static_cast<std::size_t>(j)] * Polynomial(binomial);
      binomial = binomial * (k + 1 - j) / (j + 1);
    }
    sums.push_back(rest * Rational{1, k + 1});
    power = power * x;
  }
  return sums;
}

int degree_of(const Polynomial::Monomial& monomial) {
  return std::accumulate(monomial.begin(), monomial.end(), 0,
                         [](int sum, const auto& each) { return sum + each.second; });
}

std::string spelling_of(const Polynomial::Monomial& monomial) {
  std::vector<std::string> factors;
  for (const auto& [name, power] : monomial) {
    factors.push_back(power == 1 ? name : fmt::format("{}^{}", name, power));
  }
  return fmt::format("{}", fmt::join(factors, "*"));
}

}  // namespace

Polynomial::Polynomial(std::int64_t constant) {
  add({}, {constant, 1});
}

Polynomial::Polynomial(const Affine& affine) {
  add({}, {affine.constant(), 1});
  for (const Affine::Term& term : affine.terms()) {
    add({{term.name, 1}}, {term.coefficient, 1});
  }
}

void Polynomial::add(const Monomial& monomial, Rational coefficient) {
  const auto found = terms_.emplace(monomial, Rational{}).first;
  found->second = add_fractions(found->second, coefficient);
  if (found->second.numerator == 0) {
    terms_.erase(found);
  }
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial sum = *this;
  for (const auto& [monomial, coefficient] : other.terms_) {
    sum.add(monomial, coefficient);
  }
  return sum;
}

Polynomial Polynomial::operator-(const Polynomial& other) const {
  return *this + other * Rational{-1, 1};
}

Polynomial Polynomial::operator*(Rational factor) const {
  Polynomial product;
  for (const auto& [monomial, coefficient] : terms_) {
    product.add(monomial, multiply_fractions(coefficient, factor));
  }
  return product;
}

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial product;
  for (const auto& [left, left_coefficient] : terms_) {
    for (const auto& [right, right_coefficient] : other.terms_) {
      Monomial both = left;
      for (const auto& [name, power] : right) {
        both[name] += power;
      }
      product.add(both, multiply_fractions(left_coefficient, right_coefficient));
    }
  }
  return product;
}

Polynomial Polynomial::sum_over(const std::string& name, const Affine& low,
                                const Affine& high) const {
  int degree = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    const auto found = monomial.find(name);
    degree = std::max(degree, found == monomial.end() ? 0 : found->second);
  }
  const std::vector<Polynomial> up_to_high = power_sums(Polynomial(high + 1), degree);
  const std::vector<Polynomial> below_low = power_sums(Polynomial(low), degree);
  Polynomial sum;
  for (const auto& [monomial, coefficient] : terms_) {
    Polynomial rest;
    Monomial others = monomial;
    const auto power = static_cast<std::size_t>(others.count(name) != 0 ? others[name] : 0);
    others.erase(name);
    rest.add(others, coefficient);
    sum = sum + rest * (up_to_high[power] - below_low[power]);
  }
  return sum;
}

std::optional<std::int64_t> Polynomial::evaluate(const IntegerValues& values) const {
  Rational sum;
  for (const auto& [monomial, coefficient] : terms_) {
    Rational product = coefficient;
    for (const auto& [name, power] : monomial) {
      const auto found = values.find(name);
      if (found == values.end()) {
        return std::nullopt;
      }
      for (int i = 0; i < power; ++i) {
        product = multiply_fractions(product, {found->second, 1});
      }
    }
    sum = add_fractions(sum, product);
  }
  require_internal(sum.denominator == 1, "a count that is an integer");
  return sum.numerator;
}

std::string to_string(const Polynomial& polynomial) {
  std::vector<std::pair<Polynomial::Monomial, Rational>> terms(polynomial.terms().begin(),
                                                               polynomial.terms().end());
  std::stable_sort(terms.begin(), terms.end(), [](const auto& left, const auto& right) {
    return degree_of(left.first) > degree_of(right.first);
  });
  std::string text;
  for (const auto& [monomial, coefficient] : terms) {
    const bool is_negative = coefficient.numerator < 0;
    text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
    const std::int64_t size = is_negative ? -coefficient.numerator : coefficient.numerator;
    const std::string number = coefficient.denominator == 1
                                   ? fmt::format("{}", size)
                                   : fmt::format("{}/{}", size, coefficient.denominator);
    const std::string names = spelling_of(monomial);
    text += names.empty() ? number : number == "1" ? names : number + "*" + names;
  }
  return text.empty() ? "0" : text;
}

}  // namespace rtcg::loopy
