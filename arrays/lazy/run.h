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
/// What blocks of a reduction leave for the last one of them, which recognises itself by counters
/// (ReductionShape::has_last_block_reduce). Each stream has its own, made once and kept: no launch
/// allocates it, and launches with it can be prepared.
///
/// A stream's work uses them one after the other. A graph captured from the stream must not run
/// at the same time as the stream's later reductions, as it must not for the stream's memory.
struct LastBlockMemory {
  runtime::DeviceAddress counters = 0;  ///< `count` of u32, 0 before and after each kernel
  runtime::DeviceAddress results = 0;   ///< `result_bytes` for the results of segments

  static constexpr std::int64_t count = 4096;
  static constexpr std::int64_t result_bytes = std::int64_t{1} << 18;

  static LastBlockMemory of(runtime::StreamRef stream);
};
/// Operands of a form and of a launch for arrays in layouts of the kernel's axes.
void add_operand(const AnyArray& array, const Layout& layout, std::vector<OperandForm>& forms,
                 std::vector<KernelArguments::Operand>& arguments, bool& is_wide);

}  // namespace rtcg::arrays::detail
