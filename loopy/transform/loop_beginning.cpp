#include "rtcg/loopy/transform/loop_beginning.h"

#include <algorithm>
#include <cstdint>

namespace rtcg::loopy {
namespace {

/// The least integer that a lower bound allows, by the range of each of its names.
std::optional<std::int64_t> least_by_names(const ConstraintSet& known, const Affine& bound,
                                           const std::string& iname) {
  std::int64_t rest = bound.constant();
  for (const Affine::Term& term : bound.terms()) {
    if (term.name == iname) {
      continue;
    }
    const auto most =
        term.coefficient > 0 ? known.maximum(Affine(term.name)) : known.minimum(Affine(term.name));
    std::int64_t product = 0;
    if (!most || __builtin_mul_overflow(*most, term.coefficient, &product) ||
        __builtin_add_overflow(rest, product, &rest)) {
      return std::nullopt;
    }
  }
  return rest == INT64_MIN ? std::nullopt
                           : std::optional(-divide_rounding_down(rest, bound.coefficient(iname)));
}

}  // namespace

ConstraintSet bounds_of_loop(const Kernel& kernel, const std::string& iname,
                             const NameSet& around) {
  const ConstraintSet all = constraints_of(kernel, {iname});
  std::vector<std::string> others;
  for (const std::string& name : all.names()) {
    if (name != iname && is_iname(kernel, name) && around.count(name) == 0) {
      others.push_back(name);
    }
  }
  const ConstraintSet projected = all.project_out(others);
  ConstraintSet result;
  for (const Constraint& each : projected.constraints()) {
    if (each.expr.coefficient(iname) != 0) {
      result.add(each);
    }
  }
  return result;
}

ConstraintSet in_loop(const ConstraintSet& bounds, const std::string& iname, const Affine& value,
                      const ConstraintSet& known) {
  ConstraintSet result;
  const ConstraintSet moved = bounds.substitute(iname, value);
  for (const Constraint& each : moved.constraints()) {
    if (!known.implies(each)) {
      result.add(each);
    }
  }
  return result;
}

std::optional<Affine> beginning_of(const Kernel& kernel, const std::string& iname,
                                   const NameSet& around) {
  const ConstraintSet bounds = bounds_of_loop(kernel, iname, around);
  std::vector<Affine> lower;
  std::vector<Affine> forms;
  if (const auto first = constraints_of(kernel, {iname}).minimum(Affine(iname))) {
    forms.emplace_back(*first);
  }
  for (const Constraint& each : bounds.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(iname);
    if (each.is_equality) {
      return std::nullopt;
    }
    if (coefficient > 0) {
      lower.push_back(each.expr);
    }
    if (coefficient == 1) {
      forms.push_back(Affine(iname) - each.expr);
    }
  }
  NameSet others = around;
  others.erase(iname);
  const ConstraintSet known = constraints_of(kernel, others);
  const auto is_beginning = [&](const Affine& form) {
    return std::none_of(form.terms().begin(), form.terms().end(),
                        [&](const Affine::Term& term) {
                          const AxisKind kind = tag_of(kernel, term.name).kind;
                          return is_iname(kernel, term.name) &&
                                 (around.count(term.name) == 0 || kind == AxisKind::block ||
                                  kind == AxisKind::block_auto ||
                                  tag_of(kernel, term.name).is_lane());
                        }) &&
           std::all_of(lower.begin(), lower.end(), [&](const Affine& bound) {
             return known.implies_nonnegative(bound.substitute(iname, form));
           });
  };
  const auto found = std::find_if(forms.begin(), forms.end(), is_beginning);
  if (found != forms.end()) {
    return *found;
  }
  // a minimum over the rationals may be too small where each name alone has one that is an integer
  for (const Affine& bound : lower) {
    if (const auto first = least_by_names(known, bound, iname);
        first && is_beginning(Affine(*first))) {
      return Affine(*first);
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::loopy
