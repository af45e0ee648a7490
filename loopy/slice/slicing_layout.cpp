// From the layout of an argument to its transformations.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/array_layout.h"

namespace rtcg::loopy {
namespace {

std::string bracketed(const std::string& array) {
  return fmt::format("[{}]", array);
}

/// C text that touches the array at unknown places.
bool is_in_raw_text(const Kernel& kernel, std::string_view array) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        const RawCode* raw = get_if<RawCode>(each);
        const std::string name(array);
        return raw != nullptr && (raw->reads.count(name) != 0 || raw->writes.count(name) != 0);
      });
}

/// What does not fit the axes of the array; nothing if all fits.
std::optional<std::string> find_fault(const Argument& argument, const LayoutPlan& plan) {
  const std::size_t axes = argument.shape.size();
  std::vector<std::size_t> sorted = plan.order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> all(axes);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (!plan.order.empty() && sorted != all) {
    return fmt::format("'{}' has {} axes, and 'order' names each of them once, from 0 on",
                       plan.array, axes);
  }
  if (plan.piece < 0 || (plan.piece > 0 && plan.cut_axis >= axes)) {
    return fmt::format("'{}' has no axis {} to cut: it has {}, counted from 0", plan.array,
                       plan.cut_axis, axes);
  }
  if (plan.padding < 0 || (plan.padding > 0 && axes + (plan.piece > 0 ? 1 : 0) < 2)) {
    return fmt::format("'{}' has one axis, and so no rows to pad", plan.array);
  }
  if (plan.padding > 0 && plan.order.empty() && plan.piece == 0 &&
      !argument.strides_elements.empty()) {
    return fmt::format("'{}' has strides of its own: say which axes its rows are by 'order'",
                       plan.array);
  }
  return std::nullopt;
}

/// The axes after the cut, from the slowest varying to the fastest: the inner part of a cut axis
/// comes after its outer part, and varies fastest.
std::vector<std::size_t> final_order(const LayoutPlan& plan, std::size_t axes) {
  std::vector<std::size_t> order = plan.order;
  if (order.empty()) {
    order.resize(axes);
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  if (plan.piece > 0) {
    for (std::size_t& axis : order) {
      axis += axis > plan.cut_axis ? 1 : 0;
    }
    order.push_back(plan.cut_axis + 1);
  }
  return order;
}

/// `N1,N0`: how deep each axis nests.
std::string nesting_of(const std::vector<std::size_t>& order) {
  std::vector<std::string> words(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    words[order[place]] = fmt::format("N{}", order.size() - 1 - place);
  }
  return fmt::format("{}", fmt::join(words, ","));
}

}  // namespace

std::optional<std::string> why_not_laid_out(const Kernel& kernel, std::string_view array) {
  const Argument* argument = find_argument(kernel, array);
  if (argument == nullptr || !argument->is_array || argument->shape.empty()) {
    return fmt::format("kernel '{}' has no argument '{}' that is an array of known shape",
                       kernel.name, array);
  }
  if (argument->address_space == AddressSpace::image) {
    return fmt::format("'{}' is an image, whose elements devices order themselves", array);
  }
  if (has_linear_access(kernel, array) || is_in_raw_text(kernel, array)) {
    return fmt::format(
        "statements of kernel '{}' know the places of the elements of '{}' in memory", kernel.name,
        array);
  }
  return std::nullopt;
}

std::vector<RecipeStep> layout_steps(const Kernel& kernel, const LayoutPlan& plan) {
  const Argument* argument = find_argument(kernel, plan.array);
  const std::optional<std::string> refusal = why_not_laid_out(kernel, plan.array);
  if (refusal && (argument == nullptr || !argument->is_array || argument->shape.empty())) {
    throw InvalidInput("loopy.recipe_of.unknown_array", *refusal);
  }
  const std::optional<std::string> fault = refusal ? refusal : find_fault(*argument, plan);
  if (fault) {
    throw InvalidInput("loopy.recipe_of.bad_layout",
                       fmt::format("'{}' cannot be: {}", to_string(plan), *fault));
  }
  std::vector<RecipeStep> steps;
  const std::vector<std::size_t> order = final_order(plan, argument->shape.size());
  if (plan.piece > 0) {
    steps.push_back({"split_array_axis",
                     {plan.array, std::to_string(plan.cut_axis), std::to_string(plan.piece)},
                     {}});
  }
  if (plan.piece > 0 || !plan.order.empty()) {
    steps.push_back({"tag_array_axes", {bracketed(plan.array), nesting_of(order)}, {}});
  }
  if (plan.padding > 0) {
    steps.push_back(
        {"add_padding",
         {plan.array, std::to_string(order[order.size() - 2]), std::to_string(plan.padding)},
         {}});
  }
  return steps;
}

Kernel laid_out(Kernel kernel, const LayoutPlan& plan) {
  const std::vector<RecipeStep> steps = layout_steps(kernel, plan);
  return apply_recipe(std::move(kernel), steps);
}

}  // namespace rtcg::loopy
