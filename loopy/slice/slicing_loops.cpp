// Steps of a slicing that cut loops, share them, and put them on launches.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/loop_beginning.h"

namespace rtcg::loopy::detail {
namespace {

/// What a cut calls the loops that it cuts next.
std::string rest_name(const std::string& iname, std::size_t first, std::size_t last) {
  return fmt::format("{}_{}to{}", iname, first, last);
}

/// Whether a reduction of one value is over the iname, and over none that blocks share: these take
/// all of its loops together.
bool has_simple_sum(const Kernel& expanded, const Slicing& slicing, const std::string& iname) {
  const auto is_on_grid = [&](const std::string& each) {
    const InameSlicing* sliced = find_sliced(slicing, each);
    return sliced != nullptr && sliced->factors.front().axis.kind == AxisKind::grid;
  };
  bool found = false;
  for (const Instruction& each : expanded.instructions) {
    for_each_expression(each, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        found =
            found || (reduction != nullptr && reduction->operands.size() == 1 &&
                      std::find(reduction->inames.begin(), reduction->inames.end(), iname) !=
                          reduction->inames.end() &&
                      std::none_of(reduction->inames.begin(), reduction->inames.end(), is_on_grid));
        return !found;
      });
    });
  }
  return found;
}

/// Whether a cut gives a loop its tag. Loops on tensor cores get theirs last, when tiles are there.
bool is_tag_of_cut(const InameTag& tag) {
  return tag.kind != AxisKind::sequential && tag.kind != AxisKind::tensor;
}

/// Whether a name of the kernel is in the way of those that the cuts of an iname make.
bool is_in_the_way(const NameGenerator& names, const std::string& iname, std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i) {
    if (names.is_taken(part_name(iname, i)) || names.is_taken(rest_name(iname, i, parts - 1))) {
      return true;
    }
  }
  return false;
}

/// Gives inames of a slicing other names, and with them the loops that cuts make of them.
class SlicingRenamer {
 public:
  SlicingRenamer(const Kernel& kernel, std::map<std::string, std::string> names,
                 std::map<std::string, std::string> loops)
      : kernel_(kernel), names_(std::move(names)), loops_(std::move(loops)) {}

  [[nodiscard]] Slicing renamed(Slicing slicing) const {
    for (InameSlicing& each : slicing.inames) {
      rename(each.iname);
    }
    for (FetchPlan& each : slicing.fetches) {
      rename_loops(each.swept);
      rename(each.at);
    }
    for (KeepPlan& each : slicing.keeps) {
      std::for_each(each.over.begin(), each.over.end(), [&](std::string& loop) { rename(loop); });
    }
    for (MarchPlan& each : slicing.marches) {
      rename(each.iname);
    }
    for (QueuePlan& each : slicing.queues) {
      rename(each.along);
    }
    for (auto* all : {&slicing.atomic_reductions, &slicing.last_block_reductions,
                      &slicing.look_back, &slicing.exchanges, &slicing.launches}) {
      std::for_each(all->begin(), all->end(), [&](std::string& each) { rename(each); });
    }
    rename_loops(slicing.loop_order);
    return slicing;
  }

 private:
  void rename(std::string& iname) const {
    const auto found = names_.find(iname);
    iname = found == names_.end() ? iname : found->second;
  }
  void rename_loops(std::vector<std::string>& loops) const {
    for (std::string& each : loops) {
      const auto part = loops_.find(each);
      if (part != loops_.end() && is_iname(kernel_, each)) {
        throw InvalidInput(
            "loopy.recipe_of.ambiguous_loop",
            fmt::format("'{0}' is an iname of kernel '{1}' and what the slicing calls a loop of "
                        "another iname: rename the iname, rename_iname({0}, new_name)",
                        each, kernel_.name));
      }
      part != loops_.end() ? void(each = part->second) : rename(each);
    }
  }

  const Kernel& kernel_;
  std::map<std::string, std::string> names_{};
  std::map<std::string, std::string> loops_{};
};

}  // namespace

std::string part_name(const std::string& iname, std::size_t number) {
  return fmt::format("{}_{}", iname, number);
}

