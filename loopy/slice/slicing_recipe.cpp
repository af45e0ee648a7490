// From a slicing to its transformations.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/apart_nests.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/carry_values.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/hoist_factors.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/join_domains.h"

namespace rtcg::loopy {
namespace {

using detail::find_march;
using detail::find_sliced;
using detail::list_of;

void add_layouts(const Kernel& kernel, const Slicing& slicing, std::vector<RecipeStep>& steps) {
  NameSet known;
  for (const LayoutPlan& plan : slicing.layouts) {
    if (!known.insert(plan.array).second) {
      throw InvalidInput(
          "loopy.recipe_of.bad_layout",
          fmt::format("slicing '{}' lays '{}' out twice", to_string(slicing), plan.array));
    }
    for (RecipeStep& step : layout_steps(kernel, plan)) {
      steps.push_back(std::move(step));
    }
  }
}

/// Whether a rule's body reads what is fetched, or kept in a queue, and is no view of it.
bool fetches_from_rules(const Kernel& kernel, const Slicing& slicing) {
  const auto is_in_rules = [&](const auto& plan) {
    const SubstitutionRule* view = detail::find_view(kernel, plan.array);
    return std::any_of(kernel.rules.begin(), kernel.rules.end(), [&](const auto& rule) {
      return &rule != view && accessed_arrays(rule.body).count(plan.array) != 0;
    });
  };
  return std::any_of(slicing.fetches.begin(), slicing.fetches.end(), is_in_rules) ||
         std::any_of(slicing.queues.begin(), slicing.queues.end(), is_in_rules);
}

/// Whether a reduction is over both inames.
bool are_of_one_reduction(const Kernel& expanded, const std::string& a, const std::string& b) {
  bool found = false;
  for (const Instruction& instruction : expanded.instructions) {
    for_each_expression(instruction, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        if (const Reduction* reduction = get_if<Reduction>(part)) {
          const auto& inames = reduction->inames;
          found = found || (std::find(inames.begin(), inames.end(), a) != inames.end() &&
                            std::find(inames.begin(), inames.end(), b) != inames.end());
        }
        return !found;
      });
    });
  }
  return found;
}

/// What makes one pass of the reductions that a slicing names, one for those of each nest.
std::vector<RecipeStep> online_steps(const Kernel& expanded, const Slicing& slicing) {
  std::vector<RecipeStep> steps;
  std::vector<std::vector<std::string>> passes;
  for (const std::vector<std::string>& each : slicing.online) {
    const auto pass = std::find_if(passes.begin(), passes.end(), [&](const auto& loops) {
      return are_of_one_reduction(expanded, loops.front(), each.front());
    });
    (pass != passes.end() ? *pass : passes.emplace_back()).push_back(each.front());
    if (each.size() > 1) {
      steps.push_back({"rename_inames", {list_of(each), each.front()}, {}});
    }
  }
  for (const std::vector<std::string>& loops : passes) {
    steps.push_back({"fuse_reductions", {list_of(loops)}, {}});
  }
  return steps;
}

/// Takes the first values of a slicing that are stored alike, in arrays or in loops, and gives what
/// stores them. Temporaries that the loops of arrays hand on get an element for each iteration
/// before.
std::vector<RecipeStep> take_store_steps(const Kernel& expanded, Slicing& slicing) {
  std::vector<RecipeStep> steps;
  const bool in_loops = slicing.stores.front().in_loops;
  if (!in_loops) {
    for (const std::string& each : slicing.global_values) {
      detail::add_global_value(expanded, each, steps);
    }
    slicing.global_values.clear();
  }
  while (!slicing.stores.empty() && slicing.stores.front().in_loops == in_loops) {
    const StorePlan& plan = slicing.stores.front();
    steps.push_back({"store_value", {plan.array, list_of(plan.inames)}, {}});
    if (in_loops) {
      steps.back().options = {{"in_loops", "yes"}};
    }
    slicing.stores.erase(slicing.stores.begin());
  }
  return steps;
}

