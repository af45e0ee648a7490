#include "rtcg/loopy/polyhedral/elimination.h"

#include <algorithm>
#include <numeric>

#include "rtcg/loopy/symbolic/name_mark.h"

namespace rtcg::loopy {
namespace {

constexpr std::size_t most_rows = 1500;
constexpr std::size_t most_pairs = 10000;

}  // namespace

Elimination::Elimination(const ConstraintSet& set) {
  const std::size_t count = set.constraints().size() + set.congruences().size();
  names_.reserve(count + 2);
  marks_.reserve(count + 2);
  entries_.reserve(8 * count + 16);
  for (const Constraint& constraint : set.constraints()) {
    Row row = row_of(constraint.expr);
    row.is_equality = constraint.is_equality;
    if (bring_to_lowest_terms(row)) {
      append(row);  // a set has no row twice
    }
  }
  for (const Congruence& congruence : set.congruences()) {
    for (const Affine::Term& term : congruence.expr.terms()) {
      static_cast<void>(column_of(term.name));
    }
  }
  const std::size_t named = names_.size();
  for (std::size_t i = 0; i < set.congruences().size(); ++i) {
    static_cast<void>(add_column({}));
  }
  for (std::size_t i = 0; i < set.congruences().size(); ++i) {
    const Congruence& congruence = set.congruences()[i];
    Row row = row_of(congruence.expr);
    entries_.push_back({named + i, -congruence.modulus});
    ++row.count;
    row.is_equality = true;
    add_row(row);
  }
}

std::size_t Elimination::add_column(std::string_view name) {
  names_.push_back(name);
  marks_.push_back(name.empty() ? 0 : name_mark(name));
  bounds_.push_back({});
  return names_.size() - 1;
}

std::size_t Elimination::column_of(std::string_view name) {
  const std::uint64_t mark = name_mark(name);
  for (std::size_t column = 0; column < marks_.size(); ++column) {
    if (marks_[column] == mark && names_[column] == name) {
      return column;
    }
  }
  return add_column(name);
}

Elimination::Row Elimination::row_of(const Affine& expr) {
  Row row;
  row.begin = entries_.size();
  row.count = expr.terms().size();
  row.constant = expr.constant();
  for (const Affine::Term& term : expr.terms()) {
    entries_.push_back({column_of(term.name), term.coefficient});
    for (std::size_t i = entries_.size() - 1;
         i > row.begin && entries_[i - 1].column > entries_[i].column; --i) {
      std::swap(entries_[i - 1], entries_[i]);
    }
  }
  return row;
}

void Elimination::add(const Constraint& constraint) {
  Row row = row_of(constraint.expr);
  row.is_equality = constraint.is_equality;
  add_row(row);
}

std::int64_t Elimination::coefficient(const Row& row, std::size_t column) const {
  if ((row.columns & bit_of(column)) == 0) {
    return 0;
  }
  for (const Entry* entry = begin_of(row); entry != end_of(row); ++entry) {
    if (entry->column >= column) {
      return entry->column == column ? entry->coefficient : 0;
    }
  }
  return 0;
}

bool Elimination::have_same_entries(const Row& a, const Row& b) const {
  return a.hash == b.hash && std::equal(begin_of(a), end_of(a), begin_of(b), end_of(b));
}

bool Elimination::bring_to_lowest_terms(Row& row) {
  Entry* const begin = entries_.data() + row.begin;
  Entry* const end = begin + row.count;
  const bool has_unit = std::any_of(begin, end, [](const Entry& entry) {
    return entry.coefficient == 1 || entry.coefficient == -1;
  });
  std::int64_t gcd = has_unit ? 1 : 0;
  for (const Entry* entry = begin; entry != end && gcd != 1; ++entry) {
    gcd = std::gcd(gcd, entry->coefficient);
  }
  if (gcd == 0) {
    is_contradictory_ =
        is_contradictory_ || (row.is_equality ? row.constant != 0 : row.constant < 0);
    return false;
  }
  if (gcd != 1) {
    if (row.is_equality && row.constant % gcd != 0) {
      is_contradictory_ = true;
      return false;
    }
    for (Entry* entry = begin; entry != end; ++entry) {
      entry->coefficient /= gcd;
    }
    row.constant = divide_rounding_down(row.constant, gcd);
  }
  row.hash = 0;
  row.columns = 0;
  for (const Entry* entry = begin; entry != end; ++entry) {
    row.hash = (row.hash ^ (static_cast<std::uint64_t>(entry->coefficient) * 64 + entry->column)) *
               0x9E3779B97F4A7C15U;
    row.columns |= bit_of(entry->column);
  }
  return true;
}

void Elimination::append(const Row& row) {
  if (rows_.size() >= most_rows) {
    has_given_up_ = true;
    return;
  }
  rows_.push_back(row);
  count_bounds(row, 1);
}

void Elimination::add_row(Row row) {
  if (!bring_to_lowest_terms(row)) {
    return;
  }
  for (Row& known : rows_) {
    if (known.is_equality == row.is_equality && have_same_entries(known, row)) {
      if (row.is_equality) {
        is_contradictory_ = is_contradictory_ || known.constant != row.constant;
      } else {
        known.constant = std::min(known.constant, row.constant);
      }
      return;
    }
  }
  append(row);
}

std::optional<Elimination::Row> Elimination::combine(const Row& a, std::int64_t factor_a,
                                                     const Row& b, std::int64_t factor_b) {
  const auto weighted = [&](std::int64_t left, std::int64_t right, std::int64_t& sum) {
    std::int64_t product_a = 0;
    std::int64_t product_b = 0;
    return !__builtin_mul_overflow(left, factor_a, &product_a) &&
           !__builtin_mul_overflow(right, factor_b, &product_b) &&
           !__builtin_add_overflow(product_a, product_b, &sum) &&
           sum != INT64_MIN;  // which cannot be negated
  };
  Row result;
  result.begin = entries_.size();
  if (!weighted(a.constant, b.constant, result.constant)) {
    return std::nullopt;
  }
  entries_.reserve(entries_.size() + a.count + b.count);
  const Entry* left = begin_of(a);
  const Entry* right = begin_of(b);
  const Entry* const left_end = end_of(a);
  const Entry* const right_end = end_of(b);
  while (left != left_end || right != right_end) {
    const bool takes_left =
        left != left_end && (right == right_end || left->column <= right->column);
    const bool takes_right =
        right != right_end && (left == left_end || right->column <= left->column);
    Entry sum{takes_left ? left->column : right->column, 0};
    if (!weighted(takes_left ? left->coefficient : 0, takes_right ? right->coefficient : 0,
                  sum.coefficient)) {
      return std::nullopt;
    }
    if (sum.coefficient != 0) {
      entries_.push_back(sum);
    }
    left += takes_left ? 1 : 0;
    right += takes_right ? 1 : 0;
  }
  result.count = entries_.size() - result.begin;
  return result;
}

void Elimination::keep_connected_to(const std::vector<std::size_t>& columns) {
  std::uint64_t reached = 0;
  for (const std::size_t column : columns) {
    reached |= bit_of(column);
  }
  for (std::uint64_t before = 0; before != reached;) {
    before = reached;
    for (const Row& row : rows_) {
      reached |= (row.columns & reached) != 0 ? row.columns : 0;
    }
  }
  drop_rows([&](const Row& row) { return (row.columns & reached) == 0; });
}

bool Elimination::eliminate_by_equality(std::size_t column) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.is_equality && std::abs(coefficient(row, column)) == 1;
  });
  if (found == rows_.end()) {
    return false;
  }
  const Row equality = *found;
  const Rows old = std::move(rows_);
  rows_.clear();
  const std::int64_t unit = coefficient(equality, column);
  for (const Row& row : old) {
    const std::int64_t own = coefficient(row, column);
    if (own == 0) {
      rows_.push_back(row);
      continue;
    }
    count_bounds(row, -1U);
    std::optional<Row> without = combine(row, 1, equality, -own * unit);
    if (!without) {
      has_given_up_ = true;
      continue;
    }
    without->is_equality = row.is_equality;
    add_row(*without);
  }
  return true;
}

