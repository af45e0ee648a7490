#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/runtime/device/launch_shape.h"

// The loops of kernels that do the same for each element.

namespace rtcg::arrays::detail {

/// Code of one element: how far it is from the first in each operand, and where in C order.
using EmitElement = std::function<void(const std::vector<cgen::Expr>& offsets,
                                       const cgen::Expr& place, cgen::BlockBuilder& body)>;

/// Loops over all elements of the kernel's axes. Adds the parameters whose
/// values plan_elements() gives.
void emit_element_loops(cgen::Dialect dialect, KernelSignature& parameters,
                        const EmitElement& element, cgen::BlockBuilder& body);

/// The same on a GPU where a thread takes `lanes` neighbours of a single axis at once: `pack` gets
/// the first of them, and `element` the last elements, which make no pack.
void emit_pack_loops(cgen::Dialect dialect, KernelSignature& parameters, int lanes,
                     const EmitElement& pack, const EmitElement& element, cgen::BlockBuilder& body);

struct ElementPlan {
  runtime::LaunchShape launch{};
  std::vector<std::int64_t> more{};  ///< values of the parameters that the loops add
};
/// @param lengths  of the kernel's axes: at least one, none is 0
/// @param lanes    as of emit_pack_loops()
[[nodiscard]] ElementPlan plan_elements(runtime::Device device, const Extents& lengths,
                                        int lanes = 1);

}  // namespace rtcg::arrays::detail