/// What computes temporaries where they are used, without the loops that only they had.
std::vector<RecipeStep> inline_steps(const Kernel& kernel, const Slicing& slicing) {
  std::vector<RecipeStep> steps;
  const auto has_sums = [&](const Instruction& each) {
    const NameSet written = written_variables(each);
    return !reduction_inames(each).empty() &&
           std::any_of(slicing.inlines.begin(), slicing.inlines.end(),
                       [&](const std::string& name) { return written.count(name) != 0; });
  };
  if (std::any_of(kernel.instructions.begin(), kernel.instructions.end(), has_sums)) {
    // sums of several temporaries meet in one statement
    steps.push_back({"make_reduction_inames_unique", {}, {}});
  }
  for (const std::string& each : slicing.inlines) {
    if (find_temporary(kernel, each) == nullptr) {
      throw InvalidInput(
          "loopy.recipe_of.unknown_temporary",
          fmt::format("'inline {0}': kernel '{1}' has no temporary '{0}'", each, kernel.name));
    }
    steps.push_back({"assignment_to_subst", {each}, {}});
  }
  steps.push_back({"remove_unused_inames", {}, {}});
  return steps;
}

/// The steps, and those of a slicing of the kernel after them.
std::vector<RecipeStep> followed_by(const Kernel& kernel, std::vector<RecipeStep> steps,
                                    const Slicing& slicing) {
  for (RecipeStep& step : recipe_of(apply_recipe(kernel, steps), slicing)) {
    steps.push_back(std::move(step));
  }
  return steps;
}

/// What the kernel with the fused inames takes, after what fuses them.
std::vector<RecipeStep> fused_recipe(const Kernel& kernel, const Slicing& slicing) {
  std::vector<RecipeStep> steps;
  if (fetches_from_rules(kernel, slicing)) {
    steps.push_back({"expand_subst", {}, {}});
  }
  for (RecipeStep& step : detail::fusion_steps(slicing.fusions)) {
    steps.push_back(std::move(step));
  }
  Kernel fused = apply_recipe(kernel, steps);
  NameSet viewed;
  for (const FetchPlan& fetch : slicing.fetches) {
    if (!viewed.insert(fetch.array).second) {
      continue;
    }
    for (RecipeStep& step : detail::view_steps(fused, fetch.array)) {
      steps.push_back(step);
      fused = apply_recipe(std::move(fused), {step});
    }
  }
  Slicing rest = slicing;
  rest.fusions.clear();
  for (RecipeStep& step : recipe_of(fused, rest)) {
    steps.push_back(std::move(step));
  }
  return steps;
}

/// Neighbouring threads touch neighbours of the iname. Each thread has several.
RecipeStep exchange_step(const Slicing& slicing, const std::string& iname) {
  const InameSlicing* sliced = detail::find_sliced(slicing, iname);
  for (std::size_t i = 0; sliced != nullptr && i + 1 < sliced->factors.size(); ++i) {
    if (sliced->factors[i].axis == InameTag{AxisKind::block, 0}) {
      return {"exchange_items", {detail::part_name(iname, i)}, {}};
    }
  }
  throw InvalidInput("loopy.recipe_of.nothing_to_exchange",
                     fmt::format("'exchange {0}' takes an iname with loops within l.0, "
                                 "'{0}: g.0 l.0*256 unr*4 vec*4'",
                                 iname));
}

NameSet all_reduction_inames(const Kernel& kernel) {
  NameSet reduced;
  for (const Instruction& instruction : kernel.instructions) {
    reduced.merge(reduction_inames(instruction));
  }
  return reduced;
}

