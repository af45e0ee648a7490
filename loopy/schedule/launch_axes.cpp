#include "rtcg/loopy/schedule/launch_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/launch_scalars.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// The inames on an axis that the statements use, in the order of the domains.
std::vector<std::string> inames_on(const Kernel& kernel, const NameSet& used, AxisKind kind,
                                   int number) {
  std::vector<std::string> inames;
  for (const std::string& iname : all_inames(kernel)) {
    if (used.count(iname) != 0 && tag_of(kernel, iname) == InameTag{kind, number}) {
      inames.push_back(iname);
    }
  }
  return inames;
}

std::vector<std::string> inames_but(const Kernel& kernel, const std::string& iname) {
  std::vector<std::string> others = all_inames(kernel);
  others.erase(std::remove(others.begin(), others.end(), iname), others.end());
  // scalars that statements assign are not known at the launch either, but for its own formulas
  const auto known = kernel.temporaries.empty() ? Substitution{} : launch_scalars(kernel);
  for (const Temporary& temporary : kernel.temporaries) {
    if (known.count(temporary.name) == 0) {
      others.push_back(temporary.name);
    }
  }
  return others;
}

/// The first value as an affine expression of parameters.
Affine affine_start(const Kernel& kernel, const LoopBounds& bounds, const std::string& iname) {
  if (const auto constant = constant_lower(bounds)) {
    return *constant;
  }
  const auto is_parameter = [&](const Affine::Term& term) {
    return find_temporary(kernel, term.name) == nullptr;
  };
  if (bounds.lower.size() == 1 && bounds.lower.front().divisor == 1 &&
      std::all_of(bounds.lower.front().numerator.terms().begin(),
                  bounds.lower.front().numerator.terms().end(), is_parameter)) {
    return bounds.lower.front().numerator;
  }
  throw Unsupported("loopy.generate.axis_start",
                    fmt::format("iname '{}' is an axis of hardware, but its first value is not an "
                                "integer combination of parameters: shift the domain to start at 0",
                                iname));
}

/// The first of several values that an axis may begin at, if one is an integer combination of
/// parameters: all of its iterations come after each of them. The others become conditions.
std::optional<Affine> one_of_several(const std::vector<Bound>& lower) {
  std::optional<Affine> result;
  for (const Bound& each : lower) {
    if (each.numerator.is_constant()) {
      const Affine value(divide_rounding_up(each.numerator.constant(), each.divisor));
      result = result && result->is_constant() && result->constant() > value.constant() ? *result
                                                                                        : value;
    } else if (each.divisor == 1 && !result) {
      result = each.numerator;
    }
  }
  return result;
}

LoopBounds bounds_on_axis(const Kernel& kernel, const std::string& iname) {
  LoopBounds bounds = loop_bounds(constraints_of(kernel, {iname}), iname, inames_but(kernel, iname),
                                  kernel.assumptions);
  const auto first = bounds.lower.size() > 1 && !constant_lower(bounds)
                         ? one_of_several(bounds.lower)
                         : std::nullopt;
  if (first) {
    bounds.lower = {{*first, 1}};
    ConstraintSet implemented;
    for (const Constraint& each : bounds.implemented.constraints()) {
      if (each.expr.coefficient(iname) <= 0 && !each.is_equality) {
        implemented.add(each);
      }
    }
    implemented.add_nonnegative(Affine(iname) - *first);
    bounds.implemented = std::move(implemented);
  }
  return bounds;
}

std::int64_t constant_extent(const ConstraintSet& constraints, const std::string& iname,
                             const Affine& start) {
  const auto largest = constraints.maximum(Affine(iname) - start);
  if (!largest) {
    throw InvalidInput("loopy.generate.block_not_constant",
                       fmt::format("iname '{}' is an axis of the block, whose length must be a "
                                   "constant, but its length depends on parameters: split it, or "
                                   "fix the parameters",
                                   iname));
  }
  return std::max<std::int64_t>(*largest + 1, 1);
}

/// The first value where constants alone bound the iname from below, as they do most.
std::optional<std::int64_t> constant_start(const ConstraintSet& constraints,
                                           const std::string& iname) {
  std::optional<std::int64_t> start;
  for (const Constraint& each : constraints.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(iname);
    if (coefficient < 0 && !each.is_equality) {
      continue;  // bounds it from above
    }
    if (coefficient != 0 && (coefficient != 1 || each.expr.terms().size() != 1)) {
      return std::nullopt;
    }
    if (coefficient != 0) {
      start = std::max(start.value_or(-each.expr.constant()), -each.expr.constant());
    }
  }
  const auto has_iname = [&](const Congruence& each) { return each.expr.coefficient(iname) != 0; };
  return std::any_of(constraints.congruences().begin(), constraints.congruences().end(), has_iname)
             ? std::nullopt
             : start;
}

class AxisFinder {
 public:
  AxisFinder(const Kernel& kernel, const std::vector<std::size_t>& statements)
      : kernel_(kernel), scalars_(launch_scalars(kernel)) {
    for (const std::size_t statement : statements) {
      const NameSet& within = kernel.instructions[statement].within_inames;
      used_.insert(within.begin(), within.end());
    }
  }

