#include "rtcg/loopy/transform/with_own_names.h"

#include "rtcg/loopy/kernel/rename_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

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
  return rename_kernel(std::move(kernel), names, ids,
                       [&](const Expr& expr) { return rename_all(expr, names); });
}

}  // namespace rtcg::loopy
