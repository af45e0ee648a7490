#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {

/// A fraction in lowest terms; the denominator is positive.
struct Rational {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  friend bool operator==(const Rational&, const Rational&) = default;
};

/// A polynomial over integer names with rational coefficients, exact.
///
/// @throws Unsupported  loopy.polynomial.overflow, from every operation, beyond 64 bits
class Polynomial {
 public:
  /// Powers of names; none is zero.
  using Monomial = std::map<std::string, int>;

  Polynomial(std::int64_t constant = 0);
  explicit Polynomial(const Affine& affine);

  [[nodiscard]] const std::map<Monomial, Rational>& terms() const noexcept { return terms_; }
  [[nodiscard]] Polynomial operator+(const Polynomial& other) const;
  [[nodiscard]] Polynomial operator-(const Polynomial& other) const;
  [[nodiscard]] Polynomial operator*(const Polynomial& other) const;
  [[nodiscard]] Polynomial operator*(Rational factor) const;
  /// The sum of this over all integers `name` from `low` to `high`; where there are none, `high`
  /// has to be `low - 1`.
  [[nodiscard]] Polynomial sum_over(const std::string& name, const Affine& low,
                                    const Affine& high) const;
  /// Nothing where a name has no value. The value is an integer wherever the polynomial counts.
  [[nodiscard]] std::optional<std::int64_t> evaluate(const IntegerValues& values) const;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  void add(const Monomial& monomial, Rational coefficient);
  std::map<Monomial, Rational> terms_;
};

/// `n*m + 1/2*n^2 - 3`, highest degree first.
[[nodiscard]] std::string to_string(const Polynomial& polynomial);

}  // namespace rtcg::loopy
