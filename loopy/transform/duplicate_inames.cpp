#include "rtcg/loopy/transform/duplicate_inames.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/carried_dependence.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// Inames that all of the statements use.
NameSet used_by_all(const Kernel& kernel, const std::vector<std::string>& ids) {
  std::optional<NameSet> common;
  for (const std::string& id : ids) {
    const NameSet used = used_inames(*find_instruction(kernel, id));
    if (!common) {
      common = used;
    }
    std::erase_if(*common, [&](const std::string& each) { return used.count(each) == 0; });
  }
  return common.value_or(NameSet{});
}

bool has_any(const NameSet& names, const std::vector<std::string>& inames) {
  return std::any_of(inames.begin(), inames.end(),
                     [&](const std::string& iname) { return names.count(iname) != 0; });
}

/// Whether a rule uses one of the inames itself, not as a parameter.
bool is_used_by_rules(const Kernel& kernel, const std::vector<std::string>& inames) {
  return std::any_of(kernel.rules.begin(), kernel.rules.end(), [&](const SubstitutionRule& rule) {
    NameSet names = free_names(rule.body);
    for (const std::string& parameter : rule.parameters) {
      names.erase(parameter);
    }
    names.merge(reduction_inames(rule.body));
    return has_any(names, inames);
  });
}

/// The ids of the matching statements that use one of the inames. Where rules use them, the rules
/// are expanded in these statements: other statements that call them keep the old inames.
std::vector<std::string> statements_to_change(Kernel& kernel,
                                              const std::vector<std::string>& inames,
                                              const std::string& within) {
  const std::vector<std::string> matching = match_instructions(kernel, within);
  const bool is_expanded = is_used_by_rules(kernel, inames);
  std::vector<std::string> ids;
  for (Instruction& instruction : kernel.instructions) {
    if (std::find(matching.begin(), matching.end(), instruction.id) == matching.end()) {
      continue;
    }
    Instruction expanded = instruction;
    if (is_expanded) {
      expanded = map_expressions(std::move(expanded),
                                 [&](const Expr& expr) { return expand_rules(kernel, expr); });
    }
    if (has_any(used_inames(expanded), inames)) {
      instruction = std::move(expanded);
      ids.push_back(instruction.id);
    }
  }
  return ids;
}

/// An iname whose bounds depend on one of `inames`, and that a changed statement keeps. The copies
/// are tied to inames that all changed statements use.
std::optional<Refusal> find_dependent_iname(const Kernel& kernel,
                                            const std::vector<std::string>& inames,
                                            const std::vector<std::string>& ids) {
  const NameSet used_by_each = used_by_all(kernel, ids);
  for (const std::string& id : ids) {
    const NameSet used = used_inames(*find_instruction(kernel, id));
    for (const std::string& kept : used) {
      if (std::find(inames.begin(), inames.end(), kept) != inames.end()) {
        continue;
      }
      const NameSet outer = with_parent_inames(kernel, {kept});
      for (const std::string& iname : inames) {
        if (outer.count(iname) != 0 ||
            (used_by_each.count(kept) == 0 && is_tied(kernel, kept, {iname}, used))) {
          return Refusal{"loopy.duplicate_inames.bounds_depend",
                         fmt::format("the bounds of '{}' in statement '{}' depend on '{}': "
                                     "duplicate '{}', too",
                                     kept, id, iname, kept)};
        }
      }
    }
  }
  return std::nullopt;
}

/// A value that one iteration hands on without an index that says which: in two loops it would be
/// that of the last one.
std::optional<Refusal> find_torn_value(const Kernel& kernel, const std::vector<std::string>& inames,
                                       const std::vector<std::string>& ids) {
  const auto is_changed = [&](const Instruction& each) {
    return std::find(ids.begin(), ids.end(), each.id) != ids.end();
  };
  for (const Instruction& writer : kernel.instructions) {
    for (const ArrayAccess& access : accesses_of(kernel, writer)) {
      if (!access.is_write || find_temporary(kernel, access.array) == nullptr) {
        continue;
      }
      NameSet indexed;
      for (const Expr& index : access.indices) {
        indexed.merge(free_names(index));
      }
      for (const Instruction& reader : kernel.instructions) {
        if (is_changed(reader) == is_changed(writer) ||
            read_variables(kernel, reader).count(access.array) == 0) {
          continue;
        }
        for (const std::string& iname : inames) {
          if (writer.within_inames.count(iname) != 0 && reader.within_inames.count(iname) != 0 &&
              indexed.count(iname) == 0) {
            return Refusal{"loopy.duplicate_inames.torn_value",
                           fmt::format("'{}' hands '{}' to '{}' within '{}', without an index for "
                                       "it: duplicate the iname for both, or privatize_temporaries "
                                       "first",
                                       writer.id, access.array, reader.id, iname)};
          }
        }
      }
    }
  }
  return std::nullopt;
}

