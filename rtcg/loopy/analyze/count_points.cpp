#include "rtcg/loopy/analyze/count_points.h"

#include <algorithm>
#include <cstdlib>

namespace rtcg::loopy {
namespace {

/// What bounds one iname: it lies in [low, high] for all of these.
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

}  // namespace

std::optional<std::vector<CountPiece>> count_points(const ConstraintSet& set,
                                                    const std::vector<std::string>& inames) {
  PointCounter counter;
  return counter.count(set, Polynomial(1), inames) ? std::optional(counter.take()) : std::nullopt;
}

}  // namespace rtcg::loopy
