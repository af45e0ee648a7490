#pragma once
// Internal header: it is not installed.

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/loop_plan.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"

// Compiled kernels of the loop engine over arrays, and how they are chosen.

namespace rtcg::arrays::detail {

/// To which arrays must be aligned for vectors.
inline constexpr std::uint64_t vector_bytes = 16;

[[nodiscard]] loopy::SlicingConstraints loop_constraints(const loopy::IntegerValues& lengths,
                                                         runtime::Device device);

/// A kernel of any lengths between two powers of two.
struct PlannedLoops {
  LoopPlan plan{};
  std::shared_ptr<const loopy::Executor> kernel{};
};
/// The lengths for which the kernel of these lengths is chosen: powers of two. The choice depends
/// on them alone, so that a sum has the same bits in every program.
[[nodiscard]] loopy::IntegerValues lengths_of_class(const loopy::IntegerValues& lengths);
/// Whether all arrays begin at multiples of vector_bytes; otherwise no vectors are used.
[[nodiscard]] bool are_aligned(const std::vector<loopy::NamedArgument>& arguments);
/// @param arguments    of a call with these lengths
/// @param wisdom_path  as of loopy::Wisdom
[[nodiscard]] PlannedLoops planned_loops(const loopy::Kernel& kernel,
                                         const loopy::IntegerValues& lengths,
                                         const std::vector<loopy::NamedArgument>& arguments,
                                         runtime::Device device, const std::string& wisdom_path);
/// Chooses anew from now on.
void forget_planned_loops();

/// The first number of this type and value.
[[nodiscard]] std::size_t place_of_number(const std::vector<TapeNumber>& numbers, DType dtype,
                                          double value);

/// In what expressions of one structure, lengths and layouts differ.
struct LoopOperands {
  std::vector<std::shared_ptr<Storage>> storages{};  ///< of the arrays, each once
  std::vector<TapeNumber> numbers{};
};

/// A kernel with the arguments of an expression, for expressions of the same structure, lengths and
/// layouts. A value that keeps no array alive.
class ReadyLoops {
 public:
  ReadyLoops(const LoopExpression& loops, const AnyArray& out, const LoopOperands& operands,
             runtime::StreamRef stream, const std::string& wisdom_path);

  void run(runtime::StreamRef stream, const LoopOperands& operands, const AnyArray& out) const;
  [[nodiscard]] const LoopPlan& plan() const noexcept { return planned_.plan; }

 private:
  struct Place {
    std::size_t argument;
    std::size_t storage;  ///< one beyond the last: the result's
    std::uint64_t offset_bytes;
  };
  struct NumberPlace {
    std::size_t argument;
    std::size_t number;  ///< of the operands
  };

  PlannedLoops planned_;
  std::vector<loopy::NamedArgument::Value> values_;  // of the kernel's arguments
  std::vector<Place> places_;                        // of the arrays
  std::vector<NumberPlace> numbers_;                 // of those that are arguments
};

}  // namespace rtcg::arrays::detail
