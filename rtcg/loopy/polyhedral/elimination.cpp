#include "rtcg/loopy/polyhedral/elimination.h"

#include <algorithm>
#include <numeric>

namespace rtcg::loopy {
namespace {

constexpr std::size_t most_rows = 1500;
constexpr std::size_t most_pairs = 10000;

/// factor_a * a + factor_b * b, or nothing beyond 64 bits.
std::optional<Elimination::Row> combine(const Elimination::Row& a, std::int64_t factor_a,
                                        const Elimination::Row& b, std::int64_t factor_b) {
  Elimination::Row result;
  result.coefficients.resize(a.coefficients.size());
  const auto weighted = [&](std::int64_t left, std::int64_t right, std::int64_t& sum) {
    std::int64_t product_a = 0;
    std::int64_t product_b = 0;
    return !__builtin_mul_overflow(left, factor_a, &product_a) &&
           !__builtin_mul_overflow(right, factor_b, &product_b) &&
           !__builtin_add_overflow(product_a, product_b, &sum) &&
           sum != INT64_MIN;  // which cannot be negated
  };
  for (std::size_t i = 0; i < a.coefficients.size(); ++i) {
    if (!weighted(a.coefficients[i], b.coefficients[i], result.coefficients[i])) {
      return std::nullopt;
    }
  }
  if (!weighted(a.constant, b.constant, result.constant)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace

Elimination::Elimination(const ConstraintSet& set) : names_(set.names()) {
  const std::size_t named = names_.size();
  names_.resize(named + set.congruences().size());
  rows_.reserve(set.constraints().size() + set.congruences().size() + 2);
  for (const Constraint& constraint : set.constraints()) {
    add(constraint);
  }
  for (std::size_t i = 0; i < set.congruences().size(); ++i) {
    const Congruence& congruence = set.congruences()[i];
    Row row;
    row.coefficients.resize(names_.size());
    for (const Affine::Term& term : congruence.expr.terms()) {
      row.coefficients[column_of(term.name)] = term.coefficient;
    }
    row.coefficients[named + i] = -congruence.modulus;
    row.constant = congruence.expr.constant();
    row.is_equality = true;
    add_row(std::move(row));
  }
}

std::size_t Elimination::column_of(const std::string& name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) {
    return static_cast<std::size_t>(found - names_.begin());
  }
  names_.push_back(name);
  for (Row& row : rows_) {
    row.coefficients.push_back(0);
  }
  return names_.size() - 1;
}

void Elimination::add(const Constraint& constraint) {
  for (const Affine::Term& term : constraint.expr.terms()) {
    static_cast<void>(column_of(term.name));
  }
  Row row;
  row.coefficients.resize(names_.size());
  for (const Affine::Term& term : constraint.expr.terms()) {
    row.coefficients[column_of(term.name)] = term.coefficient;
  }
  row.constant = constraint.expr.constant();
  row.is_equality = constraint.is_equality;
  add_row(std::move(row));
}

void Elimination::add_row(Row row) {
  std::int64_t gcd = 0;
  for (const std::int64_t coefficient : row.coefficients) {
    gcd = std::gcd(gcd, coefficient);
  }
  if (gcd == 0) {
    is_contradictory_ =
        is_contradictory_ || (row.is_equality ? row.constant != 0 : row.constant < 0);
    return;
  }
  if (row.is_equality && row.constant % gcd != 0) {
    is_contradictory_ = true;
    return;
  }
  for (std::int64_t& coefficient : row.coefficients) {
    coefficient /= gcd;
  }
  row.constant = divide_rounding_down(row.constant, gcd);
  for (Row& known : rows_) {
    if (known.is_equality == row.is_equality && known.coefficients == row.coefficients) {
      if (row.is_equality) {
        is_contradictory_ = is_contradictory_ || known.constant != row.constant;
      } else {
        known.constant = std::min(known.constant, row.constant);
      }
      return;
    }
  }
  if (rows_.size() >= most_rows) {
    has_given_up_ = true;
    return;
  }
  rows_.push_back(std::move(row));
}

void Elimination::keep_connected_to(std::vector<std::size_t> columns) {
  std::vector<bool> is_kept(rows_.size(), false);
  std::vector<bool> is_reached(names_.size(), false);
  for (const std::size_t column : columns) {
    is_reached[column] = true;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const auto& row = rows_[r].coefficients;
      const auto touches = [&](std::size_t c) { return row[c] != 0 && is_reached[c]; };
      bool connected = false;
      for (std::size_t c = 0; c < row.size() && !connected; ++c) {
        connected = touches(c);
      }
      if (is_kept[r] || !connected) {
        continue;
      }
      is_kept[r] = true;
      changed = true;
      for (std::size_t c = 0; c < row.size(); ++c) {
        is_reached[c] = is_reached[c] || row[c] != 0;
      }
    }
  }
  std::vector<Row> kept;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (is_kept[r]) {
      kept.push_back(std::move(rows_[r]));
    }
  }
  rows_ = std::move(kept);
}

bool Elimination::eliminate_by_equality(std::size_t column) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.is_equality && std::abs(row.coefficients[column]) == 1;
  });
  if (found == rows_.end()) {
    return false;
  }
  const Row equality = *found;
  const std::vector<Row> old = std::move(rows_);
  rows_.clear();
  const std::int64_t unit = equality.coefficients[column];
  for (const Row& row : old) {
    const std::int64_t coefficient = row.coefficients[column];
    if (coefficient == 0) {
      rows_.push_back(row);
      continue;
    }
    std::optional<Row> without = combine(row, 1, equality, -coefficient * unit);
    if (!without) {
      has_given_up_ = true;
      continue;
    }
    without->is_equality = row.is_equality;
    add_row(std::move(*without));
  }
  return true;
}

