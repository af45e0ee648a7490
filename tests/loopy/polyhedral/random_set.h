#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/polyhedral/constraint_set.h"

// Random constraint sets that are small enough to be known point by point.

namespace rtcg::loopy {

inline const std::vector<std::string> set_names = {"x", "y", "z"};
using Point = std::array<std::int64_t, 3>;  // values of set_names

class SetGenerator {
 public:
  explicit SetGenerator(std::uint64_t seed) : engine_(seed) {}

  /// Uniform, both ends included.
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return number(0, 99) < percent; }
  Affine affine(std::int64_t largest_coefficient) {
    Affine result(number(-9, 9));
    for (const std::string& name : set_names) {
      if (chance(65)) {
        result = result + Affine(name, number(-largest_coefficient, largest_coefficient));
      }
    }
    return result;
  }
  /// Within `low <= x, y, z <= high`, with one to five more constraints.
  ConstraintSet set(std::int64_t low, std::int64_t high, std::int64_t largest_coefficient) {
    ConstraintSet result;
    for (const std::string& name : set_names) {
      result.add_nonnegative(Affine(name) - low);
      result.add_nonnegative(Affine(high) - Affine(name));
    }
    for (std::int64_t count = number(1, 5); count > 0; --count) {
      if (chance(15)) {
        result.add_zero(affine(largest_coefficient));
      } else if (chance(15)) {
        result.add(Congruence{affine(largest_coefficient), number(2, 5)});
      } else {
        result.add_nonnegative(affine(largest_coefficient));
      }
    }
    return result;
  }

 private:
  std::mt19937_64 engine_;
};

/// An affine expression with its names looked up.
struct Row {
  Point coefficients{};
  std::int64_t constant = 0;

  explicit Row(const Affine& expr) : constant(expr.constant()) {
    for (std::size_t i = 0; i < set_names.size(); ++i) {
      coefficients[i] = expr.coefficient(set_names[i]);
    }
  }
  [[nodiscard]] std::int64_t at(const Point& point) const {
    return constant + coefficients[0] * point[0] + coefficients[1] * point[1] +
           coefficients[2] * point[2];
  }
};

inline std::int64_t value_at(const Affine& expr, const Point& point) {
  return Row(expr).at(point);
}

/// Asks whether points are in a set, directly from its definition.
class Membership {
 public:
  explicit Membership(const ConstraintSet& set) {
    for (const Constraint& each : set.constraints()) {
      (each.is_equality ? zero_ : nonnegative_).emplace_back(each.expr);
    }
    for (const Congruence& each : set.congruences()) {
      multiples_.emplace_back(Row(each.expr), each.modulus);
    }
  }
  [[nodiscard]] bool contains(const Point& point) const {
    for (const Row& row : nonnegative_) {
      if (row.at(point) < 0) {
        return false;
      }
    }
    for (const Row& row : zero_) {
      if (row.at(point) != 0) {
        return false;
      }
    }
    for (const auto& [row, modulus] : multiples_) {
      if (row.at(point) % modulus != 0) {
        return false;
      }
    }
    return true;
  }

 private:
  std::vector<Row> nonnegative_;
  std::vector<Row> zero_;
  std::vector<std::pair<Row, std::int64_t>> multiples_;
};

inline bool contains(const ConstraintSet& set, const Point& point) {
  return Membership(set).contains(point);
}

/// All points of `low <= x, y, z <= high` in the set.
inline std::vector<Point> points_of(const ConstraintSet& set, std::int64_t low, std::int64_t high) {
  const Membership membership(set);
  std::vector<Point> points;
  Point at{};
  for (at[0] = low; at[0] <= high; ++at[0]) {
    for (at[1] = low; at[1] <= high; ++at[1]) {
      for (at[2] = low; at[2] <= high; ++at[2]) {
        if (membership.contains(at)) {
          points.push_back(at);
        }
      }
    }
  }
  return points;
}

}  // namespace rtcg::loopy