/// A value that one iteration hands on to another one, which two loops would hand on too early or
/// too late. Iterations along axes and lanes have no order to begin with.
std::optional<Refusal> find_carried_value(const Kernel& kernel,
                                          const std::vector<std::string>& inames,
                                          const std::vector<std::string>& ids) {
  const auto is_changed = [&](const Instruction& each) {
    return std::find(ids.begin(), ids.end(), each.id) != ids.end();
  };
  std::optional<std::vector<std::vector<std::size_t>>> before;
  for (std::size_t a = 0; a < kernel.instructions.size(); ++a) {
    for (std::size_t b = a + 1; b < kernel.instructions.size(); ++b) {
      const Instruction& one = kernel.instructions[a];
      const Instruction& other = kernel.instructions[b];
      std::vector<std::string> shared;
      std::copy_if(inames.begin(), inames.end(), std::back_inserter(shared),
                   [&](const std::string& iname) {
                     return one.within_inames.count(iname) != 0 &&
                            other.within_inames.count(iname) != 0 && is_loop_iname(kernel, iname);
                   });
      if (shared.empty() || is_changed(one) == is_changed(other)) {
        continue;
      }
      if (!before) {
        before = statement_order(kernel);
      }
      const bool is_reversed = std::count((*before)[a].begin(), (*before)[a].end(), b) != 0;
      const Instruction& first = is_reversed ? other : one;
      const Instruction& last = is_reversed ? one : other;
      if (const auto why = find_carried_dependence(kernel, first, last, shared)) {
        return Refusal{"loopy.duplicate_inames.carried_value",
                       fmt::format("'{}' and '{}' cannot have loops of their own over {}: {}",
                                   first.id, last.id, list_text(shared), *why)};
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(Kernel kernel, const std::vector<std::string>& inames,
                                    const DuplicateOptions& options) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.duplicate_inames.unknown_iname", unknown_iname_text(kernel, iname)};
    }
  }
  try {
    const std::vector<std::string> ids = statements_to_change(kernel, inames, options.within);
    if (std::optional<Refusal> refusal = find_dependent_iname(kernel, inames, ids)) {
      return refusal;
    }
    if (std::optional<Refusal> refusal = find_torn_value(kernel, inames, ids)) {
      return refusal;
    }
    if (std::optional<Refusal> refusal = find_carried_value(expand_subst(kernel), inames, ids)) {
      return refusal;
    }
    if (ids.empty()) {
      return Refusal{"loopy.duplicate_inames.unused",
                     fmt::format("no statement that fits '{}' uses any of {}", options.within,
                                 list_text(inames))};
    }
  } catch (const InvalidInput& error) {
    return Refusal{error.code(), error.message()};
  }
  if (!options.new_names.empty() && options.new_names.size() != inames.size()) {
    return Refusal{
        "loopy.duplicate_inames.name_taken",
        fmt::format("{} inames cannot have {} new names", inames.size(), options.new_names.size())};
  }
  for (const std::string& name : options.new_names) {
    const auto count = std::count(options.new_names.begin(), options.new_names.end(), name);
    const bool is_repeated = !name.empty() && count > 1;
    if (const auto why_not = why_not_new_name(kernel, name); why_not || is_repeated) {
      return Refusal{"loopy.duplicate_inames.name_taken",
                     why_not.value_or(fmt::format("two inames cannot both be called '{}'", name))};
    }
  }
  return std::nullopt;
}

/// The new loops may nest otherwise than the old ones did.
void check_order(const Kernel& old, const Kernel& kernel, const std::vector<std::string>& ids,
                 const NewNames& names) {
  // axes that nested as loops and now do not: later steps could not ask what they hand on
  if (iteration_order(as_loops(old)) && !iteration_order(as_loops(kernel))) {
    if (const auto why = find_value_carried_by_axes(old)) {
      throw_if_refused(Refusal{"loopy.duplicate_inames.carried_value",
                               fmt::format("lanes or threads cannot replace loops: {}", *why)});
    }
  }
  const auto orders = iteration_orders(old, kernel);
  if (!orders) {
    return;
  }
  std::map<std::string, Affine> values;
  for (const auto& [name, fresh] : names) {
    values.emplace(name, Affine(fresh));
  }
  // what changed statements share with the others find_carried_value has asked about
  const IterationOrder changed = substitute(orders->before, values);
  for (const bool is_changed : {true, false}) {
    IterationOrder expected = is_changed ? changed : orders->before;
    std::erase_if(expected, [&](const auto& each) {
      return (std::find(ids.begin(), ids.end(), each.first) != ids.end()) != is_changed;
    });
    if (const auto why = find_reversed_dependence(kernel, expected, orders->after)) {
      throw_if_refused(Refusal{"loopy.duplicate_inames.carried_value",
                               fmt::format("the loops would come in another order: {}", *why)});
    }
  }
}

NameSet renamed(const NameSet& inames, const NewNames& names) {
  NameSet result;
  for (const std::string& each : inames) {
    const auto found = names.find(each);
    result.insert(found == names.end() ? each : found->second);
  }
  return result;
}

/// Renames the inames of reductions that are taken already, from left to right and from the outside
/// in, and takes the others.
class UniqueReductions {
 public:
  explicit UniqueReductions(Kernel& kernel)
      : kernel_(kernel), names_(make_name_generator(kernel)) {}

  void take(const NameSet& inames) { taken_.insert(inames.begin(), inames.end()); }

  [[nodiscard]] Expr rewrite(const Expr& expr) {
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      NameSet repeated;
      for (const std::string& iname : reduction->inames) {
        if (!taken_.insert(iname).second) {
          repeated.insert(iname);
        }
      }
      if (!repeated.empty()) {
        NewNames new_names;
        for (const std::string& iname : tied_reduction_inames(kernel_, expr, repeated)) {
          new_names[iname] = copy_name(names_, iname);
        }
        // all other inames count as used: the copies depend on what their originals depended on
        const std::vector<std::string> all = all_inames(kernel_);
        kernel_ =
            with_tagged_copies(std::move(kernel_), new_names, NameSet(all.begin(), all.end()));
        return rewrite_operands(rename_all(expr, new_names));
      }
    }
    return rewrite_operands(expr);
  }

 private:
  Expr rewrite_operands(const Expr& expr) {
    return map_children(expr, [&](const Expr& child) { return rewrite(child); });
  }

  Kernel& kernel_;
  NameGenerator names_;
  NameSet taken_;
};

}  // namespace

