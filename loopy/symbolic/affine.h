#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// `c1 * x1 + c2 * x2 + ... + constant` over integer names, exact in 64 bits.
///
/// An immutable value in a normal form: terms sorted by name, none with coefficient zero. Two
/// Affines are equal where their forms are. Copies share the terms.
/// @throws Unsupported  loopy.affine.overflow, from every operation, beyond 64 bits
class Affine {
 public:
  struct Term {
    std::string name;
    std::int64_t coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
  };

  /// In the order of their names. Valid as long as the Affine, or a copy, is.
  using Terms = std::span<const Term>;

  Affine(std::int64_t constant = 0) : constant_(constant) {}
  /// The name itself, times `coefficient`.
  explicit Affine(std::string name, std::int64_t coefficient = 1);
  /// The sum of `terms`, which may come in any order and name the same name twice.
  Affine(std::vector<Term> terms, std::int64_t constant);

  [[nodiscard]] Terms terms() const noexcept { return {terms_.first.get(), terms_.count}; }
  [[nodiscard]] std::int64_t constant() const noexcept { return constant_; }
  [[nodiscard]] bool is_constant() const noexcept { return terms_.count == 0; }
  /// 0 where the name does not occur.
  [[nodiscard]] std::int64_t coefficient(std::string_view name) const noexcept;
  /// Greatest common divisor of the coefficients, without the constant; 0 for a constant.
  [[nodiscard]] std::int64_t coefficient_gcd() const noexcept;

  [[nodiscard]] Affine operator+(const Affine& other) const { return combine(other, 1); }
  [[nodiscard]] Affine operator-(const Affine& other) const { return combine(other, -1); }
  [[nodiscard]] Affine operator-() const { return *this * -1; }
  [[nodiscard]] Affine operator*(std::int64_t factor) const;
  /// With `name` replaced.
  [[nodiscard]] Affine substitute(std::string_view name, const Affine& value) const;
  [[nodiscard]] Affine rename(const std::function<std::string(const std::string&)>& new_name) const;
  /// `coefficients / divisor`, and the constant rounded down: what `this >= 0` says of integers.
  [[nodiscard]] Affine divided_rounding_down(std::int64_t divisor) const;

  /// Whether the two have the same terms; their constants may differ.
  [[nodiscard]] bool has_same_terms(const Affine& other) const noexcept;
  friend bool operator==(const Affine& left, const Affine& right) {
    return left.constant_ == right.constant_ && left.has_same_terms(right);
  }

 private:
  /// The first `count` of a block of terms. No others are read, and none is changed once an Affine
  /// has them.
  struct SharedTerms {
    SharedTerms() = default;
    SharedTerms(const SharedTerms&) = default;
    SharedTerms(SharedTerms&& other) noexcept
        : first(std::move(other.first)), count(std::exchange(other.count, 0)) {}
    SharedTerms& operator=(const SharedTerms&) = default;
    SharedTerms& operator=(SharedTerms&& other) noexcept {
      first = std::move(other.first);
      count = std::exchange(other.count, 0);
      return *this;
    }

    std::shared_ptr<Term[]> first{};
    std::size_t count = 0;
  };
  [[nodiscard]] static SharedTerms room_for(std::size_t most);

  /// this + factor * other
  [[nodiscard]] Affine combine(const Affine& other, std::int64_t factor) const;
  SharedTerms terms_;
  std::int64_t constant_ = 0;
};

/// Names, integers, and sums and multiples of them; nothing for any other expression.
[[nodiscard]] std::optional<Affine> to_affine(const Expr& expr);
/// As an expression: positive terms first, larger coefficients before smaller ones, the constant
/// last.
[[nodiscard]] Expr to_expr(const Affine& affine);
/// An integer expression brought to a short form: affine parts are collected, constants folded.
/// For indices and bounds only: floating-point sums would be reordered.
[[nodiscard]] Expr simplify_index(const Expr& expr);

/// numerator / denominator rounded down or up; denominator > 0.
[[nodiscard]] std::int64_t divide_rounding_down(std::int64_t numerator, std::int64_t denominator);
[[nodiscard]] std::int64_t divide_rounding_up(std::int64_t numerator, std::int64_t denominator);

}  // namespace rtcg::loopy
