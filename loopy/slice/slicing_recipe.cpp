// From a slicing to the transformations that it stands for.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/loop_beginning.h"

namespace rtcg::loopy {
namespace {

std::string part_name(const std::string& iname, std::size_t number) {
  return fmt::format("{}_{}", iname, number);
}

/// `[i, j]` as recipes have it.
std::string list_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

void add_splits(const InameSlicing& sliced, std::vector<RecipeStep>& steps) {
  const std::size_t last = sliced.factors.size() - 1;
  if (last == 0) {
    if (sliced.factors.front().axis.kind != AxisKind::sequential) {
      steps.push_back(
          {"tag_inames", {sliced.iname + ":" + to_string(sliced.factors.front().axis)}, {}});
    }
    return;
  }
  std::string rest = sliced.iname;
  for (std::size_t i = 0; i < last; ++i) {
    std::int64_t inner_length = 1;
    for (std::size_t j = i + 1; j <= last; ++j) {
      inner_length *= sliced.factors[j].length;
    }
    const std::string inner = i + 1 == last ? part_name(sliced.iname, last)
                                            : fmt::format("{}_{}to{}", sliced.iname, i + 1, last);
    RecipeStep step{"split_iname",
                    {rest, std::to_string(inner_length)},
                    {{"outer_name", part_name(sliced.iname, i)}, {"inner_name", inner}}};
    const auto add_tag = [&](const char* option, const InameTag& tag) {
      if (tag.kind != AxisKind::sequential) {
        step.options[option] = to_string(tag);
      }
    };
    add_tag("outer_tag", sliced.factors[i].axis);
    if (i + 1 == last) {
      add_tag("inner_tag", sliced.factors[last].axis);
    }
    steps.push_back(std::move(step));
    rest = inner;
  }
}

const InameSlicing* find_sliced(const Slicing& slicing, const std::string& iname) {
  for (const InameSlicing& each : slicing.inames) {
    if (each.iname == iname) {
      return &each;
    }
  }
  return nullptr;
}

const MarchPlan* find_march(const Slicing& slicing, const std::string& iname) {
  for (const MarchPlan& each : slicing.marches) {
    if (each.iname == iname) {
      return &each;
    }
  }
  return nullptr;
}

[[noreturn]] void throw_bad_march(const Slicing& slicing, const std::string& reason) {
  throw InvalidInput("loopy.recipe_of.bad_march",
                     fmt::format("slicing '{}': {}", to_string(slicing), reason));
}

/// Lets blocks begin with the loop's first value, each with as many iterations as the march has.
void add_march(const Kernel& kernel, const Slicing& slicing, const MarchPlan& march,
               std::vector<RecipeStep>& steps) {
  const InameSlicing* const cut = find_sliced(slicing, march.iname);
  if (cut != nullptr && cut->factors.size() > 1) {
    throw_bad_march(slicing, fmt::format("'march {0}*{1}' cuts '{0}', which has an axis for its "
                                         "blocks and no other loops, '{0}: g.2'",
                                         march.iname, march.length));
  }
  const auto first = is_iname(kernel, march.iname)
                         ? beginning_of(kernel, march.iname, {march.iname})
                         : std::nullopt;
  if (!first) {
    throw_bad_march(slicing, fmt::format("'{}' is no loop of kernel '{}' with one first value",
                                         march.iname, kernel.name));
  }
  if (*first != Affine(0)) {
    steps.push_back(
        {"map_domain",
         {fmt::format("{}:{}", march.iname, to_string(to_expr(Affine(march.iname) - *first)))},
         {}});
  }
  RecipeStep step{
      "split_iname",
      {march.iname, std::to_string(march.length)},
      {{"outer_name", part_name(march.iname, 0)}, {"inner_name", part_name(march.iname, 1)}}};
  if (cut != nullptr && cut->factors.front().axis.kind != AxisKind::sequential) {
    step.options["outer_tag"] = to_string(cut->factors.front().axis);
  }
  steps.push_back(std::move(step));
}

/// Behind the name of what a march keeps, where there are several.
std::string march_suffix(const Slicing& slicing, const std::string& iname) {
  return slicing.marches.size() > 1 ? "_" + iname : "";
}

/// What marches keep from one iteration to the next, and fill for each.
void add_queues(const Slicing& slicing, std::vector<RecipeStep>& steps) {
  for (const QueuePlan& queue : slicing.queues) {
    const bool is_clear = queue.along.empty() ? slicing.marches.size() == 1
                                              : find_march(slicing, queue.along) != nullptr;
    if (!is_clear) {
      throw_bad_march(slicing, fmt::format("'{}' takes a march, 'march i*64', and 'along i' where "
                                           "there are several",
                                           to_string(queue)));
    }
    const std::string& along = queue.along.empty() ? slicing.marches.front().iname : queue.along;
    steps.push_back({"queue_reads",
                     {queue.array, part_name(along, 1), std::to_string(queue.length)},
                     {{"temporary_name", queue.array + "_queue" + march_suffix(slicing, along)}}});
    if (queue.in_shared_memory) {
      steps.back().options["address_space"] = "local";
    }
  }
  for (const FetchPlan& fetch : slicing.fetches) {
    if (fetch.at.empty()) {
      continue;
    }
    if (find_march(slicing, fetch.at) == nullptr) {
      throw_bad_march(
          slicing, fmt::format("'fetch {0} at {1}' takes 'march {1}*64'", fetch.array, fetch.at));
    }
    steps.push_back(
        {"queue_reads",
         {fetch.array, part_name(fetch.at, 1),
          std::to_string(std::max<std::int64_t>(1, fetch.stages))},
         {{"address_space", "local"},
          {"temporary_name", fetch.array + "_plane" + march_suffix(slicing, fetch.at)}}});
  }
}

/// The reads that a fetch is about: of its group, else of the first one, or of all where it says
/// what it sweeps.
detail::AccessGroup reads_of(const Kernel& expanded, const Slicing& slicing,
                             const FetchPlan& fetch) {
  std::vector<detail::AccessGroup> groups = detail::access_groups(expanded, fetch.array);
  if (groups.empty()) {
    throw InvalidInput("loopy.recipe_of.unknown_array",
                       fmt::format("kernel '{}' reads no array '{}' that could be fetched",
                                   expanded.name, fetch.array));
  }
  if (fetch.group > static_cast<std::int64_t>(groups.size())) {
    throw InvalidInput(
        "loopy.recipe_of.unknown_group",
        fmt::format("'fetch {}' of slicing '{}': the reads of '{}' in kernel '{}' are {} groups",
                    name_of(fetch), to_string(slicing), fetch.array, expanded.name, groups.size()));
  }
  if (fetch.group != 0) {
    return groups[static_cast<std::size_t>(fetch.group - 1)];
  }
  detail::AccessGroup all = std::move(groups.front());
  for (std::size_t i = 1; i < groups.size() && !fetch.swept.empty(); ++i) {
    all.reads.insert(all.reads.end(), groups[i].reads.begin(), groups[i].reads.end());
    all.inames.merge(groups[i].inames);
  }
  return all;
}

/// The inames around the statements of reads, without those of reductions.
NameSet inames_around(const Kernel& expanded, const detail::AccessGroup& group) {
  NameSet around;
  for (const ArrayAccess& read : group.reads) {
    for (const Instruction& each : expanded.instructions) {
      if (each.id == read.statement) {
        around.insert(each.within_inames.begin(), each.within_inames.end());
      }
    }
  }
  return around;
}

/// A loop that a copy may sweep.
struct Sweepable {
  std::string loop{};
  /// The outermost of several, or a loop around the statements: a copy moves along it unless the
  /// loop is named.
  bool moves_copy = false;
};

/// Loops of inames that lie within a block, or within a thread for registers.
std::vector<Sweepable> sweepable_loops(const Kernel& expanded, const Slicing& slicing,
                                       const FetchPlan& fetch, const detail::AccessGroup& group) {
  const NameSet around = inames_around(expanded, group);
  std::vector<Sweepable> loops;
  for (const std::string& iname : all_inames(expanded)) {
    if (group.inames.count(iname) == 0) {
      continue;
    }
    const InameSlicing* sliced = find_sliced(slicing, iname);
    const InameTag tag = sliced == nullptr ? tag_of(expanded, iname) : sliced->factors.front().axis;
    if (sliced == nullptr || sliced->factors.size() == 1) {
      // a loop around a statement as it stands has its own copies in each iteration
      if (tag.kind != AxisKind::grid && !(fetch.in_registers && tag.kind == AxisKind::block)) {
        loops.push_back({iname, tag.kind == AxisKind::sequential && around.count(iname) != 0});
      }
      continue;
    }
    for (std::size_t i = 0; i < sliced->factors.size(); ++i) {
      const AxisKind kind = sliced->factors[i].axis.kind;
      if (kind != AxisKind::grid && !(fetch.in_registers && kind == AxisKind::block)) {
        loops.push_back({part_name(iname, i), i == 0});
      }
    }
  }
  return loops;
}

std::vector<std::string> sweep_of(const Kernel& expanded, const Slicing& slicing,
                                  const FetchPlan& fetch, const detail::AccessGroup& group) {
  const std::vector<Sweepable> loops = sweepable_loops(expanded, slicing, fetch, group);
  std::vector<std::string> known;
  std::vector<std::string> within;
  for (const Sweepable& each : loops) {
    known.push_back(each.loop);
    if (!each.moves_copy) {
      within.push_back(each.loop);
    }
  }
  for (const std::string& each : fetch.swept) {
    if (std::find(known.begin(), known.end(), each) == known.end()) {
      throw InvalidInput(
          "loopy.recipe_of.unknown_sweep",
          fmt::format("'fetch {} over {}' of slicing '{}': the loops within a {} along which '{}' "
                      "is read are {}",
                      name_of(fetch), each, to_string(slicing),
                      fetch.in_registers ? "thread" : "block", fetch.array, list_of(known)));
    }
  }
  if (fetch.in_registers && within.empty() && fetch.swept.empty()) {
    throw InvalidInput("loopy.recipe_of.nothing_to_keep",
                       fmt::format("'fetch {0} registers' takes lanes or inner loops of a thread "
                                   "along which it reads '{0}', which slicing '{1}' has not",
                                   fetch.array, to_string(slicing)));
  }
  return fetch.swept.empty() ? within : fetch.swept;
}

std::string tile_of(const FetchPlan& fetch) {
  return fetch.group > 1 ? fmt::format("{}_tile_{}", fetch.array, fetch.group)
                         : fetch.array + "_tile";
}

std::int64_t stages_of(const Slicing& slicing, const FetchPlan& fetch) {
  return fetch.stages != 0 ? fetch.stages : slicing.stages;
}

[[noreturn]] void throw_unequal_stages(const Slicing& slicing, std::int64_t first,
                                       const FetchPlan& fetch) {
  throw InvalidInput(
      "loopy.recipe_of.unequal_stages",
      fmt::format("slicing '{}' has {} stages and, of '{}', {}: copies arrive in the order in "
                  "which they were asked for, so all that run ahead have equally many",
                  to_string(slicing), first, fetch.array, stages_of(slicing, fetch)));
}

/// The steps that let the copies of what is fetched along the loop of a reduction run ahead, one
/// for each such loop.
void add_pipelines(const Slicing& slicing, const NameSet& reduced,
                   const std::map<std::string, std::vector<std::string>>& sweeps,
                   std::vector<RecipeStep>& steps) {
  const auto runs_ahead = [&](const FetchPlan& fetch) {
    return !fetch.in_registers && fetch.at.empty() && stages_of(slicing, fetch) > 1;
  };
  for (const FetchPlan& fetch : slicing.fetches) {
    if (slicing.stages > 1 && runs_ahead(fetch) && stages_of(slicing, fetch) != slicing.stages) {
      throw_unequal_stages(slicing, slicing.stages, fetch);
    }
  }
  bool has_any = false;
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) == 0 || each.factors.size() < 2 ||
        each.factors.front().axis.kind != AxisKind::sequential) {
      continue;
    }
    std::vector<std::string> tiles;
    std::int64_t stages = 0;
    for (const FetchPlan& fetch : slicing.fetches) {
      const std::vector<std::string>& sweep = sweeps.at(tile_of(fetch));
      if (!runs_ahead(fetch) ||
          std::find(sweep.begin(), sweep.end(), part_name(each.iname, 1)) == sweep.end()) {
        continue;
      }
      if (stages != 0 && stages_of(slicing, fetch) != stages) {
        throw_unequal_stages(slicing, stages, fetch);
      }
      stages = stages_of(slicing, fetch);
      tiles.push_back(tile_of(fetch));
    }
    if (!tiles.empty()) {
      has_any = true;
      steps.push_back(
          {"pipeline", {list_of(tiles), part_name(each.iname, 0), std::to_string(stages)}, {}});
    }
  }
  const auto ahead = std::find_if(slicing.fetches.begin(), slicing.fetches.end(), runs_ahead);
  if (!has_any && (slicing.stages > 1 || ahead != slicing.fetches.end())) {
    throw InvalidInput(
        "loopy.recipe_of.nothing_to_pipeline",
        fmt::format("'stages {}' takes something that is fetched along the loop of "
                    "a reduction, which slicing '{}' has not",
                    slicing.stages > 1 ? slicing.stages : ahead->stages, to_string(slicing)));
  }
}

