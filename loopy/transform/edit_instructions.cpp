#include "rtcg/loopy/transform/edit_instructions.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// Whether the statements with these ids, or what they depend on, depend on one of `others`.
bool depends_on_any(const Kernel& kernel, const NameSet& ids, const NameSet& others) {
  NameSet seen;
  std::vector<std::string> open(ids.begin(), ids.end());
  while (!open.empty()) {
    const std::string id = std::move(open.back());
    open.pop_back();
    const Instruction* instruction = find_instruction(kernel, id);
    if (instruction == nullptr || !seen.insert(id).second) {
      continue;
    }
    for (const std::string& each : instruction->depends_on) {
      if (others.count(each) != 0) {
        return true;
      }
      open.push_back(each);
    }
  }
  return false;
}

struct Sides {
  NameSet earlier;
  NameSet later;
};
struct SideCodes {
  const char* nothing_fits;
  const char* circle;
};

/// The statements on both sides of something, or why they cannot be.
std::optional<Refusal> find_sides(const Kernel& kernel, std::string_view earlier,
                                  std::string_view later, const SideCodes& codes, Sides& sides) {
  std::optional<Refusal> refusal;
  sides.earlier = matching_ids(kernel, earlier, refusal);
  sides.later = matching_ids(kernel, later, refusal);
  if (refusal) {
    return refusal;
  }
  for (const auto& [ids, text] :
       {std::pair(&sides.earlier, earlier), std::pair(&sides.later, later)}) {
    if (ids->empty()) {
      return Refusal{codes.nothing_fits,
                     fmt::format("no statement of kernel '{}' fits '{}'", kernel.name, text)};
    }
  }
  if (depends_on_any(kernel, sides.earlier, sides.later)) {
    return Refusal{codes.circle,
                   fmt::format("what fits '{}' depends on what fits '{}' already", earlier, later)};
  }
  return std::nullopt;
}

std::optional<Refusal> find_dependency_refusal(const Kernel& kernel, std::string_view later,
                                               std::string_view earlier, Sides& sides) {
  if (std::optional<Refusal> refusal =
          find_sides(kernel, earlier, later,
                     {"loopy.add_dependency.nothing_fits", "loopy.add_dependency.circle"}, sides)) {
    return refusal;
  }
  // one statement on both sides does not wait for itself; two would wait for each other
  if (std::count_if(sides.later.begin(), sides.later.end(),
                    [&](const auto& id) { return sides.earlier.count(id) != 0; }) > 1) {
    return Refusal{"loopy.add_dependency.circle",
                   fmt::format("several statements fit both '{}' and '{}': they would wait for "
                               "each other",
                               later, earlier)};
  }
  return std::nullopt;
}

