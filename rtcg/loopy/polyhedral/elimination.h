#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// Constraints as rows of integers, for Fourier-Motzkin elimination. Internal to polyhedral.
class Elimination {
 public:
  struct Row {
    boost::container::small_vector<std::int64_t, 24> coefficients;
    std::int64_t constant = 0;
    bool is_equality = false;
  };

  /// Each congruence becomes an equality with a column of its own, without a name.
  explicit Elimination(const ConstraintSet& set);

  [[nodiscard]] std::size_t column_of(const std::string& name);
  void add(const Constraint& constraint);
  /// Drops rows that share no column, directly or through others, with the given ones.
  void keep_connected_to(std::vector<std::size_t> columns);
  void eliminate(std::size_t column);
  /// Eliminates all columns but these, the cheapest first.
  void eliminate_all_but(const std::vector<std::size_t>& kept);
  /// Whether a contradiction has been found.
  [[nodiscard]] bool is_contradictory() const noexcept { return is_contradictory_; }
  /// Whether rows were dropped because they were too many or too large.
  [[nodiscard]] bool has_given_up() const noexcept { return has_given_up_; }
  /// The rows, where `first_unnamed` and later columns do not occur, as constraints.
  [[nodiscard]] std::vector<Constraint> named_constraints() const;

 private:
  void add_row(Row row);
  [[nodiscard]] bool eliminate_by_equality(std::size_t column);
  void combine_bounds(std::size_t column);

  std::vector<std::string> names_;  // empty for the columns of congruences
  std::vector<Row> rows_;
  bool is_contradictory_ = false;
  bool has_given_up_ = false;
};

}  // namespace rtcg::loopy