/// The parts of the cut loops along which nests read rows of an array.
std::vector<std::string> loops_of_row(const Kernel& expanded, const Slicing& slicing,
                                      const KeepPlan& keep) {
  NameSet mentioned;
  bool is_read = false;
  for (const ArrayAccess& access : accesses_of(expanded)) {
    is_read = is_read || (access.array == keep.array && !access.is_write);
    for (const Expr& index : access.indices) {
      mentioned.merge(access.array == keep.array ? free_names(index) : NameSet());
    }
  }
  if (!is_read) {
    throw InvalidInput("loopy.recipe_of.unknown_array",
                       fmt::format("kernel '{}' reads no array '{}' that could be kept",
                                   expanded.name, keep.array));
  }
  std::vector<std::string> loops;
  for (const InameSlicing& each : slicing.inames) {
    for (std::size_t i = 0;
         i < each.factors.size() && mentioned.count(each.iname) != 0 && each.factors.size() > 1 &&
         each.factors.front().axis.kind != AxisKind::grid;
         ++i) {
      loops.push_back(part_name(each.iname, i));
    }
  }
  if (loops.empty()) {
    throw InvalidInput("loopy.recipe_of.nothing_to_keep",
                       fmt::format("'keep {0}' takes loops within a block that are cut, along "
                                   "which '{0}' is read, 'j: for l.0*256', which slicing '{1}' "
                                   "has not",
                                   keep.array, to_string(slicing)));
  }
  return loops;
}

