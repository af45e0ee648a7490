#include "rtcg/loopy/transform/guarded_reads.h"

#include <algorithm>
#include <optional>

#include "rtcg/loopy/analyze/find_integer_point.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"

namespace rtcg::loopy {
namespace {

class ReadGuard {
 public:
  explicit ReadGuard(const Kernel& kernel) : kernel_(kernel) {}

  /// Where an expression is evaluated.
  struct Place {
    ConstraintSet known{};
    NameSet bound{};     // inames of the reductions around it
    bool always = true;  // evaluated wherever the value is
  };

  /// `expr` with guards at the reads that are not always evaluated; conditions of the others are
  /// added to `conditions`.
  Expr guarded(const Expr& expr, const Place& place) {
    const auto child = [&](const Expr& each) { return guarded(each, place); };
    if (const Conditional* choice = get_if<Conditional>(expr)) {
      return map_in_order(expr, [&](std::size_t part) {
        return part == 0   ? place
               : part == 1 ? branch(place, choice->condition)
                           : branch(place, logical_not(choice->condition));
      });
    }
    if (const Logical* logical = get_if<Logical>(expr)) {
      return map_in_order(expr, [&](std::size_t part) {
        Place at = place;
        for (std::size_t i = 0; i < part; ++i) {
          const Expr& before = logical->operands[i];
          at = branch(at, logical->op == LogicalOp::and_ ? before : logical_not(before));
        }
        return at;
      });
    }
    if (as_scan(expr) != nullptr) {
      Place at = place;
      at.always = false;
      return map_children(expr, [&](const Expr& each) { return guarded(each, at); });
    }
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      const Place at = within(place, *reduction);
      return map_children(expr, [&](const Expr& each) { return guarded(each, at); });
    }
    const Expr mapped = map_children(expr, child);
    const Access* access = get_if<Access>(mapped);
    return access != nullptr ? guarded_access(mapped, *access, place) : mapped;
  }

  /// The conditions of the reads that are always evaluated, without those that others imply.
  [[nodiscard]] std::vector<Expr> conditions(const ConstraintSet& here) const {
    std::vector<Expr> kept = conditions_;
    for (std::size_t i = kept.size(); i-- > 0;) {
      ConstraintSet others = here;
      for (std::size_t j = 0; j < kept.size(); ++j) {
        if (j != i) {
          others.add(context_of(kept[j]));
        }
      }
      const auto forms = comparisons_of(kept[i]);
      const bool is_implied =
          forms && std::all_of(forms->begin(), forms->end(), [&](const ComparisonForm& form) {
            return form.quotients.is_unconstrained() && others.implies(form.constraint);
          });
      if (is_implied) {
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return kept;
  }
  [[nodiscard]] bool has_inner_guards() const { return has_inner_guards_; }

 private:
  template <class PlaceOf>
  Expr map_in_order(const Expr& whole, const PlaceOf& place_of) {
    std::size_t part = 0;
    return map_children(whole, [&](const Expr& each) { return guarded(each, place_of(part++)); });
  }

  static Place branch(Place place, const Expr& condition) {
    place.known.add(context_of(condition));
    place.always = false;
    return place;
  }

  /// Within a reduction: its operand is always evaluated if it has iterations in every case, all in
  /// one thread.
  [[nodiscard]] Place within(Place place, const Reduction& reduction) const {
    const NameSet inames(reduction.inames.begin(), reduction.inames.end());
    const ConstraintSet all = constraints_of(kernel_, inames);
    for (const std::string& iname : inames) {
      const Domain* home = find_home_domain(kernel_, iname);
      const std::vector<std::string> names = home->constraints.names();
      const auto [first, last] = range_of(all, Affine(iname));
      const bool is_constant =
          first && last && *first <= *last &&
          std::all_of(names.begin(), names.end(), [&](const std::string& name) {
            return std::find(home->inames.begin(), home->inames.end(), name) != home->inames.end();
          });
      place.always = place.always && is_constant && !tag_of(kernel_, iname).is_parallel();
    }
    place.known.add(all);
    place.bound.insert(inames.begin(), inames.end());
    return place;
  }

  Expr guarded_access(const Expr& expr, const Access& access, const Place& place) {
    const std::optional<ArrayLayout> layout = find_layout(kernel_, access.array);
    if (!layout || layout->shape.size() != access.indices.size() ||
        find_image(kernel_, access.array) != nullptr) {  // has values outside, too
      return expr;
    }
    std::vector<Expr> inner;
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      for (Expr& condition :
           open_conditions(access.indices[axis], layout->shape[axis], place.known)) {
        const NameSet names = free_names(condition);
        const bool is_bound = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return place.bound.count(name) != 0;
        });
        if (!place.always || is_bound) {
          inner.push_back(std::move(condition));
        } else if (std::find(conditions_.begin(), conditions_.end(), condition) ==
                   conditions_.end()) {
          conditions_.push_back(std::move(condition));
        }
      }
    }
    has_inner_guards_ = has_inner_guards_ || !inner.empty();
    return inner.empty() ? expr : Expr(Conditional{logical_and(inner), expr, Expr(0)});
  }

