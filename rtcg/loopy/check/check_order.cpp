#include "rtcg/loopy/check/check_order.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/transform/iteration_order.h"

namespace rtcg::loopy {
namespace {

/// The order of the kernel whose axes and lanes are loops. What priorities say of those has no
/// meaning for the kernel itself, and may leave its loops without an order: then it does not count.
std::optional<IterationOrder> order_as_loops(const Kernel& kernel, Kernel loops) {
  if (auto order = iteration_order(loops)) {
    return order;
  }
  for (std::vector<std::string>& priority : loops.loop_priorities) {
    std::erase_if(priority, [&](const std::string& iname) {
      return kernel.iname_tags.count(iname) != 0 && loops.iname_tags.count(iname) == 0;
    });
  }
  return iteration_order(loops);
}

}  // namespace

void check_order(const Kernel& kernel) {
  const Kernel loops = as_loops(kernel);
  const bool is_stated = std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(),
      [](const Instruction& each) { return is<BarrierInstruction>(each) || is<CopyFence>(each); });
  if (loops.iname_tags.size() == kernel.iname_tags.size() || is_stated) {
    return;
  }
  const std::optional<IterationOrder> before = order_as_loops(kernel, loops);
  const std::optional<IterationOrder> after = iteration_order(kernel);
  if (!before || !after) {
    return;
  }
  if (const auto why = find_reversed_dependence(
          kernel, *before, *after, {.are_temporaries_set_first = true, .is_proof = true})) {
    throw InvalidInput("loopy.check_order.carried_value",
                       fmt::format("lanes or threads of kernel '{}' cannot stand for loops: {}",
                                   kernel.name, *why));
  }
}

}  // namespace rtcg::loopy
