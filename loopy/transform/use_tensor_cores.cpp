#include "rtcg/loopy/transform/use_tensor_cores.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/tensor_product.h"

namespace rtcg::loopy {
namespace {

/// The statement without lanes that the reduction does not mention: it is computed once for these.
Instruction without_idle_lanes(const Kernel& kernel, Instruction statement,
                               const Reduction& reduction) {
  const NameSet mentioned = free_names(reduction.operands.front());
  std::erase_if(statement.within_inames, [&](const std::string& each) {
    return tag_of(kernel, each).is_lane() && mentioned.count(each) == 0;
  });
  return statement;
}

}  // namespace

Kernel use_tensor_cores(Kernel kernel, std::string_view iname) {
  const std::string contraction(iname);
  if (!is_iname(kernel, contraction)) {
    refuse("loopy.use_tensor_cores.unknown_iname", unknown_iname_text(kernel, contraction));
  }
  if (const InameTag tag = tag_of(kernel, contraction); tag.kind != AxisKind::sequential) {
    refuse("loopy.use_tensor_cores.tagged_already",
           fmt::format("'{}' is tagged {} and cannot become mma: untag it first", contraction,
                       to_string(tag)));
  }
  const Kernel typed = infer_types(expand_subst(kernel));
  bool is_reduced = false;
  for (const Instruction& each : typed.instructions) {
    for_each_expression(each, [&](const Expr& whole) {
      walk(whole, [&](const Expr& part) {
        const Reduction* reduction = get_if<Reduction>(part);
        if (reduction != nullptr && std::find(reduction->inames.begin(), reduction->inames.end(),
                                              contraction) != reduction->inames.end()) {
          static_cast<void>(find_tensor_product(typed, without_idle_lanes(typed, each, *reduction),
                                                *reduction, contraction));
          is_reduced = true;
        }
        return true;
      });
    });
  }
  if (!is_reduced) {
    refuse("loopy.use_tensor_cores.no_product",
           fmt::format("nothing is summed up over '{}'", contraction));
  }
  kernel.iname_tags[contraction] = {AxisKind::tensor};
  record(kernel, "use_tensor_cores", {contraction});
  return kernel;
}

}  // namespace rtcg::loopy
