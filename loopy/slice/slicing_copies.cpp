// Steps of a slicing that copy what statements read: queues, rows and tiles.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

/// Behind the name of what a march keeps, where there are several.
std::string march_suffix(const Slicing& slicing, const std::string& iname) {
  return slicing.marches.size() > 1 ? "_" + iname : "";
}

/// What marches keep from one iteration to the next, and fill for each.
void add_queues(const Slicing& slicing, std::vector<RecipeStep>& steps) {
  // what fills the registers of threads may be read from a queue in shared memory
  std::vector<QueuePlan> queues = slicing.queues;
  std::stable_partition(queues.begin(), queues.end(),
                        [](const QueuePlan& each) { return !each.in_shared_memory; });
  for (const QueuePlan& queue : queues) {
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
      const bool has_registers =
          std::any_of(queues.begin(), queues.end(), [&](const QueuePlan& each) {
            return each.array == queue.array && each.along == queue.along && !each.in_shared_memory;
          });
      if (has_registers) {
        steps.back().options["fills_registers"] = "yes";
        steps.back().options["temporary_name"] =
            queue.array + "_planes" + march_suffix(slicing, along);
      }
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
  // a queue takes a loop that runs one iteration after the other
  for (const MarchPlan& march : slicing.marches) {
    if (march.unrolled > 0) {
      steps.push_back({"tag_inames",
                       {fmt::format("{}:unr_hint.{}", part_name(march.iname, 1), march.unrolled)},
                       {}});
    }
  }
}

/// The reads that a fetch is about: of its group, otherwise of the first one, or of all where it
/// says what it sweeps.
AccessGroup reads_of(const Kernel& expanded, const Slicing& slicing, const FetchPlan& fetch) {
  std::vector<AccessGroup> groups = access_groups(expanded, fetch.array);
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
  AccessGroup all = std::move(groups.front());
  for (std::size_t i = 1; i < groups.size() && !fetch.swept.empty(); ++i) {
    all.reads.insert(all.reads.end(), groups[i].reads.begin(), groups[i].reads.end());
    all.inames.merge(groups[i].inames);
  }
  return all;
}

/// The inames around the statements of reads, without those of reductions.
NameSet inames_around(const Kernel& expanded, const AccessGroup& group) {
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

/// The factor along which copies move: the first one of a block that is followed by others, of a
/// sum that blocks share the second.
std::size_t moving_factor(const InameSlicing& sliced, const NameSet& reduced) {
  const bool is_shared = reduced.count(sliced.iname) != 0 && sliced.factors.size() > 2 &&
                         sliced.factors[0].axis.kind == AxisKind::grid &&
                         sliced.factors[1].axis.kind == AxisKind::sequential;
  return is_shared ? 1 : 0;
}

/// Whether copies move along the iname of a reduction: it is cut, and the fetch does not sweep its
/// outermost loop.
bool moves_along(const Slicing& slicing, const NameSet& reduced, const FetchPlan& fetch,
                 const std::string& iname) {
  const InameSlicing* sliced = find_sliced(slicing, iname);
  if (sliced == nullptr || sliced->factors.size() < 2 || reduced.count(iname) == 0) {
    return false;
  }
  const std::size_t moving = moving_factor(*sliced, reduced);
  return sliced->factors[moving].axis.kind == AxisKind::sequential &&
         std::find(fetch.swept.begin(), fetch.swept.end(), part_name(iname, moving)) ==
             fetch.swept.end();
}

/// Inames of reductions around those along which a copy moves: it is made again in each of their
/// iterations.
NameSet sums_around_copy(const Kernel& expanded, const Slicing& slicing, const NameSet& reduced,
                         const FetchPlan& fetch, const AccessGroup& group) {
  NameSet result;
  for (const std::string& iname : group.inames) {
    if (moves_along(slicing, reduced, fetch, iname)) {
      result.merge(sums_around(expanded, group, iname));
    }
  }
  return result;
}

/// Whether each iteration of a loop has statements of its own, one after the other.
bool is_serial(AxisKind kind) {
  return kind == AxisKind::sequential || kind == AxisKind::unroll ||
         kind == AxisKind::unroll_hint || kind == AxisKind::tensor;
}

/// Loops of inames within a block, or within a thread for registers.
std::vector<Sweepable> sweepable_loops(const Kernel& expanded, const Slicing& slicing,
                                       const NameSet& reduced, const FetchPlan& fetch,
                                       const AccessGroup& group) {
  const NameSet around = inames_around(expanded, group);
  const NameSet outer_sums = sums_around_copy(expanded, slicing, reduced, fetch, group);
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
        loops.push_back({iname, (tag.kind == AxisKind::sequential && around.count(iname) != 0) ||
                                    (is_serial(tag.kind) && outer_sums.count(iname) != 0)});
      }
      continue;
    }
    const std::size_t moving = moving_factor(*sliced, reduced);
    for (std::size_t i = 0; i < sliced->factors.size(); ++i) {
      const AxisKind kind = sliced->factors[i].axis.kind;
      if (kind != AxisKind::grid && !(fetch.in_registers && kind == AxisKind::block)) {
        loops.push_back({part_name(iname, i),
                         i == moving || (outer_sums.count(iname) != 0 && kind != AxisKind::block)});
      }
    }
  }
  return loops;
}