RecipeStep keep_step(const Kernel& expanded, const Slicing& slicing, const KeepPlan& keep) {
  RecipeStep step{"keep_row",
                  {keep.array, list_of(loops_of_row(expanded, slicing, keep))},
                  {{"temporary_name", keep.array + "_row"}}};
  if (keep.in_shared_memory) {
    step.options["address_space"] = "local";
  }
  if (keep.vector_width != 0) {
    step.options["vector_width"] = std::to_string(keep.vector_width);
  }
  return step;
}

/// The barrier of a launch before the nest of an iname: between its statements and those before, as
/// far as the last barrier.
RecipeStep launch_step(const Kernel& expanded, const Slicing& slicing, const std::string& iname) {
  NameSet loops = {iname};
  const NameSet hosts = host_loops_of(expanded);
  const auto inames_of = [&](const Instruction& each) {
    NameSet inames = used_inames(each);
    std::erase_if(inames, [&](const auto& name) { return hosts.count(name) != 0; });
    return inames;
  };
  const auto is_of_nest = [&](const Instruction& each) {
    const NameSet inames = inames_of(each);
    return std::any_of(inames.begin(), inames.end(),
                       [&](const auto& name) { return loops.count(name) != 0; });
  };
  for (std::size_t before = 0; before != loops.size();) {
    before = loops.size();
    for (const Instruction& each : expanded.instructions) {
      if (is_of_nest(each)) {
        loops.merge(inames_of(each));
      }
    }
  }
  std::vector<std::string> earlier;
  std::vector<std::string> later;
  for (const Instruction& each : expanded.instructions) {
    const BarrierInstruction* barrier = get_if<BarrierInstruction>(each);
    if (barrier != nullptr && barrier->scope == BarrierScope::global) {
      if (!later.empty()) {
        break;
      }
      earlier.clear();
    } else if (is_of_nest(each)) {
      later.push_back("id:" + each.id);
    } else if (later.empty()) {
      earlier.push_back("id:" + each.id);
    }
  }
  if (earlier.empty() || later.empty()) {
    throw InvalidInput("loopy.recipe_of.no_launch",
                       fmt::format("'launch before {0}' takes statements within '{0}' after others "
                                   "of the same launch, which slicing '{1}' has not",
                                   iname, to_string(slicing)));
  }
  return {
      "add_barrier",
      {fmt::format("{}", fmt::join(earlier, " or ")), fmt::format("{}", fmt::join(later, " or "))},
      {}};
}