/// Checks the words that say how blocks share a reduction or a scan.
void check_sharing(const Slicing& slicing, const NameSet& reduced) {
  const auto check_reductions = [&](const std::vector<std::string>& inames, const char* how) {
    for (const std::string& each : inames) {
      if (reduced.count(each) == 0 || detail::find_sliced(slicing, each) == nullptr) {
        throw InvalidInput("loopy.recipe_of.nothing_to_share",
                           fmt::format("'{0} {1}' takes a reduction that is sliced, "
                                       "'{1}: g.1 l.0*256'",
                                       how, each));
      }
    }
  };
  check_reductions(slicing.atomic_reductions, "atomic");
  check_reductions(slicing.last_block_reductions, "last");
  for (const std::string& each : slicing.look_back) {
    const InameSlicing* sliced = detail::find_sliced(slicing, each);
    if (sliced == nullptr || sliced->factors.front().axis.kind != AxisKind::grid) {
      throw InvalidInput("loopy.recipe_of.nothing_to_share",
                         fmt::format("'look_back {0}' takes a loop of a scan whose outermost part "
                                     "is on the grid, '{0}: g.0 l.0*256'",
                                     each));
    }
  }
}

/// Cuts the loops, in the order of the slicing.
void add_cuts(const Kernel& kernel, const Kernel& expanded, const Slicing& slicing,
              std::vector<RecipeStep>& steps) {
  for (const InameSlicing& each : slicing.inames) {
    if (!is_iname(kernel, each.iname)) {
      throw InvalidInput("loopy.recipe_of.unknown_iname",
                         fmt::format("kernel '{}' has no iname '{}': its inames are {}",
                                     kernel.name, each.iname, fmt::join(all_inames(kernel), ", ")));
    }
    if (find_march(slicing, each.iname) == nullptr) {
      detail::add_splits(each, steps);
    }
  }
  for (const MarchPlan& each : slicing.marches) {
    detail::add_march(expanded, slicing, each, steps);
  }
}

/// Whether blocks share the reduction only after tiles are fetched: these are fetched by rules,
/// which reduce_over_grid expands, and are in the loops of the cuts.
bool is_shared_late(const Slicing& slicing, const InameSlicing& reduction) {
  return reduction.factors.front().axis.kind == AxisKind::grid && !slicing.fetches.empty();
}

/// What threads and blocks share of reductions and scans before copies are made.
void add_early_sharing(const Kernel& expanded, const Slicing& slicing, const NameSet& reduced,
                       std::vector<RecipeStep>& steps) {
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) != 0) {
      detail::add_shared_bounds(expanded, slicing, each, reduced, steps);
      if (!is_shared_late(slicing, each)) {
        detail::add_sharing(expanded, slicing, each, steps);
      }
    }
    if (std::find(slicing.look_back.begin(), slicing.look_back.end(), each.iname) !=
        slicing.look_back.end()) {
      steps.push_back({"scan_over_grid",
                       {each.factors.size() == 1 ? each.iname : detail::part_name(each.iname, 0)},
                       {{"how", "look_back"}}});
    }
  }
}

}  // namespace

std::vector<RecipeStep> detail::preparing_steps(const Kernel& kernel) {
  std::vector<RecipeStep> steps;
  for (const std::string& each : joinable_inames(kernel)) {
    steps.push_back({"join_domains", {each}, {}});
  }
  if (has_constant_factors(kernel)) {
    steps.push_back({"hoist_factors", {}, {}});
  }
  for (const CarriedValues& each : find_carried_values(kernel)) {
    steps.push_back({"carry_values", {each.array, each.iname}, {}});
  }
  return steps;
}

