#include "rtcg/loopy/transform/map_kernel.h"

#include <algorithm>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/match_instructions.h"

namespace rtcg::loopy {

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

}  // namespace rtcg::loopy