  LaunchAxes find(const std::vector<std::string>& host_loops) {
    add_host_loops(host_loops);
    for (const AxisKind kind : {AxisKind::grid, AxisKind::block}) {
      for (int number = 0; number < 3; ++number) {
        const std::vector<std::string> inames = inames_on(kernel_, used_, kind, number);
        if (!inames.empty()) {
          add_axis(kind, number, inames);
        }
      }
    }
    return std::move(result_);
  }

 private:
  void add_host_loops(const std::vector<std::string>& host_loops) {
    ConstraintSet context = kernel_.assumptions;
    std::vector<std::string> unknown = inames_but(kernel_, "");
    for (const std::string& iname : host_loops) {
      const ConstraintSet constraints = constraints_of(kernel_, {iname});
      check_host_loop(constraints, iname);
      const LoopBounds bounds = loop_bounds(constraints, iname, unknown, context);
      result_.host_loops.push_back({iname, simplify_index(first_value(bounds)),
                                    simplify_index(end_value(bounds)), bounds.step});
      context.add(bounds.implemented);
      result_.context.add(bounds.implemented);
      std::erase(unknown, iname);
    }
  }

  void check_host_loop(const ConstraintSet& constraints, const std::string& iname) const {
    for (const Constraint& each : constraints.constraints()) {
      for (const Affine::Term& term : each.expr.terms()) {
        if (each.expr.coefficient(iname) != 0 && find_temporary(kernel_, term.name) != nullptr) {
          throw InvalidInput(
              "loopy.generate.host_loop_bounds",
              fmt::format("a global barrier is within loop '{}', so the host runs it, but "
                          "its bounds depend on '{}', which the kernel computes: make that an "
                          "argument",
                          iname, term.name));
        }
      }
    }
  }

  void add_axis(AxisKind kind, int number, const std::vector<std::string>& inames) {
    HardwareAxis axis{kind, number, inames.front()};
    std::vector<ConstraintSet> constraints;
    std::vector<LoopBounds> bounds;
    std::vector<Affine> starts;
    for (const std::string& iname : inames) {
      constraints.push_back(constraints_of(kernel_, {iname}));
      bounds.push_back(bounds_on_axis(kernel_, iname));
      starts.push_back(affine_start(kernel_, bounds.back(), iname));
    }
    const Affine offset = Affine(axis.variable) - starts.front();
    axis.first = to_expr(starts.front());
    result_.context.add_nonnegative(offset);
    for (std::size_t i = 1; i < inames.size(); ++i) {
      result_.values.emplace(inames[i], offset + starts[i]);
    }
    if (kind == AxisKind::block) {
      std::int64_t extent = 1;
      for (std::size_t i = 0; i < inames.size(); ++i) {
        extent = std::max(extent, constant_extent(constraints[i], inames[i], starts[i]));
      }
      axis.extent = extent;
      result_.context.add_nonnegative(Affine(extent - 1) - offset);
    } else {
      set_grid_extent(axis, bounds, starts);
    }
    result_.axes.push_back(std::move(axis));
  }

  void set_grid_extent(HardwareAxis& axis, const std::vector<LoopBounds>& bounds,
                       const std::vector<Affine>& starts) {
    std::vector<Expr> extents;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      Expr extent = simplify_index(substitute(end_value(bounds[i]) - to_expr(starts[i]), scalars_));
      if (std::find(extents.begin(), extents.end(), extent) == extents.end()) {
        extents.push_back(std::move(extent));
      }
    }
    axis.extent = extents.front();
    for (std::size_t i = 1; i < extents.size(); ++i) {
      axis.extent = call("max", {axis.extent, extents[i]});
    }
    if (extents.size() == 1) {
      // the launch has exactly these blocks
      for (const Constraint& constraint : bounds.front().implemented.constraints()) {
        result_.context.add(constraint);
      }
    }
  }

  const Kernel& kernel_;
  Substitution scalars_;
  NameSet used_;
  LaunchAxes result_;
};

}  // namespace

const HardwareAxis* LaunchAxes::find(AxisKind kind, int number) const {
  const auto found = std::find_if(axes.begin(), axes.end(), [&](const HardwareAxis& axis) {
    return axis.kind == kind && axis.number == number;
  });
  return found == axes.end() ? nullptr : &*found;
}

bool LaunchAxes::has_block_axes() const {
  return std::any_of(axes.begin(), axes.end(),
                     [](const HardwareAxis& axis) { return axis.kind == AxisKind::block; });
}

Affine axis_start(const Kernel& kernel, const std::string& iname) {
  const auto constant = constant_start(constraints_of(kernel, {iname}), iname);
  return constant ? Affine(*constant) : affine_start(kernel, bounds_on_axis(kernel, iname), iname);
}

LaunchAxes launch_axes(const Kernel& kernel, const std::vector<std::size_t>& statements,
                       const std::vector<std::string>& host_loops) {
  return AxisFinder(kernel, statements).find(host_loops);
}

}  // namespace rtcg::loopy