/// A temporary in global memory, with an element for each iteration of the loops around all that
/// touch it.
void add_global_value(const Kernel& expanded, const std::string& value,
                      std::vector<RecipeStep>& steps) {
  std::optional<NameSet> common;
  for (const Instruction& each : expanded.instructions) {
    if (touches(expanded, each, value)) {
      common = common.value_or(each.within_inames);
      std::erase_if(*common, [&](const auto& name) { return each.within_inames.count(name) == 0; });
    }
  }
  if (find_temporary(expanded, value) == nullptr || !common) {
    throw InvalidInput("loopy.recipe_of.unknown_temporary",
                       fmt::format("'place {0} global': kernel '{1}' has no temporary '{0}'", value,
                                   expanded.name));
  }
  if (!common->empty()) {
    steps.push_back({"privatize_temporaries",
                     {list_of({common->begin(), common->end()})},
                     {{"temporaries", list_of({value})}}});
  }
  steps.push_back({"set_temporary_address_space", {list_of({value}), "global"}, {}});
}

/// Whether a reduction of one value is over the iname.
bool has_simple_sum(const Kernel& expanded, const std::string& iname) {
  bool found = false;
  for (const Instruction& each : expanded.instructions) {
    for_each_expression(each, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        found = found || (reduction != nullptr && reduction->operands.size() == 1 &&
                          std::find(reduction->inames.begin(), reduction->inames.end(), iname) !=
                              reduction->inames.end());
        return !found;
      });
    });
  }
  return found;
}