  /// What an index within its axis has to meet beyond what is known.
  [[nodiscard]] std::vector<Expr> open_conditions(const Expr& index, const Expr& length,
                                                  const ConstraintSet& known) const {
    const std::vector<IndexCase> cases = index_cases(index);  // none where it reads arrays
    const NameSet names = free_names(index);
    const bool is_computed = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return find_temporary(kernel_, name) != nullptr;
    });
    const std::optional<Affine> end = to_affine(length);
    const auto is_known = [&](const auto& distance_of) {
      return std::all_of(cases.begin(), cases.end(), [&](const IndexCase& each) {
        ConstraintSet all = known;
        all.add(each.context);
        return is_nonnegative(all, distance_of(each.value));
      });
    };
    std::vector<Expr> open;
    if (cases.empty() || is_computed) {
      return open;
    }
    if (!is_known([](const Affine& value) { return value; })) {
      open.push_back(Comparison{ComparisonOp::less_equal, 0, index});
    }
    if (!end || !is_known([&](const Affine& value) { return *end - value - 1; })) {
      // the end is a multiple of the divisor
      const FloorDiv* quotient = get_if<FloorDiv>(index);
      const auto divisor = quotient != nullptr ? as_integer(quotient->denominator) : std::nullopt;
      open.push_back(
          divisor && *divisor > 0 && end
              ? Comparison{ComparisonOp::less, quotient->numerator, to_expr(*end * *divisor)}
              : Comparison{ComparisonOp::less, index, length});
    }
    return open;
  }

  /// As check_bounds decides it: what no example refutes holds.
  [[nodiscard]] bool is_nonnegative(const ConstraintSet& known, const Affine& distance) const {
    if (known.implies_nonnegative(distance)) {
      return true;
    }
    ConstraintSet outside = known;
    outside.add_nonnegative(-distance - 1);
    std::vector<std::string> names;
    for (const bool are_arguments : {true, false}) {
      for (const std::string& name : outside.names()) {
        if ((find_argument(kernel_, name) != nullptr) == are_arguments) {
          names.push_back(name);
        }
      }
    }
    return !find_integer_point(outside, names, [](const IntegerValues&) { return true; });
  }

  const Kernel& kernel_;
  std::vector<Expr> conditions_;
  bool has_inner_guards_ = false;
};

}  // namespace

Expr with_guarded_reads(const Kernel& kernel, const Expr& value, const ConstraintSet& here) {
  ReadGuard guard(kernel);
  const Expr expanded = expand_rules(kernel, value);
  NameSet inames = free_names(expanded);
  std::erase_if(inames, [&](const std::string& name) { return !is_iname(kernel, name); });
  ConstraintSet known = here;
  known.add(constraints_of(kernel, inames));
  const Expr inside = guard.guarded(expanded, {known});
  const Expr kept = guard.has_inner_guards() ? inside : value;  // rules stay rules
  const std::vector<Expr> conditions = guard.conditions(known);
  return conditions.empty() ? kept : Expr(Conditional{logical_and(conditions), kept, Expr(0)});
}

}  // namespace rtcg::loopy
