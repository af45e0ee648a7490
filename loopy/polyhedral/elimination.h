#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "rtcg/loopy/polyhedral/constraint_set.h"

namespace rtcg::loopy {

/// Constraints as sparse rows of integers, for Fourier-Motzkin elimination.
///
/// Names are not copied: what they come from lives as long.
class Elimination {
 public:
  /// Each congruence becomes an equality with a new column, without a name.
  explicit Elimination(const ConstraintSet& set);

  [[nodiscard]] std::size_t column_of(std::string_view name);
  void add(const Constraint& constraint);
  /// Drops rows that share no column, directly or through others, with the given ones. Beyond 64
  /// columns some of these may stay.
  void keep_connected_to(const std::vector<std::size_t>& columns);
  /// Eliminates all columns but these, the cheapest first.
  void eliminate_all_but(const std::vector<std::size_t>& kept);
  /// Whether a contradiction has been found.
  [[nodiscard]] bool is_contradictory() const noexcept { return is_contradictory_; }
  /// Whether rows were dropped because they were too many or too large.
  [[nodiscard]] bool has_given_up() const noexcept { return has_given_up_; }
  /// The rows in which no columns without names occur, as constraints.
  [[nodiscard]] std::vector<Constraint> named_constraints() const;

 private:
  struct Entry {
    std::size_t column = 0;
    std::int64_t coefficient = 0;  // not zero
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  /// Entries by ascending column; they are in entries_, where nothing is changed or removed.
  struct Row {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::int64_t constant = 0;
    std::uint64_t hash = 0;     // of the entries
    std::uint64_t columns = 0;  // bit_of() each column
    bool is_equality = false;
  };
  using Rows = boost::container::small_vector<Row, 32>;

  /// One of 64 bits: rows with no bit in common have no column in common.
  [[nodiscard]] static std::uint64_t bit_of(std::size_t column) {
    return std::uint64_t{1} << (column % 64);
  }
  [[nodiscard]] const Entry* begin_of(const Row& row) const { return entries_.data() + row.begin; }
  [[nodiscard]] const Entry* end_of(const Row& row) const { return begin_of(row) + row.count; }
  [[nodiscard]] std::int64_t coefficient(const Row& row, std::size_t column) const;
  [[nodiscard]] bool have_same_entries(const Row& a, const Row& b) const;
  std::size_t add_column(std::string_view name);
  /// Adds the terms to entries_, as those of a row that is to follow.
  Row row_of(const Affine& expr);
  /// Whether a row is left, which is not always true or never.
  [[nodiscard]] bool bring_to_lowest_terms(Row& row);
  /// Takes a row, brought to its lowest terms.
  void add_row(Row row);
  /// Takes a row that differs from all others.
  void append(const Row& row);
  /// factor_a * a + factor_b * b, or nothing beyond 64 bits.
  [[nodiscard]] std::optional<Row> combine(const Row& a, std::int64_t factor_a, const Row& b,
                                           std::int64_t factor_b);
  [[nodiscard]] Row negated(const Row& row);
  [[nodiscard]] bool eliminate_by_equality(std::size_t column);
  void combine_bounds(std::size_t column);
  void eliminate(std::size_t column);
  /// How many rows bound a column.
  struct Bounds {
    std::uint32_t lower = 0;
    std::uint32_t upper = 0;
    std::uint32_t equalities = 0;  ///< with coefficient 1 or -1
  };
  using Flags = boost::container::small_vector<bool, 48>;  // of each column
  /// Adds `change`, 1 or -1, to the bounds of the row's columns.
  void count_bounds(const Row& row, std::uint32_t change);
  /// Keeps the rows that `is_dropped` does not name.
  template <class IsDropped>
  void drop_rows(const IsDropped& is_dropped);
  /// Drops the rows of open columns that are bounded from one side only.
  void drop_unbounded(const Flags& is_open);

  // most questions are small, and asked often: they take no memory beyond the stack
  boost::container::small_vector<std::string_view, 32> names_;  // empty for those of congruences
  boost::container::small_vector<std::uint64_t, 32> marks_;     // equal names have equal marks
  boost::container::small_vector<Entry, 256> entries_;
  Rows rows_;
  boost::container::small_vector<Bounds, 48> bounds_;  // of each column, by rows_
  bool is_contradictory_ = false;
  bool has_given_up_ = false;
};

}  // namespace rtcg::loopy