std::optional<Refusal> find_ids_refusal(const Kernel& kernel,
                                        const std::map<std::string, std::string>& new_ids) {
  NameSet given;
  for (const auto& [old, fresh] : new_ids) {
    if (find_instruction(kernel, old) == nullptr) {
      return Refusal{"loopy.replace_instruction_ids.unknown_id",
                     fmt::format("kernel '{}' has no statement '{}'", kernel.name, old)};
    }
    const bool is_free = find_instruction(kernel, fresh) == nullptr || new_ids.count(fresh) != 0;
    if (!is_identifier(fresh)) {
      return Refusal{"loopy.replace_instruction_ids.name_taken",
                     fmt::format("'{}' is not a name: use letters, digits and underscores", fresh)};
    }
    if (!is_free || !given.insert(fresh).second) {
      return Refusal{
          "loopy.replace_instruction_ids.name_taken",
          fmt::format("statement '{}' cannot be called '{}': the name is taken", old, fresh)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_barrier_refusal(const Kernel& kernel, std::string_view earlier,
                                            std::string_view later, const BarrierOptions& options,
                                            Sides& sides) {
  if (options.scope != "local" && options.scope != "global") {
    return Refusal{"loopy.add_barrier.unknown_scope",
                   fmt::format("a barrier cannot be '{}': write local or global", options.scope)};
  }
  if (std::optional<std::string> why_not = why_not_new_name(kernel, options.id)) {
    return Refusal{"loopy.add_barrier.name_taken", std::move(*why_not)};
  }
  std::optional<Refusal> refusal =
      find_sides(kernel, earlier, later,
                 {"loopy.add_barrier.nothing_fits", "loopy.add_barrier.circle"}, sides);
  if (!refusal && std::any_of(sides.earlier.begin(), sides.earlier.end(),
                              [&](const auto& id) { return sides.later.count(id) != 0; })) {
    return Refusal{"loopy.add_barrier.circle", "a statement cannot be on both sides of a barrier"};
  }
  return refusal;
}

/// Loops around all of the statements. Inames on axes are not among them: all threads and blocks
/// reach the barrier.
NameSet common_loops(const Kernel& kernel, const Sides& sides) {
  std::optional<NameSet> common;
  for (const Instruction& instruction : kernel.instructions) {
    if (sides.earlier.count(instruction.id) == 0 && sides.later.count(instruction.id) == 0) {
      continue;
    }
    if (!common) {
      common = instruction.within_inames;
    }
    std::erase_if(*common, [&](const std::string& each) {
      return instruction.within_inames.count(each) == 0 || !is_loop_iname(kernel, each);
    });
  }
  return common.value_or(NameSet{});
}

}  // namespace

Kernel add_dependency(Kernel kernel, std::string_view later, std::string_view earlier) {
  Sides sides;
  throw_if_refused(find_dependency_refusal(kernel, later, earlier, sides));
  for (Instruction& instruction : kernel.instructions) {
    if (sides.later.count(instruction.id) != 0) {
      instruction.depends_on.insert(sides.earlier.begin(), sides.earlier.end());
      instruction.depends_on.erase(instruction.id);
    }
  }
  record(kernel, "add_dependency", {std::string(later), std::string(earlier)});
  return kernel;
}

Kernel remove_instructions(Kernel kernel, std::string_view match) {
  std::optional<Refusal> refusal;
  const NameSet removed = matching_ids(kernel, match, refusal);
  throw_if_refused(refusal);
  for (const std::string& id : removed) {
    const NameSet inherited = find_instruction(kernel, id)->depends_on;
    for (Instruction& instruction : kernel.instructions) {
      if (instruction.depends_on.erase(id) != 0) {
        instruction.depends_on.insert(inherited.begin(), inherited.end());
      }
    }
  }
  std::erase_if(kernel.instructions,
                [&](const Instruction& each) { return removed.count(each.id) != 0; });
  record(kernel, "remove_instructions", {std::string(match)});
  return kernel;
}

Kernel replace_instruction_ids(Kernel kernel, const std::map<std::string, std::string>& new_ids) {
  throw_if_refused(find_ids_refusal(kernel, new_ids));
  const auto new_id = [&](const std::string& old) {
    const auto found = new_ids.find(old);
    return found == new_ids.end() ? old : found->second;
  };
  for (Instruction& instruction : kernel.instructions) {
    instruction.id = new_id(instruction.id);
    NameSet depends_on;
    for (const std::string& each : instruction.depends_on) {
      depends_on.insert(new_id(each));
    }
    instruction.depends_on = std::move(depends_on);
  }
  std::vector<std::string> arguments;
  for (const auto& [old, fresh] : new_ids) {
    arguments.push_back(fmt::format("{}:{}", old, fresh));
  }
  record(kernel, "replace_instruction_ids", std::move(arguments));
  return kernel;
}

Kernel tag_instructions(Kernel kernel, std::string_view tag, std::string_view match) {
  kernel = map_matching(std::move(kernel), match,
                        [&](Instruction& instruction) { instruction.tags.emplace(tag); });
  record(kernel, "tag_instructions", {std::string(tag)}, {{"match", std::string(match)}});
  return kernel;
}

namespace {
/// Whether an affine comparison, or several with `and` between, follow from `known`.
bool is_implied(const Expr& condition, const ConstraintSet& known) {
  if (const Logical* logical = get_if<Logical>(condition);
      logical != nullptr && logical->op == LogicalOp::and_) {
    return std::all_of(logical->operands.begin(), logical->operands.end(),
                       [&](const Expr& each) { return is_implied(each, known); });
  }
  // no point where it does not hold
  ConstraintSet otherwise = context_of(logical_not(condition));
  if (otherwise.is_unconstrained()) {
    return false;
  }
  otherwise.add(known);
  return otherwise.is_empty();
}

std::optional<Refusal> find_predicates_refusal(const Kernel& kernel, std::string_view match) {
  std::optional<Refusal> refusal;
  const NameSet ids = matching_ids(kernel, match, refusal);
  bool is_any = false;
  for (const Instruction& each : kernel.instructions) {
    if (ids.count(each.id) == 0) {
      continue;
    }
    for (const Expr& predicate : each.predicates) {
      is_any = true;
      if (!is_implied(predicate, constraints_of(kernel, each.within_inames))) {
        return Refusal{"loopy.remove_predicates.not_implied",
                       fmt::format("'{}' of statement '{}' does not follow from the bounds and "
                                   "assumptions: without it, it would run more often",
                                   to_string(predicate), each.id)};
      }
    }
  }
  if (!refusal && !is_any) {
    refusal = Refusal{"loopy.remove_predicates.nothing_fits",
                      fmt::format("no statement that fits '{}' has a condition", match)};
  }
  return refusal;
}
}  // namespace

Kernel remove_predicates(Kernel kernel, std::string_view match) {
  throw_if_refused(find_predicates_refusal(kernel, match));
  kernel = map_matching(std::move(kernel), match,
                        [](Instruction& instruction) { instruction.predicates.clear(); });
  record(kernel, "remove_predicates",
         match.empty() ? std::vector<std::string>{} : std::vector{std::string(match)});
  return kernel;
}

Kernel add_barrier(Kernel kernel, std::string_view earlier, std::string_view later,
                   const BarrierOptions& options) {
  Sides sides;
  throw_if_refused(find_barrier_refusal(kernel, earlier, later, options, sides));
  Instruction barrier;
  barrier.id = options.id.empty() ? make_name_generator(kernel).make("barrier") : options.id;
  barrier.kind =
      BarrierInstruction{options.scope == "local" ? BarrierScope::local : BarrierScope::global};
  barrier.depends_on = sides.earlier;
  barrier.within_inames = common_loops(kernel, sides);
  for (Instruction& instruction : kernel.instructions) {
    if (sides.later.count(instruction.id) != 0) {
      instruction.depends_on.insert(barrier.id);
    }
  }
  const auto first_later =
      std::find_if(kernel.instructions.begin(), kernel.instructions.end(),
                   [&](const Instruction& each) { return sides.later.count(each.id) != 0; });
  kernel.instructions.insert(first_later, std::move(barrier));
  record(kernel, "add_barrier", {std::string(earlier), std::string(later)},
         {{"scope", options.scope == "global" ? "" : options.scope}, {"id", options.id}});
  return kernel;
}

}  // namespace rtcg::loopy
