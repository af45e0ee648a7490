#include "rtcg/loopy/transform/join_inames.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/fold_quotients.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

bool contains(const Inames& inames, std::string_view iname) {
  return std::find(inames.begin(), inames.end(), iname) != inames.end();
}

struct Range {
  std::int64_t low = 0;
  std::int64_t length = 1;
};

/// The values of an iname that only constants bound, if all of them between its bounds are taken.
std::optional<Range> constant_range(const ConstraintSet& set, const std::string& iname) {
  for (const Congruence& congruence : set.congruences()) {
    if (congruence.expr.coefficient(iname) != 0) {
      return std::nullopt;
    }
  }
  const auto low = set.minimum(Affine(iname));
  const auto high = set.maximum(Affine(iname));
  if (!low || !high || *high < *low) {
    return std::nullopt;
  }
  return Range{*low, *high - *low + 1};
}

/// The home domains' constraints on the inames to be joined, in all domains.
ConstraintSet constraints_on(const Kernel& kernel, const Inames& inames) {
  ConstraintSet result;
  for (const Domain& domain : kernel.domains) {
    for (const Constraint& each : domain.constraints.constraints()) {
      if (std::any_of(inames.begin(), inames.end(), [&](const std::string& iname) {
            return each.expr.coefficient(iname) != 0;
          })) {
        result.add(each);
      }
    }
    for (const Congruence& each : domain.constraints.congruences()) {
      if (std::any_of(inames.begin(), inames.end(), [&](const std::string& iname) {
            return each.expr.coefficient(iname) != 0;
          })) {
        result.add(each);
      }
    }
  }
  return result;
}

/// The ranges of all but the first, where the inames span a box whose first side may depend on
/// parameters and outer inames.
std::optional<std::vector<Range>> find_box(const Kernel& kernel, const Inames& inames) {
  const ConstraintSet set = constraints_on(kernel, inames);
  std::vector<Range> ranges;
  for (std::size_t i = 1; i < inames.size(); ++i) {
    // no constraint may tie it to anything: all of its bounds are constants
    for (const Constraint& each : set.constraints()) {
      if (each.expr.coefficient(inames[i]) != 0 && each.expr.terms().size() > 1) {
        return std::nullopt;
      }
    }
    const std::optional<Range> range = constant_range(set, inames[i]);
    if (!range) {
      return std::nullopt;
    }
    ranges.push_back(*range);
  }
  const Domain& home = *find_home_domain(kernel, inames.front());
  for (const Congruence& each : set.congruences()) {
    if (each.expr.coefficient(inames.front()) != 0) {
      return std::nullopt;
    }
  }
  for (const Constraint& each : set.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(inames.front());
    if (coefficient == 0) {
      continue;
    }
    const auto& own = home.constraints.constraints();
    const bool is_own = std::find(own.begin(), own.end(), each) != own.end();
    if (!is_own || each.is_equality || std::abs(coefficient) != 1) {
      return std::nullopt;
    }
    // an iname of the same domain would have bounds that depend on this one
    for (const Affine::Term& term : each.expr.terms()) {
      if (term.name != inames.front() && contains(home.inames, term.name)) {
        return std::nullopt;
      }
    }
  }
  return ranges;
}

/// The values of an iname between bounds in parameters.
struct ParameterRange {
  Affine low{};
  Affine length{};
};

bool is_scalar_argument(const Kernel& kernel, const std::string& name) {
  const Argument* argument = find_argument(kernel, name);
  return argument != nullptr && !argument->is_array && !is_iname(kernel, name);
}

/// The values of an iname that has one bound on each side, in scalar arguments.
std::optional<ParameterRange> parameter_range(const Kernel& kernel, const ConstraintSet& set,
                                              const std::string& iname) {
  std::vector<Affine> lower;
  std::vector<Affine> upper;
  for (const Constraint& each : set.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(iname);
    if (coefficient == 0) {
      continue;
    }
    const Affine rest = each.expr - Affine(iname, coefficient);
    const bool is_bound =
        !each.is_equality && std::abs(coefficient) == 1 &&
        std::all_of(rest.terms().begin(), rest.terms().end(), [&](const Affine::Term& term) {
          return is_scalar_argument(kernel, term.name);
        });
    if (!is_bound) {
      return std::nullopt;
    }
    (coefficient > 0 ? lower : upper).push_back(coefficient > 0 ? -rest : rest);
  }
  const bool has_gaps =
      std::any_of(set.congruences().begin(), set.congruences().end(),
                  [&](const Congruence& each) { return each.expr.coefficient(iname) != 0; });
  if (has_gaps || lower.size() != 1 || upper.size() != 1) {
    return std::nullopt;
  }
  return ParameterRange{lower.front(), upper.front() - lower.front() + 1};
}