/// What lets blocks and threads share the reduction over an iname that has been split.
void add_sharing(const Kernel& expanded, const Slicing& slicing, const InameSlicing& each,
                 std::vector<RecipeStep>& steps) {
  const auto is_listed = [&](const std::vector<std::string>& inames) {
    return std::find(inames.begin(), inames.end(), each.iname) != inames.end();
  };
  const std::string how = is_listed(slicing.atomic_reductions)       ? "atomic"
                          : is_listed(slicing.last_block_reductions) ? "last"
                                                                     : "";
  if (each.factors.front().axis.kind == AxisKind::grid) {
    if (!how.empty()) {
      steps.push_back({"reduce_over_grid",
                       {each.factors.size() == 1 ? each.iname : part_name(each.iname, 0)},
                       {{"how", how}}});
    }
    return;
  }
  if (!how.empty()) {
    throw InvalidInput("loopy.recipe_of.nothing_to_share",
                       fmt::format("'{0} {1}' takes a reduction whose outermost loop is on the "
                                   "grid, '{1}: g.1 l.0*256', not '{2}'",
                                   how, each.iname, to_string(slicing)));
  }
  // the block's tree stands around the loops, so that each thread adds up its own part first:
  // tuples are reduced so without a step
  for (std::size_t i = 1; i < each.factors.size(); ++i) {
    if (each.factors[i].axis.kind == AxisKind::block && has_simple_sum(expanded, each.iname)) {
      steps.push_back({"split_reduction_outward", {part_name(each.iname, i)}, {}});
    }
  }
}

/// Loops of results around the reductions along which a tile moves: its copies are within them,
/// too, though they do not depend on them.
std::vector<std::string> loops_around(const Kernel& expanded, const Slicing& slicing,
                                      const detail::AccessGroup& group) {
  const bool has_sums = std::any_of(
      expanded.instructions.begin(), expanded.instructions.end(), [&](const auto& each) {
        return !reduction_inames(each).empty() &&
               std::any_of(group.reads.begin(), group.reads.end(),
                           [&](const ArrayAccess& read) { return read.statement == each.id; });
      });
  const NameSet around = inames_around(expanded, group);
  std::vector<std::string> loops;
  for (const std::string& iname : all_inames(expanded)) {
    if (!has_sums || around.count(iname) == 0 || group.inames.count(iname) != 0) {
      continue;
    }
    const InameSlicing* sliced = find_sliced(slicing, iname);
    const bool is_cut = sliced != nullptr && sliced->factors.size() > 1;
    if (sliced == nullptr || sliced->factors.front().axis.kind == AxisKind::sequential) {
      loops.push_back(is_cut ? part_name(iname, 0) : iname);
    }
  }
  return loops;
}