Elimination::Row Elimination::negated(const Row& row) {
  Row result = row;
  result.begin = entries_.size();
  result.constant = -row.constant;
  for (std::size_t i = 0; i < row.count; ++i) {
    const Entry entry = *(begin_of(row) + i);
    entries_.push_back({entry.column, -entry.coefficient});
  }
  return result;
}

void Elimination::combine_bounds(std::size_t column) {
  Rows lower;
  Rows upper;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row row = rows_[i];
    const std::int64_t own = coefficient(row, column);
    if (own == 0) {
      rows_[kept++] = row;
      continue;
    }
    count_bounds(row, -1U);
    if (row.is_equality) {
      row.is_equality = false;
      (own > 0 ? upper : lower).push_back(negated(row));
    }
    (own > 0 ? lower : upper).push_back(row);
  }
  rows_.resize(kept);
  if (lower.size() * upper.size() > most_pairs) {
    has_given_up_ = true;  // without these rows the rest says less, and nothing wrong
    return;
  }
  for (const Row& low : lower) {
    for (const Row& high : upper) {
      const std::int64_t a = coefficient(low, column);
      const std::int64_t b = -coefficient(high, column);
      const std::int64_t gcd = std::gcd(a, b);
      if (const std::optional<Row> row = combine(low, b / gcd, high, a / gcd)) {
        add_row(*row);
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
  if (!eliminate_by_equality(column)) {
    combine_bounds(column);
  }
}

void Elimination::count_bounds(const Row& row, std::uint32_t change) {
  for (const Entry* entry = begin_of(row); entry != end_of(row); ++entry) {
    Bounds& own = bounds_[entry->column];
    own.equalities += row.is_equality && std::abs(entry->coefficient) == 1 ? change : 0;
    own.lower += entry->coefficient > 0 || row.is_equality ? change : 0;
    own.upper += entry->coefficient < 0 || row.is_equality ? change : 0;
  }
}

template <class IsDropped>
void Elimination::drop_rows(const IsDropped& is_dropped) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (is_dropped(rows_[i])) {
      count_bounds(rows_[i], -1U);
    } else {
      rows_[kept++] = rows_[i];
    }
  }
  rows_.resize(kept);
}