std::vector<RecipeStep> recipe_of(const Kernel& kernel, const Slicing& slicing) {
  if (std::vector<RecipeStep> steps = detail::preparing_steps(kernel); !steps.empty()) {
    return followed_by(kernel, std::move(steps), slicing);
  }
  if (slicing.is_apart) {
    std::optional<detail::ApartNests> apart = detail::apart_nests(kernel);
    if (!apart) {
      throw InvalidInput("loopy.recipe_of.nothing_apart",
                         fmt::format("kernel '{}' has no statements that share inames with earlier "
                                     "ones and need not: leave out 'apart'",
                                     kernel.name));
    }
    Slicing others = slicing;
    others.is_apart = false;
    return followed_by(kernel, std::move(apart->steps), others);
  }
  if (!slicing.inlines.empty()) {
    Slicing others = slicing;
    others.inlines.clear();
    return followed_by(kernel, inline_steps(kernel, slicing), others);
  }
  if (!slicing.together.empty()) {
    std::vector<RecipeStep> steps;
    for (const std::vector<std::string>& each : slicing.together) {
      steps.push_back({"rename_inames", {list_of(each), each.front()}, {}});
    }
    Slicing others = slicing;
    others.together.clear();
    return followed_by(kernel, std::move(steps), others);
  }
  if (!slicing.phases.empty()) {
    std::vector<RecipeStep> steps;
    if (!kernel.rules.empty()) {  // whose arguments would stay within quotients
      steps.push_back({"expand_subst", {}, {}});
    }
    for (const PhasePlan& each : slicing.phases) {
      steps.push_back({"split_phases", {each.iname, std::to_string(each.count)}, {}});
    }
    Slicing others = slicing;
    others.phases.clear();
    return followed_by(kernel, std::move(steps), others);
  }
  if (!slicing.stores.empty()) {
    Slicing others = slicing;
    std::vector<RecipeStep> steps = take_store_steps(expand_subst(kernel), others);
    return followed_by(kernel, std::move(steps), others);
  }
  if (!slicing.fusions.empty()) {
    return fused_recipe(kernel, slicing);
  }
  if (!slicing.online.empty()) {
    std::vector<RecipeStep> steps = online_steps(expand_subst(kernel), slicing);
    Slicing others = slicing;
    others.online.clear();
    return followed_by(kernel, std::move(steps), others);
  }
  if (const auto renamed = detail::with_free_part_names(kernel, slicing)) {
    return followed_by(kernel, renamed->steps, renamed->slicing);
  }
  const Kernel expanded = expand_subst(kernel);
  const NameSet reduced = all_reduction_inames(expanded);
  check_sharing(slicing, reduced);
  std::vector<RecipeStep> steps;
  const bool expands = fetches_from_rules(kernel, slicing);
  const bool expands_late = expands && !slicing.shared_values.empty();
  if (expands && !expands_late) {
    steps.push_back({"expand_subst", {}, {}});
  }
  for (const std::string& each : slicing.global_values) {
    detail::add_global_value(expanded, each, steps);
  }
  for (const std::string& each : slicing.launches) {
    steps.push_back(detail::launch_step(expanded, slicing, each));
  }
  add_cuts(kernel, expanded, slicing, steps);
  add_early_sharing(expanded, slicing, reduced, steps);
  for (const std::string& each : slicing.exchanges) {
    steps.push_back(exchange_step(slicing, each));
  }
  if (!slicing.loop_order.empty()) {
    steps.push_back({"prioritize_loops", slicing.loop_order, {}});
  }
  detail::add_shared_values(kernel, expanded, slicing, steps);
  if (expands_late) {  // the values of rules are stored by then
    steps.push_back({"expand_subst", {}, {}});
  }
  // after the cuts: constant lengths spare divisions of indices
  add_layouts(kernel, slicing, steps);
  detail::add_copies(kernel, expanded, slicing, reduced, steps);
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) != 0 && is_shared_late(slicing, each)) {
      detail::add_sharing(expanded, slicing, each, steps);
    }
  }
  for (const InameSlicing& each : slicing.inames) {
    detail::add_tensor_cores(each, steps);
  }
  if (slicing.swizzle_rows != 0) {
    steps.push_back({"swizzle", {std::to_string(slicing.swizzle_rows)}, {}});
  }
  if (slicing.walking_blocks != 0) {
    steps.push_back({"walk_grid", {"0", std::to_string(slicing.walking_blocks)}, {}});
  }
  return steps;
}

Kernel apply(const Kernel& kernel, const Slicing& slicing) {
  return apply_recipe(kernel, recipe_of(kernel, slicing));
}

}  // namespace rtcg::loopy
