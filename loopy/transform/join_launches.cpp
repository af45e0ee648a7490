#include "rtcg/loopy/transform/join_launches.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

std::optional<Refusal> find_refusal(const Kernel& kernel) {
  const bool has_barrier = std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(), [](const Instruction& each) {
        const BarrierInstruction* barrier = get_if<BarrierInstruction>(each);
        return barrier != nullptr && barrier->scope == BarrierScope::global;
      });
  if (has_barrier) {
    return std::nullopt;
  }
  return Refusal{"loopy.join_launches.no_barrier",
                 fmt::format("kernel '{}' has no global barrier that ends a launch: write "
                             "'... gbarrier' between the statements",
                             kernel.name)};
}

}  // namespace

Kernel join_launches(Kernel kernel) {
  throw_if_refused(find_refusal(kernel));
  kernel.joins_launches = true;
  record(kernel, "join_launches", {});
  return kernel;
}

}  // namespace rtcg::loopy
