#include "rtcg/loopy/transform/instruction_inames.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Inames = std::vector<std::string>;

/// The statement with what its rules use.
Instruction with_rules_expanded(const Kernel& kernel, const std::string& id) {
  return map_expressions(*find_instruction(kernel, id),
                         [&](const Expr& expr) { return expand_rules(kernel, expr); });
}

std::optional<Refusal> find_add_refusal(const Kernel& kernel, const Inames& inames,
                                        std::string_view within) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.add_inames_to_instructions.unknown_iname",
                     unknown_iname_text(kernel, iname)};
    }
  }
  std::optional<Refusal> refusal;
  const NameSet ids = matching_ids(kernel, within, refusal);
  for (const std::string& id : ids) {
    const NameSet reduced = reduction_inames(with_rules_expanded(kernel, id));
    for (const std::string& iname : inames) {
      if (reduced.count(iname) != 0) {
        return Refusal{
            "loopy.add_inames_to_instructions.reduced",
            fmt::format("statement '{}' reduces over '{}' and cannot be within it", id, iname)};
      }
    }
  }
  return refusal;
}

/// Inames that the statement's indices and values mention, or on which those depend.
NameSet needed_inames(const Kernel& kernel, const Instruction& instruction) {
  NameSet names = reduction_inames(instruction);
  static_cast<void>(map_expressions(instruction, [&](const Expr& expr) {
    names.merge(free_names(expr));
    return expr;
  }));
  return with_parent_inames(kernel, names);
}

std::optional<Refusal> find_remove_refusal(const Kernel& kernel, const Inames& inames,
                                           std::string_view within) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.remove_inames_from_instructions.unknown_iname",
                     unknown_iname_text(kernel, iname)};
    }
  }
  std::optional<Refusal> refusal;
  const NameSet ids = matching_ids(kernel, within, refusal);
  for (const std::string& id : ids) {
    const Instruction instruction = with_rules_expanded(kernel, id);
    NameSet kept = instruction.within_inames;
    for (const std::string& iname : inames) {
      kept.erase(iname);
    }
    NameSet needed = needed_inames(kernel, instruction);
    needed.merge(with_parent_inames(kernel, kept));
    for (const std::string& iname : inames) {
      if (needed.count(iname) != 0) {
        return Refusal{"loopy.remove_inames_from_instructions.used",
                       fmt::format("statement '{}' uses '{}', or an iname whose bounds depend on "
                                   "it",
                                   id, iname)};
      }
    }
  }
  return refusal;
}

}  // namespace

Kernel add_inames_to_instructions(Kernel kernel, const std::vector<std::string>& inames,
                                  std::string_view within) {
  throw_if_refused(find_add_refusal(kernel, inames, within));
  const NameSet added = with_parent_inames(kernel, NameSet(inames.begin(), inames.end()));
  kernel = map_matching(std::move(kernel), within, [&](Instruction& instruction) {
    instruction.within_inames.insert(added.begin(), added.end());
  });
  record(kernel, "add_inames_to_instructions", {list_text(inames), std::string(within)});
  return kernel;
}

Kernel remove_inames_from_instructions(Kernel kernel, const std::vector<std::string>& inames,
                                       std::string_view within) {
  throw_if_refused(find_remove_refusal(kernel, inames, within));
  kernel = map_matching(std::move(kernel), within, [&](Instruction& instruction) {
    for (const std::string& iname : inames) {
      instruction.within_inames.erase(iname);
    }
  });
  record(kernel, "remove_inames_from_instructions", {list_text(inames), std::string(within)});
  return kernel;
}

}  // namespace rtcg::loopy