/// The ranges of all, where the inames span a box whose sides depend on parameters alone.
std::optional<std::vector<ParameterRange>> find_parameter_box(const Kernel& kernel,
                                                              const Inames& inames) {
  const ConstraintSet set = constraints_on(kernel, inames);
  std::vector<ParameterRange> ranges;
  for (const std::string& iname : inames) {
    std::optional<ParameterRange> range = parameter_range(kernel, set, iname);
    if (!range) {
      return std::nullopt;
    }
    ranges.push_back(*std::move(range));
  }
  return ranges;
}

/// What is divided by has to be known not to be 0.
std::optional<Refusal> find_empty_side(const Kernel& kernel, const Inames& inames) {
  const std::vector<ParameterRange> ranges = *find_parameter_box(kernel, inames);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (!kernel.assumptions.implies_nonnegative(ranges[i].length - 1)) {
      const std::string fact = to_string(Constraint{ranges[i].length - 1, false});
      return Refusal{
          "loopy.join_inames.may_be_empty",
          fmt::format("{} cannot be joined: '{}' may have no values, and places are divided by "
                      "their number: assume {}",
                      fmt::join(inames, ", "), inames[i], fact)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_name_refusal(const Kernel& kernel, const Inames& inames,
                                         const JoinOptions& options) {
  if (std::optional<std::string> why_not = why_not_new_name(kernel, options.name)) {
    return Refusal{"loopy.join_inames.name_taken", std::move(*why_not)};
  }
  if (std::optional<Refusal> refusal = find_tag_refusal(options.tag)) {
    return refusal;
  }
  if (std::optional<std::string> why_not =
          why_not_on_axis(kernel, inames.front(), parse_iname_tag(options.tag))) {
    return Refusal{"loopy.join_inames.axis_used_twice", std::move(*why_not)};
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const Inames& inames,
                                    const JoinOptions& options) {
  if (NameSet(inames.begin(), inames.end()).size() != inames.size() || inames.size() < 2) {
    return Refusal{
        "loopy.join_inames.too_few",
        fmt::format("{} cannot be joined: give two or more different inames", list_text(inames))};
  }
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.join_inames.unknown_iname", unknown_iname_text(kernel, iname)};
    }
    if (const InameTag tag = tag_of(kernel, iname); tag.kind != AxisKind::sequential) {
      return Refusal{
          "loopy.join_inames.tagged_already",
          fmt::format("'{}' is tagged {}: join first, then tag the result", iname, to_string(tag))};
    }
  }
  const bool has_constant_sides = find_box(kernel, inames).has_value();
  if (!has_constant_sides && !find_parameter_box(kernel, inames)) {
    return Refusal{"loopy.join_inames.not_a_box",
                   fmt::format("{} cannot be joined: all but '{}' need constant bounds, or all of "
                               "them one bound on each side in scalar arguments, and no bound may "
                               "depend on any of them",
                               fmt::join(inames, ", "), inames.front())};
  }
  if (!has_constant_sides) {
    if (std::optional<Refusal> refusal = find_empty_side(kernel, inames)) {
      return refusal;
    }
  }
  if (const std::optional<std::string> apart = find_use_apart(kernel, inames)) {
    return Refusal{"loopy.join_inames.not_together",
                   fmt::format("{} cannot be joined: {} uses some of them, but not all in one "
                               "place",
                               fmt::join(inames, ", "), *apart)};
  }
  return find_name_refusal(kernel, inames, options);
}

/// `c*first + rest >= 0` for `first = joined // step`, c = 1 or -1.
Constraint over_joined(const Constraint& old, const std::string& first, const std::string& joined,
                       std::int64_t step) {
  const std::int64_t coefficient = old.expr.coefficient(first);
  const Affine rest = old.expr - Affine(first, coefficient);
  const Affine expr = coefficient > 0 ? Affine(joined) + rest * step
                                      : rest * step + Affine(step - 1) - Affine(joined);
  return {expr, false};
}

/// What the domains of all but the first say of names that are not their inames: it holds around
/// the joined loop.
ConstraintSet other_conditions(const Kernel& kernel, const Inames& inames) {
  ConstraintSet conditions;
  for (const Domain& domain : kernel.domains) {
    const bool is_other =
        !contains(domain.inames, inames.front()) &&
        std::any_of(domain.inames.begin(), domain.inames.end(),
                    [&](const std::string& iname) { return contains(inames, iname); });
    const auto is_condition = [&](const Affine& expr) {
      return std::none_of(expr.terms().begin(), expr.terms().end(), [&](const Affine::Term& term) {
        return contains(domain.inames, term.name) || contains(inames, term.name);
      });
    };
    for (const Constraint& each : domain.constraints.constraints()) {
      if (is_other && is_condition(each.expr)) {
        conditions.add(each);
      }
    }
    for (const Congruence& each : domain.constraints.congruences()) {
      if (is_other && is_condition(each.expr)) {
        conditions.add(each);
      }
    }
  }
  return conditions;
}

/// The domains with constraints on the joined iname instead of those on the old ones: those that
/// `over_joined` makes of the first one's, and `bounds` in the domain of the first one.
template <class OverJoined>
Kernel with_joined_domain(Kernel kernel, const Inames& inames, const OverJoined& over_joined,
                          const ConstraintSet& bounds) {
  const ConstraintSet conditions = other_conditions(kernel, inames);
  for (Domain& domain : kernel.domains) {
    ConstraintSet constraints;
    if (contains(domain.inames, inames.front())) {
      constraints.add(bounds);
    }
    for (const Constraint& each : domain.constraints.constraints()) {
      if (each.expr.coefficient(inames.front()) != 0) {
        over_joined(each, constraints);
      } else if (std::none_of(inames.begin(), inames.end(), [&](const std::string& iname) {
                   return each.expr.coefficient(iname) != 0;
                 })) {
        constraints.add(each);
      }
    }
    for (const Congruence& each : domain.constraints.congruences()) {
      constraints.add(each);  // those on the joined inames were refused
    }
    if (contains(domain.inames, inames.front())) {
      constraints.add(conditions);
    }
    domain.constraints = std::move(constraints);
  }
  return kernel;
}

/// Indices `4*(ij // 4) + ij % 4` as `ij`: bounds of copies need to know them.
Expr with_cancelled_digits(const Expr& expr, const std::string& joined) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (!is<Access>(part)) {
      return std::nullopt;
    }
    return map_children(part, [&](const Expr& index) {
      if (!has_quotients(index) || free_names(index).count(joined) == 0) {
        return index;
      }
      const Expr folded = fold_quotients(index, [](const Affine&) { return false; });
      return to_affine(folded) ? folded : index;
    });
  });
}

