#include "rtcg/loopy/kernel/rename_kernel.h"

#include "rtcg/loopy/kernel/call_loops.h"

namespace rtcg::loopy {
namespace {

void rename_each(const NewNames& names, std::vector<std::string>& all) {
  for (std::string& each : all) {
    each = new_name(names, each);
  }
}

NameSet renamed_set(const NewNames& names, const NameSet& all) {
  NameSet result;
  for (const std::string& each : all) {
    result.insert(new_name(names, each));
  }
  return result;
}

void rename_instruction(const NewNames& names, const NewNames& ids, Instruction& instruction) {
  if (const RawCode* old = get_if<RawCode>(instruction)) {
    RawCode raw = *old;
    raw.reads = renamed_set(names, raw.reads);
    raw.writes = renamed_set(names, raw.writes);
    instruction.kind = std::move(raw);
  }
  instruction.id = new_name(ids, instruction.id);
  instruction.depends_on = renamed_set(ids, instruction.depends_on);
  instruction.within_inames = renamed_set(names, instruction.within_inames);
}

}  // namespace

const std::string& new_name(const NewNames& names, const std::string& old) {
  const auto found = names.find(old);
  return found == names.end() ? old : found->second;
}

Kernel rename_kernel(Kernel kernel, const NewNames& names, const NewNames& ids,
                     const std::function<Expr(const Expr&)>& rename_expr) {
  const auto rename = [&](const std::string& name) { return new_name(names, name); };
  kernel.assumptions = kernel.assumptions.rename(rename);
  for (Domain& domain : kernel.domains) {
    rename_each(names, domain.inames);
    domain.constraints = domain.constraints.rename(rename);
  }
  for (Instruction& instruction : kernel.instructions) {
    instruction = map_expressions(std::move(instruction), rename_expr);
    rename_instruction(names, ids, instruction);
  }
  for (const auto& [old, other] : names) {
    replace_call_loop(kernel, old, {other});
  }
  const auto rename_array = [&](auto& array) {
    array.name = rename(array.name);
    for (std::vector<Expr>* each : {&array.shape, &array.strides_elements}) {
      for (Expr& expr : *each) {
        expr = rename_expr(expr);
      }
    }
  };
  for (Argument& argument : kernel.arguments) {
    rename_array(argument);
    argument.offset_elements = rename_expr(argument.offset_elements);
    rename_each(names, argument.may_be);
  }
  for (Temporary& temporary : kernel.temporaries) {
    rename_array(temporary);
  }
  for (SubstitutionRule& rule : kernel.rules) {
    rule.name = rename(rule.name);
    rename_each(names, rule.parameters);
    rule.body = rename_expr(rule.body);
  }
  std::map<std::string, InameTag, std::less<>> tags;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    tags.emplace(rename(iname), tag);
  }
  kernel.iname_tags = std::move(tags);
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    rename_each(names, priority);
  }
  for (auto& [axis, blocks] : kernel.walking_blocks) {
    blocks = rename_expr(blocks);
  }
  return kernel;
}

}  // namespace rtcg::loopy
