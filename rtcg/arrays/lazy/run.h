#pragma once

#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/tape.h"

// Running tapes. Internal to lazy/.

namespace rtcg::arrays::detail {

/// Computes the roots of the tape for each index of `shape` into the targets, which have that shape.
void run_map(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
             const std::vector<AnyArray>& targets);
/// Reduces the root of the tape over `axes` of `shape` into the target, whose shape is what is left,
/// with or without axes of length 1 in place of those that go.
void run_reduction(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                   const ExpressionNode& reduction, const AnyArray& target);

/// Whether 32-bit indices reach all elements, counted from that at index 0.
[[nodiscard]] bool fits_32_bits(DType dtype, const Layout& layout);
/// Operands of a form and of a launch for arrays in layouts of the kernel's axes.
void add_operand(const AnyArray& array, const Layout& layout, std::vector<OperandForm>& forms,
                 std::vector<KernelArguments::Operand>& arguments, bool& is_wide);

}  // namespace rtcg::arrays::detail
