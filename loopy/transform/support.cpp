#include "rtcg/loopy/transform/support.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::vector<std::string> replaced(const std::vector<std::string>& names, std::string_view old,
                                  const std::vector<std::string>& new_names) {
  std::vector<std::string> result;
  for (const std::string& each : names) {
    if (each != old) {
      result.push_back(each);
      continue;
    }
    for (const std::string& name : new_names) {
      if (std::find(result.begin(), result.end(), name) == result.end()) {
        result.push_back(name);
      }
    }
  }
  return result;
}

/// Replaces an iname in expressions; equal indices are simplified once.
class InameReplacer {
 public:
  InameReplacer(std::string_view iname, const Expr& value,
                const std::vector<std::string>& new_inames)
      : iname_(iname), value_(value), new_inames_(new_inames) {}

  Expr replace(const Expr& expr) {
    if (const Name* name = get_if<Name>(expr)) {
      return name->name == iname_ ? value_ : expr;
    }
    if (const Access* element = get_if<Access>(expr)) {
      return replace_in(*element, expr);
    }
    const Expr mapped = map_children(expr, [this](const Expr& child) { return replace(child); });
    const bool is_changed = &mapped.node() != &expr.node();
    if (const LinearAccess* element = get_if<LinearAccess>(mapped);
        element != nullptr && is_changed) {
      return LinearAccess{element->array, simplified(element->index)};
    }
    if (const Reduction* reduction = get_if<Reduction>(mapped)) {
      if (std::find(reduction->inames.begin(), reduction->inames.end(), iname_) !=
          reduction->inames.end()) {
        return Reduction{reduction->operation, replaced(reduction->inames, iname_, new_inames_),
                         reduction->operands};
      }
    }
    return mapped;
  }

 private:
  struct Hash {
    std::size_t operator()(const Expr& expr) const noexcept { return expr.hash(); }
  };

  Expr replace_in(const Access& element, const Expr& expr) {
    std::vector<Expr> indices;
    indices.reserve(element.indices.size());
    bool is_changed = false;
    for (const Expr& index : element.indices) {
      indices.push_back(replace(index));
      is_changed = is_changed || &indices.back().node() != &index.node();
    }
    if (!is_changed) {
      return expr;
    }
    for (Expr& index : indices) {
      index = simplified(index);
    }
    return Access{element.array, std::move(indices)};
  }

  const Expr& simplified(const Expr& index) {
    auto found = simplified_.find(index);
    if (found == simplified_.end()) {
      found = simplified_.emplace(index, simplify_index(index)).first;
    }
    return found->second;
  }

  std::string_view iname_;
  const Expr& value_;
  const std::vector<std::string>& new_inames_;
  std::unordered_map<Expr, Expr, Hash> simplified_;
};

/// Whether the inames occur in all-or-nothing fashion.
bool is_all_or_none(const NameSet& used, const std::vector<std::string>& inames) {
  const auto count = std::count_if(inames.begin(), inames.end(), [&](const std::string& iname) {
    return used.count(iname) != 0;
  });
  return count == 0 || count == static_cast<std::ptrdiff_t>(inames.size());
}

bool are_reduced_together(const Expr& expr, const std::vector<std::string>& inames) {
  bool result = true;
  walk(expr, [&](const Expr& part) {
    if (const Reduction* reduction = get_if<Reduction>(part)) {
      result = result &&
               is_all_or_none(NameSet(reduction->inames.begin(), reduction->inames.end()), inames);
    }
    return result;
  });
  return result;
}

}  // namespace

void throw_if_refused(const std::optional<Refusal>& refusal) {
  if (refusal) {
    throw InvalidInput(refusal->code, refusal->reason);
  }
}

void refuse(const char* code, std::string reason) {
  throw InvalidInput(code, std::move(reason));
}

std::optional<std::string> reason_of(std::optional<Refusal> refusal) {
  return refusal ? std::optional(std::move(refusal->reason)) : std::nullopt;
}

std::optional<std::string> reason_of_failure(const std::function<void()>& attempt) {
  try {
    attempt();
    return std::nullopt;
  } catch (const InvalidInput& error) {
    return error.message();
  } catch (const Unsupported& error) {
    return error.message();
  }
}

void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
            std::map<std::string, std::string> options) {
  std::erase_if(options, [](const auto& option) { return option.second.empty(); });
  kernel.recipe.push_back({std::move(transformation), std::move(arguments), std::move(options)});
}

