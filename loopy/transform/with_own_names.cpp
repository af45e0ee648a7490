#include "rtcg/loopy/transform/with_own_names.h"

#include <algorithm>
#include <map>

#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using NewNames = std::map<std::string, std::string, std::less<>>;

const std::string& new_name(const NewNames& names, const std::string& old) {
  const auto found = names.find(old);
  return found == names.end() ? old : found->second;
}

void rename_each(const NewNames& names, std::vector<std::string>& all) {
  for (std::string& each : all) {
    each = new_name(names, each);
  }
}

NameSet renamed(const NewNames& names, const NameSet& all) {
  NameSet result;
  for (const std::string& each : all) {
    result.insert(new_name(names, each));
  }
  return result;
}

Instruction renamed(Instruction instruction, const NewNames& names, const NewNames& ids) {
  instruction = map_expressions(std::move(instruction),
                                [&](const Expr& expr) { return rename_all(expr, names); });
  if (const RawCode* old = get_if<RawCode>(instruction)) {
    RawCode raw = *old;
    raw.reads = renamed(names, raw.reads);
    raw.writes = renamed(names, raw.writes);
    instruction.kind = std::move(raw);
  }
  instruction.id = new_name(ids, instruction.id);
  instruction.depends_on = renamed(ids, instruction.depends_on);
  instruction.within_inames = renamed(names, instruction.within_inames);
  return instruction;
}

}  // namespace

Kernel with_own_names(Kernel kernel, NameGenerator& taken, std::string_view suffix) {
  NewNames names;
  const auto take = [&](const std::string& name, NewNames& map) {
    if (!taken.reserve(name)) {
      map[name] = taken.make(name + std::string(suffix));
    }
  };
  for (const std::string& iname : all_inames(kernel)) {
    take(iname, names);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    take(temporary.name, names);
  }
  for (const SubstitutionRule& rule : kernel.rules) {
    take(rule.name, names);
  }
  NewNames ids;
  for (const Instruction& instruction : kernel.instructions) {
    take(instruction.id, ids);
  }
  for (Domain& domain : kernel.domains) {
    rename_each(names, domain.inames);
    domain.constraints =
        domain.constraints.rename([&](const std::string& name) { return new_name(names, name); });
  }
  for (Instruction& instruction : kernel.instructions) {
    instruction = renamed(std::move(instruction), names, ids);
  }
  for (const auto& [old, other] : names) {
    replace_call_loop(kernel, old, {other});
  }
  for (Temporary& temporary : kernel.temporaries) {
    temporary.name = new_name(names, temporary.name);
  }
  for (SubstitutionRule& rule : kernel.rules) {
    rule.name = new_name(names, rule.name);
    rename_each(names, rule.parameters);
    rule.body = rename_all(rule.body, names);
  }
  std::map<std::string, InameTag, std::less<>> tags;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    tags.emplace(new_name(names, iname), tag);
  }
  kernel.iname_tags = std::move(tags);
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    rename_each(names, priority);
  }
  return kernel;
}

}  // namespace rtcg::loopy