/// Constant sides: a place is divided by the lengths of what varies faster.
Kernel joined_by_constants(Kernel kernel, const Inames& inames, const std::string& joined) {
  const std::vector<Range> ranges = *find_box(kernel, inames);
  std::int64_t step = 1;
  for (const Range& range : ranges) {
    step *= range.length;
  }
  kernel = with_joined_domain(std::move(kernel), inames,
                              [&](const Constraint& old, ConstraintSet& constraints) {
                                constraints.add(over_joined(old, inames.front(), joined, step));
                              },
                              {});
  kernel =
      replace_iname(std::move(kernel), inames.front(), floor_div(name(joined), step), {joined});
  for (std::size_t i = 1; i < inames.size(); ++i) {
    const Range& range = ranges[i - 1];
    step /= range.length;
    const Expr value = modulo(floor_div(name(joined), step), range.length) + range.low;
    // the first one brought the new name into all lists
    kernel = replace_iname(std::move(kernel), inames[i], value, {});
  }
  return map_expressions(std::move(kernel),
                         [&](const Expr& expr) { return with_cancelled_digits(expr, joined); });
}

/// The scalar `end` with the number of all points, ahead of all loops.
///
/// No set of affine constraints says what a product of parameters bounds, but one may mention what
/// a statement computes.
Kernel with_number_of_points(Kernel kernel, const std::vector<ParameterRange>& ranges,
                             const std::string& joined, const std::string& end,
                             NameGenerator& names) {
  Expr product = to_expr(ranges.front().length);
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    product = product * to_expr(ranges[i].length);
  }
  Instruction statement;
  statement.id = names.make("set_" + end);
  statement.kind = Assignment{.targets = {name(end)}, .value = product};
  for (Instruction& each : kernel.instructions) {
    if (each.within_inames.count(joined) != 0 || reduction_inames(each).count(joined) != 0) {
      each.depends_on.insert(statement.id);
    }
  }
  kernel.instructions.insert(kernel.instructions.begin(), std::move(statement));
  kernel.temporaries.push_back({.name = end, .type = cgen::i64});
  return kernel;
}

