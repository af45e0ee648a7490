#include "rtcg/loopy/polyhedral/digits_apart.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

/// Bounds of single names, by the constraints that mention one name alone.
class Box {
 public:
  explicit Box(const ConstraintSet& set) {
    for (const Constraint& each : set.constraints()) {
      if (each.expr.terms().size() != 1 || std::abs(each.expr.terms().front().coefficient) != 1) {
        continue;
      }
      const Affine::Term& term = each.expr.terms().front();
      const std::int64_t bound = -each.expr.constant() * term.coefficient;
      Range& range = ranges_[term.name];
      if (each.is_equality || term.coefficient == 1) {
        range.first = std::max(range.first.value_or(bound), bound);
      }
      if (each.is_equality || term.coefficient == -1) {
        range.last = std::min(range.last.value_or(bound), bound);
      }
    }
  }

  /// Whether the box alone says that the value is greater than -limit and less than limit.
  [[nodiscard]] bool keeps_within(const Affine& expr, std::int64_t limit) const {
    std::int64_t least = expr.constant();
    std::int64_t most = expr.constant();
    for (const Affine::Term& term : expr.terms()) {
      const auto found = ranges_.find(term.name);
      if (found == ranges_.end() || !found->second.first || !found->second.last) {
        return false;
      }
      std::int64_t first = 0;
      std::int64_t last = 0;
      if (__builtin_mul_overflow(term.coefficient, *found->second.first, &first) ||
          __builtin_mul_overflow(term.coefficient, *found->second.last, &last) ||
          __builtin_add_overflow(least, std::min(first, last), &least) ||
          __builtin_add_overflow(most, std::max(first, last), &most)) {
        return false;
      }
    }
    return least > -limit && most < limit;
  }

 private:
  struct Range {
    std::optional<std::int64_t> first{};
    std::optional<std::int64_t> last{};
  };
  std::map<std::string, Range, std::less<>> ranges_{};
};

}  // namespace

ConstraintSet with_digits_apart(ConstraintSet set) {
  const std::vector<Constraint> constraints = set.constraints();
  const Box box(set);
  for (const Constraint& constraint : constraints) {
    if (!constraint.is_equality) {
      continue;
    }
    std::vector<Affine::Term> terms(constraint.expr.terms().begin(), constraint.expr.terms().end());
    std::stable_sort(terms.begin(), terms.end(), [](const auto& one, const auto& other) {
      return std::abs(one.coefficient) > std::abs(other.coefficient);
    });
    std::int64_t divisor = 0;
    Affine left = constraint.expr;  // without the digits found
    Affine rest = constraint.expr;
    for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
      divisor = std::gcd(divisor, terms[i].coefficient);
      rest = rest - Affine(terms[i].name) * terms[i].coefficient;
      if (divisor <= 1) {
        break;
      }
      if (std::abs(terms[i + 1].coefficient) >= divisor) {
        continue;
      }
      // triangles and guards make the elimination lose bounds, and single names have them
      const auto is_found_within = [&] {
        const auto [least, most] = range_of(set, rest);
        return least && most && *least > -divisor && *most < divisor;
      };
      if (box.keeps_within(rest, divisor) || is_found_within()) {
        set.add_zero(left - rest);
        set.add_zero(rest);
        left = rest;
        divisor = 0;
      }
    }
  }
  return set;
}

}  // namespace rtcg::loopy
