#include "rtcg/loopy/analyze/count_points.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rtcg::loopy {
namespace {

/// The bounds of one iname: it is in [low, high] for all of these.
struct Bounds {
  std::vector<Affine> low{};
  std::vector<Affine> high{};
  bool is_whole = true;
};

Bounds bounds_in(const ConstraintSet& set, const std::string& iname) {
  Bounds bounds;
  for (const Constraint& constraint : set.constraints()) {
    const std::int64_t coefficient = constraint.expr.coefficient(iname);
    if (coefficient == 0) {
      continue;
    }
    bounds.is_whole = bounds.is_whole && std::abs(coefficient) == 1;
    // coefficient * iname + rest >= 0
    const Affine rest = constraint.expr.substitute(iname, 0);
    if (coefficient > 0 || constraint.is_equality) {
      bounds.low.push_back(coefficient > 0 ? -rest : rest);
    }
    if (coefficient < 0 || constraint.is_equality) {
      bounds.high.push_back(coefficient < 0 ? rest : -rest);
    }
  }
  for (const Congruence& congruence : set.congruences()) {
    bounds.is_whole = bounds.is_whole && congruence.expr.coefficient(iname) == 0;
  }
  return bounds;
}

class PointCounter {
 public:
  /// Adds the sum of `summand` over the points; false where it cannot.
  bool count(ConstraintSet set, const Polynomial& summand, std::vector<std::string> inames) {
    constexpr std::size_t most_pieces = 64;
    set = set.without_redundancies();
    if (set.is_empty()) {
      return true;
    }
    if (inames.empty()) {
      pieces_.push_back({summand, std::move(set)});
      return pieces_.size() <= most_pieces;
    }
    // few bounds first: each further one makes another piece
    std::optional<std::size_t> best;
    std::size_t best_cost = 0;
    for (std::size_t i = 0; i < inames.size(); ++i) {
      const Bounds bounds = bounds_in(set, inames[i]);
      const std::size_t cost = bounds.low.size() * bounds.high.size();
      if (bounds.is_whole && cost != 0 && (!best || cost < best_cost)) {
        best = i;
        best_cost = cost;
      }
    }
    if (!best || best_cost > most_pieces) {
      return false;
    }
    const std::string iname = inames[*best];
    inames.erase(inames.begin() + static_cast<std::ptrdiff_t>(*best));
    return sum_over(set, summand, iname, inames);
  }
  std::vector<CountPiece> take() { return std::move(pieces_); }

 private:
  bool sum_over(const ConstraintSet& set, const Polynomial& summand, const std::string& iname,
                const std::vector<std::string>& others) {
    const Bounds bounds = bounds_in(set, iname);
    const ConstraintSet outside = set.project_out({iname});
    for (std::size_t l = 0; l < bounds.low.size(); ++l) {
      for (std::size_t h = 0; h < bounds.high.size(); ++h) {
        // where this pair of bounds is the tightest; of equal ones the first
        ConstraintSet here = outside;
        for (std::size_t k = 0; k < bounds.low.size(); ++k) {
          if (k != l) {
            here.add_nonnegative(bounds.low[l] - bounds.low[k] - (k < l ? 1 : 0));
          }
        }
        for (std::size_t k = 0; k < bounds.high.size(); ++k) {
          if (k != h) {
            here.add_nonnegative(bounds.high[k] - bounds.high[h] - (k < h ? 1 : 0));
          }
        }
        here.add_nonnegative(bounds.high[h] - bounds.low[l]);
        const Polynomial sum = summand.sum_over(iname, bounds.low[l], bounds.high[h]);
        if (!count(std::move(here), sum, others)) {
          return false;
        }
      }
    }
    return true;
  }

  std::vector<CountPiece> pieces_;
};

/// A bound of the outer part of a split alone, as one of `length*outer + inner`; others as they
/// are.
Constraint bound_of_whole(const Constraint& bound, const std::string& outer,
                          const std::string& inner, std::int64_t length) {
  const std::int64_t sign = bound.expr.coefficient(outer);
  if (bound.is_equality || (sign != 1 && sign != -1) || bound.expr.coefficient(inner) != 0) {
    return bound;
  }
  return Constraint{bound.expr * length + Affine(inner, sign) + (sign == 1 ? 0 : length - 1)};
}

/// The length of the inner part of a split: `inner` is in [0, length), and `outer` and `inner`
/// occur as `length*outer + inner` everywhere else, or `outer` alone in bounds.
std::optional<std::int64_t> split_length(const ConstraintSet& set, const std::string& outer,
                                         const std::string& inner) {
  std::optional<std::int64_t> length;
  for (const Constraint& each : set.constraints()) {
    if (!each.is_equality && each.expr.coefficient(inner) == -1 && each.expr.terms().size() == 1) {
      length = each.expr.constant() + 1;
    }
  }
  const Affine low(inner);
  bool has_low = false;
  bool is_whole_bounded = false;  // otherwise they are two ordinary loops
  const auto fits = [&](const Affine& expr) {
    return expr.coefficient(outer) == *length * expr.coefficient(inner);
  };
  for (const Constraint& each : set.constraints()) {
    const bool is_low = each == Constraint{low, false};
    has_low = has_low || is_low;
    is_whole_bounded = is_whole_bounded ||
                       (each.expr.coefficient(outer) != 0 && each.expr.coefficient(inner) != 0);
    if (!length || !(is_low || each == Constraint{Affine(*length - 1) - low, false} ||
                     fits(bound_of_whole(each, outer, inner, *length).expr))) {
      return std::nullopt;
    }
  }
  const bool fits_congruences =
      std::all_of(set.congruences().begin(), set.congruences().end(),
                  [&](const Congruence& each) { return fits(each.expr); });
  return has_low && is_whole_bounded && fits_congruences ? length : std::nullopt;
}

/// Undoes splits: `length*outer + inner` takes each value once, so it counts as one iname. The
/// bounds of the parts are not integers; those of the sum are.
bool join_one_split(ConstraintSet& set, std::vector<std::string>& inames) {
  for (const std::string& inner : inames) {
    for (auto outer = inames.begin(); outer != inames.end(); ++outer) {
      const auto length = *outer == inner ? std::nullopt : split_length(set, *outer, inner);
      if (!length) {
        continue;
      }
      const ConstraintSet split = std::exchange(set, {});
      const Affine low(inner);
      for (const Constraint& each : split.constraints()) {
        if (each.expr != low && each.expr != Affine(*length - 1) - low) {
          const Constraint whole = bound_of_whole(each, *outer, inner, *length);
          set.add(Constraint{whole.expr.substitute(*outer, 0), whole.is_equality});
        }
      }
      for (const Congruence& each : split.congruences()) {
        set.add(Congruence{each.expr.substitute(*outer, 0), each.modulus});
      }
      inames.erase(outer);
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<CountPiece>> count_points(const ConstraintSet& set,
                                                    const std::vector<std::string>& inames) {
  ConstraintSet joined = set.without_redundancies();
  std::vector<std::string> rest = inames;
  while (join_one_split(joined, rest)) {
  }
  PointCounter counter;
  return counter.count(joined, Polynomial(1), rest) ? std::optional(counter.take()) : std::nullopt;
}

}  // namespace rtcg::loopy