/// Sides in parameters: from the fastest one on, a place is divided by one length after the other,
/// so a quotient serves the two indices that need it.
Kernel joined_by_parameters(Kernel kernel, const Inames& inames, const std::string& joined,
                            NameGenerator& names) {
  const std::vector<ParameterRange> ranges = *find_parameter_box(kernel, inames);
  const std::string end = names.make(joined + "_end");
  ConstraintSet bounds;
  bounds.add_nonnegative(Affine(joined));
  bounds.add_nonnegative(Affine(end) - Affine(joined) - 1);
  kernel = with_joined_domain(
      std::move(kernel), inames, [](const Constraint&, const ConstraintSet&) {}, bounds);
  Expr place = name(joined);
  std::vector<Expr> values(inames.size(), place);
  for (std::size_t i = inames.size(); i-- > 1;) {
    const Expr length = to_expr(ranges[i].length);
    values[i] = modulo(place, length) + to_expr(ranges[i].low);
    place = floor_div(place, length);
  }
  values.front() = place + to_expr(ranges.front().low);
  for (std::size_t i = 0; i < inames.size(); ++i) {
    // the first one brings the new name into all lists
    kernel = replace_iname(std::move(kernel), inames[i], simplify_index(values[i]),
                           i == 0 ? Inames{joined} : Inames{});
  }
  return with_number_of_points(std::move(kernel), ranges, joined, end, names);
}

/// The joined iname takes the place of the outermost old one.
Inames with_joined_once(const Inames& order, const Inames& inames, const std::string& joined) {
  Inames result;
  for (const std::string& each : order) {
    if (!contains(inames, each)) {
      result.push_back(each);
    } else if (!contains(result, joined)) {
      result.push_back(joined);
    }
  }
  return result;
}

/// The loops may have nested otherwise than they are listed.
void check_order(const Kernel& apart, const Kernel& kernel, const Inames& inames,
                 const std::string& joined) {
  auto orders = iteration_orders(apart, kernel);
  if (!orders) {
    return;
  }
  for (auto& [id, statement] : orders->after) {
    std::vector<LoopLevel> levels;
    for (const LoopLevel& level : statement.levels) {
      if (level.loop != joined) {
        levels.push_back(level);
        continue;
      }
      for (const std::string& iname : inames) {
        levels.push_back({iname, Affine(iname)});
      }
    }
    statement.levels = std::move(levels);
  }
  if (const auto why = find_reversed_dependence(apart, orders->before, orders->after)) {
    throw_if_refused(Refusal{
        "loopy.join_inames.carried_value",
        fmt::format("loops {} cannot become one in this order: {}", list_text(inames), *why)});
  }
}

}  // namespace

Kernel join_inames(Kernel kernel, const std::vector<std::string>& inames,
                   const JoinOptions& options) {
  throw_if_refused(find_refusal(kernel, inames, options));
  const Kernel apart = kernel;
  NameGenerator names = make_name_generator(kernel);
  const std::string joined =
      options.name.empty() ? names.make(fmt::format("{}", fmt::join(inames, "_"))) : options.name;
  std::vector<Inames> priorities;
  for (const Inames& old : kernel.loop_priorities) {
    priorities.push_back(with_joined_once(old, inames, joined));
  }
  kernel = find_box(kernel, inames)
               ? joined_by_constants(std::move(kernel), inames, joined)
               : joined_by_parameters(std::move(kernel), inames, joined, names);
  std::erase_if(kernel.domains, [](const Domain& domain) { return domain.inames.empty(); });
  kernel.loop_priorities = std::move(priorities);
  if (const InameTag tag = parse_iname_tag(options.tag); tag.kind != AxisKind::sequential) {
    kernel.iname_tags[joined] = tag;
  }
  check_order(apart, kernel, inames, joined);
  record(kernel, "join_inames", {list_text(inames)},
         {{"name", options.name}, {"tag", options.tag}});
  return kernel;
}

}  // namespace rtcg::loopy
