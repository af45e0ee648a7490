#include "rtcg/loopy/slice/layout_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy {
namespace {

std::string iname_of(std::size_t axis) {
  return fmt::format("axis_{}", axis);
}

/// The longest axis on the grid and the block, the next one that fits on the grid, too; an axis
/// whose length is a parameter counts as longer than any number.
Slicing plain_slicing(const std::vector<Expr>& shape) {
  std::vector<std::pair<std::int64_t, std::size_t>> axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    axes.emplace_back(as_integer(shape[axis]).value_or(INT64_MAX), axis);
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Slicing slicing;
  slicing.inames.push_back(
      {iname_of(axes[0].second), {{0, {AxisKind::grid, 0}}, {128, {AxisKind::block, 0}}}});
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i].first <= most_blocks_across) {
      slicing.inames.push_back({iname_of(axes[i].second), {{0, {AxisKind::grid, 1}}}});
      break;
    }
  }
  return slicing;
}

}  // namespace

Kernel layout_copy(const Kernel& kernel, const LayoutPlan& plan, LayoutCopy direction) {
  static_cast<void>(layout_steps(kernel, plan));  // refuses what is no array
  const Kernel typed = infer_types(expand_subst(kernel));
  const Argument& argument = *find_argument(typed, plan.array);
  std::vector<std::string> inames;
  std::vector<std::string> lengths;
  std::string bounds;
  NameSet parameters;
  for (std::size_t axis = 0; axis < argument.shape.size(); ++axis) {
    inames.push_back(iname_of(axis));
    lengths.push_back(to_string(argument.shape[axis]));
    bounds +=
        fmt::format("{}0 <= {} < {}", axis == 0 ? "" : " and ", inames.back(), lengths.back());
    parameters.merge(free_names(argument.shape[axis]));
  }
  const std::string place = fmt::format("{}", fmt::join(inames, ", "));
  const bool is_back = direction == LayoutCopy::put_in_order;
  Kernel copy = make_kernel(
      fmt::format("{{[{}]: {}}}", place, bounds),
      fmt::format("{}[{}] = {}[{}]", is_back ? "described" : "laid_out", place,
                  is_back ? "laid_out" : "described", place),
      {.name = "copy_" + plan.array,
       .arguments = fmt::format(
           "described, laid_out: f32[{}]{}{}", fmt::join(lengths, ", "),
           parameters.empty() ? "" : "; ",
           parameters.empty() ? "" : fmt::format("{}: i32", fmt::join(parameters, ", ")))});
  for (Argument& each : copy.arguments) {
    if (const Argument* known = find_argument(typed, each.is_array ? plan.array : each.name)) {
      const std::string name = std::exchange(each, *known).name;
      each.name = name;
    }
  }
  LayoutPlan renamed = plan;
  renamed.array = "laid_out";
  Slicing slicing = plain_slicing(argument.shape);
  slicing.layouts.push_back(std::move(renamed));
  return apply(copy, slicing);
}

}  // namespace rtcg::loopy