/// A column without a lower or an upper bound satisfies any row with it.
void Elimination::drop_unbounded(const Flags& is_open) {
  while (true) {
    std::uint64_t unbounded = 0;
    for (std::size_t column = 0; column < bounds_.size(); ++column) {
      const bool is_unbounded =
          is_open[column] && (bounds_[column].lower == 0) != (bounds_[column].upper == 0);
      unbounded |= is_unbounded ? bit_of(column) : 0;
    }
    if (unbounded == 0) {
      return;
    }
    drop_rows([&](const Row& row) {
      return (row.columns & unbounded) != 0 &&
             std::any_of(begin_of(row), end_of(row), [&](const Entry& entry) {
               return is_open[entry.column] &&
                      (bounds_[entry.column].lower == 0 || bounds_[entry.column].upper == 0);
             });
    });
  }
}

void Elimination::eliminate_all_but(const std::vector<std::size_t>& kept) {
  Flags is_open(names_.size(), true);
  for (const std::size_t column : kept) {
    is_open[column] = false;
  }
  while (!is_contradictory_) {
    drop_unbounded(is_open);
    // with an equality elimination adds no rows, otherwise one for each pair of bounds
    std::size_t best = names_.size();
    std::size_t best_cost = SIZE_MAX;
    for (std::size_t column = 0; column < names_.size() && best_cost != 0; ++column) {
      const Bounds& own = bounds_[column];
      const std::size_t cost = own.equalities != 0 ? 0 : std::size_t{own.lower} * own.upper;
      if (is_open[column] && own.lower + own.upper != 0 && cost < best_cost) {
        best = column;
        best_cost = cost;
      }
    }
    if (best == names_.size()) {
      return;
    }
    eliminate(best);
    is_open[best] = false;
  }
}

std::vector<Constraint> Elimination::named_constraints() const {
  std::vector<Constraint> constraints;
  constraints.reserve(rows_.size());
  for (const Row& row : rows_) {
    const bool is_named = std::all_of(begin_of(row), end_of(row), [&](const Entry& entry) {
      return !names_[entry.column].empty();
    });
    if (!is_named) {
      continue;
    }
    std::vector<Affine::Term> terms;
    terms.reserve(row.count);
    for (const Entry* entry = begin_of(row); entry != end_of(row); ++entry) {
      terms.push_back({std::string(names_[entry->column]), entry->coefficient});
    }
    constraints.push_back({Affine(std::move(terms), row.constant), row.is_equality});
  }
  return constraints;
}

}  // namespace rtcg::loopy