std::vector<std::string> sweep_of(const Kernel& expanded, const Slicing& slicing,
                                  const NameSet& reduced, const FetchPlan& fetch,
                                  const AccessGroup& group) {
  const std::vector<Sweepable> loops = sweepable_loops(expanded, slicing, reduced, fetch, group);
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

/// `q_tile2`: the inames of the first tile are q_tile_0, q_tile_1, ...
std::string tile_of(const FetchPlan& fetch) {
  return fetch.group > 1 ? fmt::format("{}_tile{}", fetch.array, fetch.group)
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
    const std::size_t moving = moving_factor(each, reduced);
    if (reduced.count(each.iname) == 0 || each.factors.size() < 2 ||
        each.factors[moving].axis.kind != AxisKind::sequential) {
      continue;
    }
    std::vector<std::string> tiles;
    std::int64_t stages = 0;
    for (const FetchPlan& fetch : slicing.fetches) {
      const std::vector<std::string>& sweep = sweeps.at(tile_of(fetch));
      if (!runs_ahead(fetch) ||
          std::find(sweep.begin(), sweep.end(), part_name(each.iname, moving + 1)) == sweep.end()) {
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
      steps.push_back({"pipeline",
                       {list_of(tiles), part_name(each.iname, moving), std::to_string(stages)},
                       {}});
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

}  // namespace

bool is_along_row(const InameSlicing& sliced) {
  return sliced.factors.size() > 1 && sliced.factors.front().axis.kind != AxisKind::grid;
}

namespace {

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
  if (!keep.over.empty()) {
    std::erase_if(mentioned, [&](const std::string& iname) {
      return std::find(keep.over.begin(), keep.over.end(), iname) == keep.over.end();
    });
  }
  std::vector<std::string> loops;
  for (const InameSlicing& each : slicing.inames) {
    if (mentioned.count(each.iname) != 0 && is_along_row(each)) {
      for (std::size_t i = 0; i < each.factors.size(); ++i) {
        loops.push_back(part_name(each.iname, i));
      }
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
  const std::string nest = keep.over.empty() ? "" : "_over_" + keep.over.front();
  RecipeStep step{"keep_row",
                  {keep.array, list_of(loops_of_row(expanded, slicing, keep))},
                  {{"temporary_name", keep.array + "_row" + nest}}};
  if (keep.in_shared_memory) {
    step.options["address_space"] = "local";
  }
  if (keep.vector_width != 0) {
    step.options["vector_width"] = std::to_string(keep.vector_width);
  }
  return step;
}

/// Loops of results, and of other reductions, around the reductions along which a tile moves: its
/// copies are within them, too, though they do not depend on them.
std::vector<std::string> loops_around(const Kernel& expanded, const Slicing& slicing,
                                      const NameSet& reduced, const FetchPlan& fetch,
                                      const AccessGroup& group) {
  const bool has_sums = std::any_of(
      expanded.instructions.begin(), expanded.instructions.end(), [&](const auto& each) {
        return !reduction_inames(each).empty() &&
               std::any_of(group.reads.begin(), group.reads.end(),
                           [&](const ArrayAccess& read) { return read.statement == each.id; });
      });
  const NameSet around = inames_around(expanded, group);
  const NameSet outer_sums = sums_around_copy(expanded, slicing, reduced, fetch, group);
  std::vector<std::string> loops;
  const bool moves = std::any_of(group.inames.begin(), group.inames.end(), [&](const auto& iname) {
    return moves_along(slicing, reduced, fetch, iname);
  });
  if ((!group.gathered.empty() && group.inames.empty()) || (!fetch.swept.empty() && !moves)) {
    return loops;  // the same in all iterations
  }
  for (const std::string& iname : all_inames(expanded)) {
    const bool is_outer_sum = outer_sums.count(iname) != 0;
    if (!has_sums || group.inames.count(iname) != 0 ||
        (around.count(iname) == 0 && !is_outer_sum)) {
      continue;
    }
    const InameSlicing* sliced = find_sliced(slicing, iname);
    const std::size_t parts = sliced != nullptr ? sliced->factors.size() : 1;
    for (std::size_t i = 0; i < (is_outer_sum ? parts : 1); ++i) {
      const AxisKind kind = sliced != nullptr ? sliced->factors[i].axis.kind : AxisKind::sequential;
      if (kind == AxisKind::sequential || (is_outer_sum && is_serial(kind))) {
        loops.push_back(parts > 1 ? part_name(iname, i) : iname);
      }
    }
  }
  return loops;
}

/// One read of a group as the cuts leave it; whole axes where places are computed.
std::string pattern_of(const AccessGroup& group, const Slicing& slicing) {
  const ArrayAccess& read = group.reads.front();
  std::vector<std::string> indices;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis) {
    if (group.is_gathered(axis)) {
      indices.emplace_back(":");
      continue;
    }
    Affine affine = to_affine(read.indices[axis]).value_or(Affine());
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
               const AccessGroup& group, const std::vector<std::string>& sweep,
               const std::vector<std::string>& around, std::vector<RecipeStep>& steps) {
  const std::string tile = tile_of(fetch);
  const std::string what = view != nullptr ? view->name
                           : fetch.group == 0 && group.gathered.empty()
                               ? fetch.array
                               : pattern_of(group, slicing);
  steps.push_back({view != nullptr ? "precompute" : "add_prefetch",
                   {what, list_of(sweep)},
                   {{"temporary_name", tile}}});
  if (group.reads.size() > 1 && (fetch.group != 0 || !group.gathered.empty())) {
    steps.back().options["any_offset"] = "yes";
  }
  if (fetch.group != 0 && !group.gathered.empty()) {
    // whole axes serve any index: other nests, or launches, read the same array
    std::vector<std::string> ids;
    for (const ArrayAccess& read : group.reads) {
      if (std::find(ids.begin(), ids.end(), "id:" + read.statement) == ids.end()) {
        ids.push_back("id:" + read.statement);
      }
    }
    steps.back().options["within"] = fmt::format("{}", fmt::join(ids, " or "));
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

}  // namespace

namespace {

/// Results of a block that neighbouring threads write: the copy has those of the loops within a
/// block, but for the outermost one of a loop that is cut.
void add_buffer(const Kernel& expanded, const Slicing& slicing, const BufferPlan& plan,
                std::vector<RecipeStep>& steps) {
  std::vector<std::string> inames;  // of the elements that most loops write
  for (const ArrayAccess& access : accesses_of(expanded)) {
    std::vector<std::string> indexed;
    for (const Expr& index : access.indices) {
      for (const std::string& name : free_names(index)) {
        if (is_iname(expanded, name)) {
          indexed.push_back(name);
        }
      }
    }
    if (access.array == plan.array && access.is_write && indexed.size() > inames.size()) {
      inames = std::move(indexed);
    }
  }
  std::vector<std::string> collected;
  for (const std::string& iname : inames) {
    const InameSlicing* sliced = find_sliced(slicing, iname);
    for (std::size_t i = 1; sliced != nullptr && i < sliced->factors.size(); ++i) {
      const std::string part = part_name(iname, i);
      if (sliced->factors[i].axis.kind != AxisKind::grid &&
          std::find(collected.begin(), collected.end(), part) == collected.end()) {
        collected.push_back(part);
      }
    }
  }
  if (collected.empty()) {
    throw InvalidInput("loopy.recipe_of.nothing_to_collect",
                       fmt::format("'buffer {0}' takes an array that is written along loops that "
                                   "are cut, which slicing '{1}' of kernel '{2}' has not",
                                   plan.array, to_string(slicing), expanded.name));
  }
  const std::string tile = plan.array + "_tile";
  steps.push_back({"buffer_array",
                   {plan.array, list_of(collected)},
                   {{"default_tag", "l.auto"}, {"is_filled", "no"}, {"temporary_name", tile}}});
  if (plan.padding != 0) {
    steps.push_back({"add_padding", {tile, "0", std::to_string(plan.padding)}, {}});
  }
}

}  // namespace

void add_copies(const Kernel& kernel, const Kernel& expanded, const Slicing& slicing,
                const NameSet& reduced, std::vector<RecipeStep>& steps) {
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
    const AccessGroup group = reads_of(expanded, slicing, fetch);
    const std::vector<std::string>& sweep = sweeps[tile_of(fetch)] =
        sweep_of(expanded, slicing, reduced, fetch, group);
    add_fetch(slicing, fetch, find_view(kernel, fetch.array), group, sweep,
              loops_around(expanded, slicing, reduced, fetch, group), steps);
  }
  for (const BufferPlan& each : slicing.buffers) {
    add_buffer(expanded, slicing, each, steps);
  }
  add_pipelines(slicing, reduced, sweeps, steps);
  // after the pipeline: what its copies move at once stays together
  RecipeStep swizzled{"swizzle_bank_conflicts", {}, {}};
  for (const FetchPlan& fetch : slicing.fetches) {
    if (fetch.is_swizzled) {
      swizzled.arguments.push_back(tile_of(fetch));
    }
  }
  if (!swizzled.arguments.empty()) {
    steps.push_back(std::move(swizzled));
  }
}

}  // namespace rtcg::loopy::detail
