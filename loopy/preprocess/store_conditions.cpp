#include "rtcg/loopy/preprocess/store_conditions.h"

#include <algorithm>
#include <utility>

#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool has_reduction(const Expr& expr) {
  bool has_any = false;
  walk(expr, [&](const Expr& part) {
    has_any = has_any || is<Reduction>(part);
    return !has_any;
  });
  return has_any;
}

/// Adds a condition, the parts of `a and b` one by one if there are reductions in it.
void add_parts(const Expr& condition, std::vector<Expr>& parts) {
  const Logical* logical = get_if<Logical>(condition);
  if (logical != nullptr && logical->op == LogicalOp::and_ && has_reduction(condition)) {
    for (const Expr& operand : logical->operands) {
      add_parts(operand, parts);
    }
  } else {
    parts.push_back(condition);
  }
}

/// A condition that is asked for only where the earlier ones hold.
Expr after(std::vector<Expr> earlier, const Expr& condition) {
  if (earlier.empty()) {
    return condition;
  }
  earlier.push_back(condition);
  return Logical{LogicalOp::and_, std::move(earlier)};
}

}  // namespace

Kernel store_conditions(Kernel kernel) {
  NameGenerator names = make_name_generator(kernel);
  std::vector<Instruction> instructions;
  for (Instruction& instruction : kernel.instructions) {
    std::vector<Expr> parts;
    for (const Expr& each : instruction.predicates) {
      add_parts(each, parts);
    }
    instruction.predicates = std::move(parts);
    for (std::size_t i = 0; i < instruction.predicates.size(); ++i) {
      Expr& predicate = instruction.predicates[i];
      if (!has_reduction(predicate)) {
        continue;
      }
      const std::string condition = names.make("condition");
      kernel.temporaries.push_back({.name = condition, .type = cgen::boolean});
      Instruction stored;
      stored.id = names.make("set_" + condition);
      const auto first = instruction.predicates.begin();
      stored.kind = Assignment{{Name{condition}},
                               after({first, first + static_cast<std::ptrdiff_t>(i)}, predicate)};
      stored.depends_on = instruction.depends_on;
      stored.within_inames = instruction.within_inames;
      stored.call_site = instruction.call_site;
      instruction.depends_on.insert(stored.id);
      predicate = Name{condition};
      instructions.push_back(std::move(stored));
    }
    instructions.push_back(std::move(instruction));
  }
  kernel.instructions = std::move(instructions);
  return kernel;
}

}  // namespace rtcg::loopy
