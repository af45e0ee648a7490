#include "rtcg/loopy/slice/nest_kernel.h"

#include <utility>

#include "rtcg/loopy/analyze/global_array.h"

namespace rtcg::loopy::detail {

Kernel nest_kernel(const Kernel& kernel, const std::vector<std::size_t>& statements,
                   const NameSet& hosts) {
  Kernel result = kernel;
  result.instructions.clear();
  for (const Temporary& each : kernel.temporaries) {
    if (auto array = find_global_array(kernel, each.name)) {
      result.arguments.push_back(*std::move(array));
      std::erase_if(result.temporaries, [&](const auto& other) { return other.name == each.name; });
    }
  }
  for (Domain& each : result.domains) {
    std::erase_if(each.inames, [&](const auto& iname) { return hosts.count(iname) != 0; });
    if (each.inames.empty()) {
      result.assumptions.add(each.constraints);
    }
  }
  std::erase_if(result.domains, [](const Domain& each) { return each.inames.empty(); });
  for (const std::string& each : hosts) {
    result.arguments.push_back({.name = each, .type = cgen::i32});
  }
  NameSet ids;
  for (const std::size_t each : statements) {
    ids.insert(kernel.instructions[each].id);
  }
  for (const std::size_t each : statements) {
    Instruction instruction = kernel.instructions[each];
    std::erase_if(instruction.depends_on, [&](const auto& id) { return ids.count(id) == 0; });
    std::erase_if(instruction.within_inames,
                  [&](const auto& iname) { return hosts.count(iname) != 0; });
    result.instructions.push_back(std::move(instruction));
  }
  return result;
}

}  // namespace rtcg::loopy::detail