/// One read of a group as the cuts leave it.
std::string pattern_of(const ArrayAccess& read, const Slicing& slicing) {
  std::vector<std::string> indices;
  for (const Expr& index : read.indices) {
    Affine affine = to_affine(index).value_or(Affine());
    for (const InameSlicing& each : slicing.inames) {
      Affine parts;
      std::int64_t inner = 1;
      for (std::size_t i = each.factors.size(); i-- > 0;) {
        parts = parts + Affine(part_name(each.iname, i)) * inner;
        inner *= each.factors[i].length;
      }
      affine = each.factors.size() > 1 ? affine.substitute(each.iname, parts) : affine;
    }
    indices.push_back(to_string(to_expr(affine)));
  }
  return fmt::format("{}[{}]", read.array, fmt::join(indices, ", "));
}

/// @param view  what the array is read by, or null
void add_fetch(const Slicing& slicing, const FetchPlan& fetch, const SubstitutionRule* view,
               const detail::AccessGroup& group, const std::vector<std::string>& sweep,
               const std::vector<std::string>& around, std::vector<RecipeStep>& steps) {
  const std::string tile = tile_of(fetch);
  const std::string what = view != nullptr    ? view->name
                           : fetch.group == 0 ? fetch.array
                                              : pattern_of(group.reads.front(), slicing);
  steps.push_back({view != nullptr ? "precompute" : "add_prefetch",
                   {what, list_of(sweep)},
                   {{"temporary_name", tile}}});
  if (fetch.group != 0 && group.reads.size() > 1) {
    steps.back().options["any_offset"] = "yes";
  }
  if (fetch.in_registers) {
    steps.back().options["address_space"] = "private";
    steps.back().options["default_tag"] = "unr";  // only what has a constant index is a register
  }
  if (!around.empty()) {
    steps.back().options["outer_inames"] = list_of(around);
  }
  if (fetch.vector_width != 0) {
    steps.back().options["vector_width"] = std::to_string(fetch.vector_width);
  }
  if (fetch.is_transposed) {
    steps.push_back({"tag_array_axes", {list_of({tile}), "F"}, {}});
  }
  if (fetch.padding != 0) {
    steps.push_back({"add_padding",
                     {tile, fetch.is_transposed ? "1" : "0", std::to_string(fetch.padding)},
                     {}});
  }
}

/// Lets threads share the loop of a reduction whose bounds differ by thread, `k <= i`: tiles are
/// filled in it for all of them.
void add_shared_bounds(const Kernel& expanded, const Slicing& slicing, const InameSlicing& reduced,
                       const NameSet& all_reduced, std::vector<RecipeStep>& steps) {
  if (reduced.factors.size() < 2 || reduced.factors.front().axis.kind != AxisKind::sequential ||
      std::all_of(slicing.fetches.begin(), slicing.fetches.end(),
                  [](const FetchPlan& each) { return each.in_registers; })) {
    return;
  }
  NameSet parents;
  for (const Constraint& each :
       find_home_domain(expanded, reduced.iname)->constraints.constraints()) {
    for (const Affine::Term& term : each.expr.terms()) {
      if (term.name != reduced.iname && each.expr.coefficient(reduced.iname) != 0 &&
          is_iname(expanded, term.name) && all_reduced.count(term.name) == 0) {
        parents.insert(term.name);
      }
    }
  }
  std::vector<std::string> of_threads;
  for (const std::string& parent : parents) {
    const InameSlicing* sliced = find_sliced(slicing, parent);
    for (std::size_t i = 0; sliced != nullptr && i < sliced->factors.size(); ++i) {
      const AxisKind kind = sliced->factors[i].axis.kind;
      if (kind != AxisKind::grid && (i > 0 || kind != AxisKind::sequential)) {
        of_threads.push_back(sliced->factors.size() > 1 ? part_name(parent, i) : parent);
      }
    }
  }
  if (!of_threads.empty()) {
    steps.push_back({"loosen_bounds", {part_name(reduced.iname, 0), list_of(of_threads)}, {}});
  }
}

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

/// What makes one pass of the reductions that a slicing names.
std::vector<RecipeStep> online_steps(const Slicing& slicing) {
  std::vector<RecipeStep> steps;
  std::vector<std::string> loops;
  for (const std::vector<std::string>& each : slicing.online) {
    loops.push_back(each.front());
    if (each.size() > 1) {
      steps.push_back({"rename_inames", {list_of(each), each.front()}, {}});
    }
  }
  steps.push_back({"fuse_reductions", {list_of(loops)}, {}});
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

}  // namespace

