#include "rtcg/loopy/check/check_order.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/transform/iteration_order.h"

namespace rtcg::loopy {
namespace {

/// A global barrier within `i` and `j` is passed for each of their values, unless all threads of
/// these inames wait there: then it is outside of them.
std::string hint_about_barriers(const Kernel& kernel) {
  for (const Instruction& each : kernel.instructions) {
    for (const std::string& iname : each.within_inames) {
      if (is<BarrierInstruction>(each) && tag_of(kernel, iname).is_parallel()) {
        return fmt::format(
            "; barrier '{}' is within '{}', as if it were passed in each of its "
            "iterations: put it outside of that iname if all are to meet there",
            each.id, iname);
      }
    }
  }
  return {};
}

}  // namespace

void check_order(const Kernel& kernel) {
  if (const auto why = find_value_carried_by_axes(kernel)) {
    throw InvalidInput("loopy.check_order.carried_value",
                       fmt::format("lanes or threads of kernel '{}' cannot replace loops: {}{}",
                                   kernel.name, *why, hint_about_barriers(kernel)));
  }
}

}  // namespace rtcg::loopy