void Elimination::combine_bounds(std::size_t column) {
  std::vector<Row> lower;
  std::vector<Row> upper;
  std::vector<Row> old = std::move(rows_);
  rows_.clear();
  for (Row& row : old) {
    const std::int64_t coefficient = row.coefficients[column];
    if (coefficient == 0) {
      rows_.push_back(std::move(row));
    } else if (row.is_equality) {
      Row negated = row;
      negated.is_equality = false;
      row.is_equality = false;
      for (std::int64_t& each : negated.coefficients) {
        each = -each;
      }
      negated.constant = -negated.constant;
      (coefficient > 0 ? lower : upper).push_back(std::move(row));
      (coefficient > 0 ? upper : lower).push_back(std::move(negated));
    } else {
      (coefficient > 0 ? lower : upper).push_back(std::move(row));
    }
  }
  if (lower.size() * upper.size() > most_pairs) {
    has_given_up_ = true;  // without these rows the rest says less, and nothing wrong
    return;
  }
  for (const Row& low : lower) {
    for (const Row& high : upper) {
      const std::int64_t a = low.coefficients[column];
      const std::int64_t b = -high.coefficients[column];
      const std::int64_t gcd = std::gcd(a, b);
      std::optional<Row> row = combine(low, b / gcd, high, a / gcd);
      if (row) {
        add_row(std::move(*row));
      } else {
        has_given_up_ = true;
      }
      if (is_contradictory_) {
        return;
      }
    }
  }
}

void Elimination::eliminate(std::size_t column) {
  if (!is_contradictory_ && !eliminate_by_equality(column)) {
    combine_bounds(column);
  }
}

void Elimination::eliminate_all_but(const std::vector<std::size_t>& kept) {
  std::vector<std::size_t> open;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (std::find(kept.begin(), kept.end(), c) == kept.end()) {
      open.push_back(c);
    }
  }
  while (!open.empty() && !is_contradictory_) {
    // cheapest first: an equality costs nothing, else as many rows come as pairs of bounds meet
    std::size_t best = 0;
    std::size_t best_cost = SIZE_MAX;
    for (std::size_t i = 0; i < open.size(); ++i) {
      std::size_t lower = 0;
      std::size_t upper = 0;
      bool has_equality = false;
      for (const Row& row : rows_) {
        const std::int64_t coefficient = row.coefficients[open[i]];
        has_equality = has_equality || (row.is_equality && std::abs(coefficient) == 1);
        lower += coefficient > 0 || (row.is_equality && coefficient != 0) ? 1 : 0;
        upper += coefficient < 0 || (row.is_equality && coefficient != 0) ? 1 : 0;
      }
      const std::size_t cost = has_equality ? 0 : lower * upper;
      if (cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    eliminate(open[best]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

std::vector<Constraint> Elimination::named_constraints() const {
  std::vector<Constraint> constraints;
  for (const Row& row : rows_) {
    Affine expr(row.constant);
    bool has_unnamed = false;
    for (std::size_t c = 0; c < names_.size(); ++c) {
      if (row.coefficients[c] != 0) {
        has_unnamed = has_unnamed || names_[c].empty();
        expr = expr + Affine(names_[c], row.coefficients[c]);
      }
    }
    if (!has_unnamed) {
      constraints.push_back({std::move(expr), row.is_equality});
    }
  }
  return constraints;
}

}  // namespace rtcg::loopy