Kernel duplicate_inames(Kernel kernel, const std::vector<std::string>& inames,
                        const DuplicateOptions& options) {
  throw_if_refused(find_refusal(kernel, inames, options));
  const std::vector<std::string> ids = statements_to_change(kernel, inames, options.within);
  NameGenerator names = make_name_generator(kernel);
  for (const std::string& stated : options.new_names) {
    names.reserve(stated);
  }
  NewNames new_names;
  for (std::size_t i = 0; i < inames.size(); ++i) {
    const bool is_stated = !options.new_names.empty() && !options.new_names[i].empty();
    new_names[inames[i]] = is_stated ? options.new_names[i] : copy_name(names, inames[i]);
  }
  const Kernel old = kernel;
  const NameSet used = used_by_all(kernel, ids);
  kernel = with_copied_inames(std::move(kernel), new_names, used);
  for (Instruction& instruction : kernel.instructions) {
    if (std::find(ids.begin(), ids.end(), instruction.id) == ids.end()) {
      continue;
    }
    instruction = map_expressions(std::move(instruction),
                                  [&](const Expr& expr) { return rename_all(expr, new_names); });
    instruction.within_inames = renamed(instruction.within_inames, new_names);
  }
  check_order(old, kernel, ids, new_names);
  record(kernel, "duplicate_inames", {list_text(inames)},
         {{"within", options.within},
          {"new_names", options.new_names.empty() ? "" : list_text(options.new_names)}});
  return kernel;
}

Kernel make_reduction_inames_unique(Kernel kernel) {
  std::vector<Instruction> instructions = kernel.instructions;
  UniqueReductions unique(kernel);
  for (const Instruction& instruction : instructions) {
    unique.take(instruction.within_inames);
  }
  for (Instruction& instruction : instructions) {
    instruction = map_expressions(std::move(instruction),
                                  [&](const Expr& expr) { return unique.rewrite(expr); });
  }
  kernel.instructions = std::move(instructions);
  record(kernel, "make_reduction_inames_unique", {});
  return kernel;
}

}  // namespace rtcg::loopy