std::string list_text(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}
std::string list_text(const NameSet& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string unknown_iname_text(const Kernel& kernel, std::string_view iname) {
  return fmt::format("kernel '{}' has no iname '{}': its inames are {}", kernel.name, iname,
                     fmt::join(all_inames(kernel), ", "));
}

std::optional<std::string> why_not_new_name(const Kernel& kernel, std::string_view name) {
  if (name.empty()) {
    return std::nullopt;
  }
  if (!is_identifier(name)) {
    return fmt::format("'{}' is not a name: use letters, digits and underscores", name);
  }
  if (make_name_generator(kernel).is_taken(name)) {
    return fmt::format("the name '{}' is taken in kernel '{}'", name, kernel.name);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_on_axis(const Kernel& kernel, std::string_view iname,
                                           const InameTag& tag) {
  const bool is_other_there =
      std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                  [&](const auto& each) { return each.first != iname && each.second == tag; });
  if (!tag.is_parallel() || !is_other_there) {
    return std::nullopt;
  }
  for (const Instruction& instruction : kernel.instructions) {
    const NameSet inames = used_inames(instruction);
    if (inames.count(iname) == 0) {
      continue;
    }
    for (const std::string& other : inames) {
      if (other != iname && tag_of(kernel, other) == tag) {
        return fmt::format(
            "'{}' cannot be on {}: '{}' is there, and statement '{}' is within "
            "both",
            iname, to_string(tag), other, instruction.id);
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_tag_refusal(std::string_view tag) {
  try {
    static_cast<void>(parse_iname_tag(tag));
    return std::nullopt;
  } catch (const InvalidInput& error) {
    return Refusal{error.code(), error.message()};
  }
}

std::optional<std::string> find_use_apart(const Kernel& kernel,
                                          const std::vector<std::string>& inames) {
  std::optional<std::string> apart;
  for (const Instruction& instruction : kernel.instructions) {
    bool is_fine = is_all_or_none(instruction.within_inames, inames);
    for_each_expression(instruction, [&](const Expr& expr) {
      is_fine = is_fine && are_reduced_together(expr, inames);
    });
    if (!is_fine) {
      return fmt::format("statement '{}'", instruction.id);
    }
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    if (!are_reduced_together(rule.body, inames)) {
      return fmt::format("rule '{}'", rule.name);
    }
  }
  return std::nullopt;
}

NameSet used_inames(const Instruction& instruction) {
  NameSet inames = reduction_inames(instruction);
  inames.insert(instruction.within_inames.begin(), instruction.within_inames.end());
  return inames;
}

Expr replace_iname(const Expr& expr, std::string_view iname, const Expr& value,
                   const std::vector<std::string>& new_inames) {
  return InameReplacer(iname, value, new_inames).replace(expr);
}

Kernel replace_iname(Kernel kernel, std::string_view iname, const Expr& value,
                     const std::vector<std::string>& new_inames) {
  InameReplacer replacer(iname, value, new_inames);
  kernel = map_expressions_unless_shadowed(
      std::move(kernel), iname, [&](const Expr& expr) { return replacer.replace(expr); });
  for (Domain& domain : kernel.domains) {
    domain.inames = replaced(domain.inames, iname, new_inames);
  }
  for (Instruction& instruction : kernel.instructions) {
    const auto found = instruction.within_inames.find(iname);
    if (found != instruction.within_inames.end()) {
      instruction.within_inames.erase(found);
      instruction.within_inames.insert(new_inames.begin(), new_inames.end());
    }
  }
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    priority = replaced(priority, iname, new_inames);
  }
  return kernel;
}

Kernel map_constraints(Kernel kernel,
                       const std::function<ConstraintSet(const ConstraintSet&)>& map) {
  for (Domain& domain : kernel.domains) {
    domain.constraints = map(domain.constraints);
  }
  return kernel;
}

Kernel map_expressions_unless_shadowed(Kernel kernel, std::string_view shadowed,
                                       const std::function<Expr(const Expr&)>& map) {
  for (Instruction& instruction : kernel.instructions) {
    instruction = map_expressions(std::move(instruction), map);
  }
  for (SubstitutionRule& rule : kernel.rules) {
    if (std::find(rule.parameters.begin(), rule.parameters.end(), shadowed) ==
        rule.parameters.end()) {
      rule.body = map(rule.body);
    }
  }
  return kernel;
}

NameSet matching_ids(const Kernel& kernel, std::string_view match,
                     std::optional<Refusal>& refusal) {
  try {
    const std::vector<std::string> ids = match_instructions(kernel, match);
    return {ids.begin(), ids.end()};
  } catch (const InvalidInput& error) {
    refusal = Refusal{error.code(), error.message()};
    return {};
  }
}

Kernel map_matching(Kernel kernel, std::string_view match,
                    const std::function<void(Instruction&)>& change) {
  const std::vector<std::string> ids = match_instructions(kernel, match);
  const NameSet chosen(ids.begin(), ids.end());
  for (Instruction& instruction : kernel.instructions) {
    if (chosen.count(instruction.id) != 0) {
      change(instruction);
    }
  }
  return kernel;
}

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

}  // namespace rtcg::loopy
