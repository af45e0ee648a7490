#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {

/// `expr >= 0`, or `expr == 0`.
struct Constraint {
  Affine expr{};
  bool is_equality = false;
  friend bool operator==(const Constraint&, const Constraint&) = default;
};
/// `expr` is a multiple of `modulus`; modulus > 1.
struct Congruence {
  Affine expr{};
  std::int64_t modulus = 2;
  friend bool operator==(const Congruence&, const Congruence&) = default;
};

/// The integer points where all of some affine constraints hold.
///
/// Questions are answered by Fourier-Motzkin elimination over the rationals with integer
/// tightening (coefficients divided by their greatest common divisor, constants rounded down), in
/// checked 64-bit arithmetic. "Yes" is always right; "no" may be wrong where only the integers, not
/// the rationals, say yes, or where the elimination grows too large: a guard too many, never one
/// too few. Boxes and triangles are exact, and so are split loops as the loop they were; of an inner
/// part that is longer than that loop the length of the part is known.
/// @source Schrijver 1986, Theory of Linear and Integer Programming, 12.2
class ConstraintSet {
 public:
  ConstraintSet() = default;

  void add(Constraint constraint);
  void add_nonnegative(Affine expr) { add(Constraint{std::move(expr), false}); }
  void add_zero(Affine expr) { add(Constraint{std::move(expr), true}); }
  void add(Congruence congruence);
  void add(const ConstraintSet& other);

  [[nodiscard]] const std::vector<Constraint>& constraints() const noexcept { return constraints_; }
  [[nodiscard]] const std::vector<Congruence>& congruences() const noexcept { return congruences_; }
  [[nodiscard]] bool is_unconstrained() const noexcept {
    return constraints_.empty() && congruences_.empty();
  }
  /// All names that occur, in the order of their first occurrence.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool mentions(std::string_view name) const;

  /// Whether `expr >= 0` at all points.
  [[nodiscard]] bool implies_nonnegative(const Affine& expr) const;
  [[nodiscard]] bool implies(const Constraint& constraint) const;
  [[nodiscard]] bool implies(const Congruence& congruence) const;
  [[nodiscard]] bool is_empty() const;
  /// Smallest and largest value of `expr` at any point, where there is a bound.
  [[nodiscard]] std::optional<std::int64_t> minimum(const Affine& expr) const;
  [[nodiscard]] std::optional<std::int64_t> maximum(const Affine& expr) const;

  /// What the set says about the other names: a superset of the projection, exact where each lower
  /// bound of `name` meets each upper one with a coefficient of 1. Congruences with `name` that
  /// cannot be expressed without it are dropped.
  [[nodiscard]] ConstraintSet project_out(const std::vector<std::string>& names) const;
  [[nodiscard]] ConstraintSet substitute(std::string_view name, const Affine& value) const;
  [[nodiscard]] ConstraintSet rename(
      const std::function<std::string(const std::string&)>& new_name) const;
  /// Without constraints that the others imply.
  [[nodiscard]] ConstraintSet without_redundancies() const;

  friend bool operator==(const ConstraintSet&, const ConstraintSet&) = default;

 private:
  std::vector<Constraint> constraints_;
  std::vector<Congruence> congruences_;
};

/// `i < n`, `i == 2*j`.
[[nodiscard]] std::string to_string(const Constraint& constraint);
/// Joined by `and`.
[[nodiscard]] std::string to_string(const ConstraintSet& set);

}  // namespace rtcg::loopy