std::vector<RecipeStep> recipe_of(const Kernel& kernel, const Slicing& slicing) {
  if (!slicing.online.empty()) {
    std::vector<RecipeStep> steps = online_steps(slicing);
    Slicing others = slicing;
    others.online.clear();
    for (RecipeStep& step : recipe_of(apply_recipe(kernel, steps), others)) {
      steps.push_back(std::move(step));
    }
    return steps;
  }
  if (!slicing.fusions.empty()) {
    return fused_recipe(kernel, slicing);
  }
  const Kernel expanded = expand_subst(kernel);
  NameSet reduced;
  for (const Instruction& instruction : expanded.instructions) {
    reduced.merge(reduction_inames(instruction));
  }
  const auto check_shared = [&](const std::vector<std::string>& inames, const char* how) {
    for (const std::string& each : inames) {
      if (reduced.count(each) == 0 || find_sliced(slicing, each) == nullptr) {
        throw InvalidInput("loopy.recipe_of.nothing_to_share",
                           fmt::format("'{0} {1}' takes a reduction that is sliced, "
                                       "'{1}: g.1 l.0*256'",
                                       how, each));
      }
    }
  };
  check_shared(slicing.atomic_reductions, "atomic");
  check_shared(slicing.last_block_reductions, "last");
  std::vector<RecipeStep> steps;
  if (fetches_from_rules(kernel, slicing)) {
    steps.push_back({"expand_subst", {}, {}});
  }
  for (const std::string& each : slicing.global_values) {
    add_global_value(expanded, each, steps);
  }
  for (const std::string& each : slicing.launches) {
    steps.push_back(launch_step(expanded, slicing, each));
  }
  for (const InameSlicing& each : slicing.inames) {
    if (!is_iname(kernel, each.iname)) {
      throw InvalidInput("loopy.recipe_of.unknown_iname",
                         fmt::format("kernel '{}' has no iname '{}': its inames are {}",
                                     kernel.name, each.iname, fmt::join(all_inames(kernel), ", ")));
    }
    if (find_march(slicing, each.iname) == nullptr) {
      add_splits(each, steps);
    }
  }
  for (const MarchPlan& each : slicing.marches) {
    add_march(expanded, slicing, each, steps);
  }
  for (const InameSlicing& each : slicing.inames) {
    if (reduced.count(each.iname) != 0) {
      add_shared_bounds(expanded, slicing, each, reduced, steps);
      add_sharing(expanded, slicing, each, steps);
    }
  }
  if (!slicing.loop_order.empty()) {
    steps.push_back({"prioritize_loops", slicing.loop_order, {}});
  }
  add_layouts(kernel, slicing, steps);  // behind the cuts, whose lengths spare divisions of indices
  for (const KeepPlan& keep : slicing.keeps) {
    steps.push_back(keep_step(expanded, slicing, keep));
  }
  for (const PrivatePlan& each : slicing.privates) {
    steps.push_back({"privatize_updates", {each.array}, {}});
    if (each.copies != 1) {
      steps.back().options["copies"] = std::to_string(each.copies);
    }
  }
  add_queues(slicing, steps);
  std::map<std::string, std::vector<std::string>> sweeps;
  for (const FetchPlan& fetch : slicing.fetches) {
    if (!fetch.at.empty()) {
      continue;
    }
    const detail::AccessGroup group = reads_of(expanded, slicing, fetch);
    const std::vector<std::string>& sweep = sweeps[tile_of(fetch)] =
        sweep_of(expanded, slicing, fetch, group);
    add_fetch(slicing, fetch, detail::find_view(kernel, fetch.array), group, sweep,
              loops_around(expanded, slicing, group), steps);
  }
  add_pipelines(slicing, reduced, sweeps, steps);
  // behind the pipeline: what its copies move at once stays together
  RecipeStep swizzled{"swizzle_bank_conflicts", {}, {}};
  for (const FetchPlan& fetch : slicing.fetches) {
    if (fetch.is_swizzled) {
      swizzled.arguments.push_back(tile_of(fetch));
    }
  }
  if (!swizzled.arguments.empty()) {
    steps.push_back(std::move(swizzled));
  }
  if (slicing.swizzle_rows != 0) {
    steps.push_back({"swizzle", {std::to_string(slicing.swizzle_rows)}, {}});
  }
  return steps;
}

Kernel apply(const Kernel& kernel, const Slicing& slicing) {
  return apply_recipe(kernel, recipe_of(kernel, slicing));
}

}  // namespace rtcg::loopy
