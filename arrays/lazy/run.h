#pragma once
// Internal header: it is not installed.

#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/arrays/lazy/tape.h"

// Running tapes.

namespace rtcg::arrays::detail {

struct LaunchRecord;

struct ElementwiseOptions {
  /// There is one target, and another root of i64: the distance of each value's element from its
  /// index in the target, in elements.
  bool scatters = false;
  LaunchRecord* record = nullptr;
};
/// Computes the roots of the tape for each index of `shape` into the targets, which have that
/// shape.
void run_elementwise(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                     const std::vector<AnyArray>& targets, const ElementwiseOptions& options = {});
/// Whether elements of such memory may be too far apart for 32-bit indices.
[[nodiscard]] bool reaches_beyond_32_bits(const Storage& storage, DType dtype);
/// Reduces the root of the tape over `axes` of `shape` into the target. Its shape has the other
/// axes, and may have axes of length 1 for the reduced ones.
void run_reduction(runtime::StreamRef stream, const Tape& tape, const Extents& shape,
                   const ExpressionNode& reduction, const AnyArray& target, LaunchRecord* record);
/// Records that a run reads an array that exists only during the run, filled by a launch or empty:
/// the run cannot be prepared.
void record_memory_of_its_own(LaunchRecord* record);
/// Notes down the arrays that a tape reads.
void record_leaves(const Tape& tape, LaunchRecord* record);

/// Whether 32-bit indices reach all elements, counted from that at index 0.
[[nodiscard]] bool fits_32_bits(DType dtype, const Layout& layout);
/// How many neighbouring elements along the last axis a thread may take at once; see
/// KernelForm::lanes.
[[nodiscard]] std::uint8_t lanes_of(const KernelForm& form, const KernelArguments& arguments);
/// Counters of the stream by which the last block of a reduction recognises itself
/// (ReductionShape::has_last_block_reduce): `last_block_counter_count` of u32, 0 before and after
/// each kernel.
///
/// A stream's work uses them one after the other. A graph captured from the stream must not run
/// at the same time as the stream's later reductions, as it must not for the stream's memory.
[[nodiscard]] runtime::DeviceAddress last_block_counters_of(runtime::StreamRef stream);
inline constexpr std::int64_t last_block_counter_count = 4096;
/// Operands of a form and of a launch for arrays in layouts of the kernel's axes.
void add_operand(const AnyArray& array, const Layout& layout, std::vector<OperandForm>& forms,
                 std::vector<KernelArguments::Operand>& arguments, bool& is_wide);

}  // namespace rtcg::arrays::detail