std::optional<RenamedSlicing> with_free_part_names(const Kernel& kernel, const Slicing& slicing) {
  NameGenerator names = make_name_generator(kernel);
  std::map<std::string, std::string> renamed;
  std::map<std::string, std::string> loops;
  RenamedSlicing result;
  const auto look_at = [&](const std::string& iname, std::size_t parts) {
    if (parts < 2 || !is_iname(kernel, iname) || !is_in_the_way(names, iname, parts)) {
      return;
    }
    std::string other = iname;
    do {
      other += '_';
    } while (names.is_taken(other) || is_in_the_way(names, other, parts));
    names.reserve(other);
    for (std::size_t i = 0; i < parts; ++i) {
      loops.emplace(part_name(iname, i), part_name(other, i));
    }
    result.steps.push_back({"rename_iname", {iname, other}, {}});
    renamed.emplace(iname, std::move(other));
  };
  for (const InameSlicing& each : slicing.inames) {
    look_at(each.iname, each.factors.size());
  }
  for (const MarchPlan& each : slicing.marches) {
    look_at(each.iname, 2);
  }
  if (renamed.empty()) {
    return std::nullopt;
  }
  result.slicing = SlicingRenamer(kernel, std::move(renamed), std::move(loops)).renamed(slicing);
  return result;
}

std::string list_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
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

void throw_bad_march(const Slicing& slicing, const std::string& reason) {
  throw InvalidInput("loopy.recipe_of.bad_march",
                     fmt::format("slicing '{}': {}", to_string(slicing), reason));
}

void add_splits(const InameSlicing& sliced, std::vector<RecipeStep>& steps) {
  const std::size_t last = sliced.factors.size() - 1;
  if (last == 0) {
    if (is_tag_of_cut(sliced.factors.front().axis)) {
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
    const std::string inner =
        i + 1 == last ? part_name(sliced.iname, last) : rest_name(sliced.iname, i + 1, last);
    RecipeStep step{"split_iname",
                    {rest, std::to_string(inner_length)},
                    {{"outer_name", part_name(sliced.iname, i)}, {"inner_name", inner}}};
    const auto add_tag = [&](const char* option, const InameTag& tag) {
      if (is_tag_of_cut(tag)) {
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

void add_tensor_cores(const InameSlicing& sliced, std::vector<RecipeStep>& steps) {
  for (std::size_t i = 0; i < sliced.factors.size(); ++i) {
    if (sliced.factors[i].axis.kind == AxisKind::tensor) {
      steps.push_back({"use_tensor_cores",
                       {sliced.factors.size() == 1 ? sliced.iname : part_name(sliced.iname, i)},
                       {}});
    }
  }
}

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
    if (each.factors[i].axis.kind == AxisKind::block &&
        has_simple_sum(expanded, slicing, each.iname)) {
      steps.push_back({"split_reduction_outward", {part_name(each.iname, i)}, {}});
    }
  }
}

void add_shared_bounds(const Kernel& expanded, const Slicing& slicing, const InameSlicing& reduced,
                       const NameSet& all_reduced, std::vector<RecipeStep>& steps) {
  if (reduced.factors.size() < 2 || reduced.factors.front().axis.kind != AxisKind::sequential ||
      std::all_of(slicing.fetches.begin(), slicing.fetches.end(),
                  [](const FetchPlan& each) { return each.in_registers; })) {
    return;
  }
  // those that bound it, and those that bound these: a bound of `k >= j` is one by `i <= j`, too
  NameSet parents;
  const auto add_related = [&](const Constraint& each, const NameSet& to) {
    const Affine::Terms terms = each.expr.terms();
    if (std::any_of(terms.begin(), terms.end(),
                    [&](const Affine::Term& term) { return to.count(term.name) != 0; })) {
      for (const Affine::Term& term : terms) {
        if (term.name != reduced.iname && is_iname(expanded, term.name) &&
            all_reduced.count(term.name) == 0) {
          parents.insert(term.name);
        }
      }
    }
  };
  for (const Constraint& each :
       find_home_domain(expanded, reduced.iname)->constraints.constraints()) {
    add_related(each, {reduced.iname});
  }
  for (std::size_t before = 0; before != parents.size();) {
    before = parents.size();
    const ConstraintSet around = constraints_of(expanded, parents);
    const NameSet known = parents;
    for (const Constraint& each : around.constraints()) {
      add_related(each, known);
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

}  // namespace rtcg::loopy::detail
