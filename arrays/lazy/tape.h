#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <vector>

#include "rtcg/arrays/lazy/expression.h"

// Expressions as straight-line programs.

namespace rtcg::arrays::detail {

/// One step: an operation on the results of earlier steps. Of a leaf or a number, `operands[0]` is
/// its place in the tape's list; of a gather that of the leaf, and the step comes next.
struct TapeStep {
  Op op = Op::number;
  DType dtype = DType::f64;
  std::uint32_t operands[3] = {no_operand, no_operand, no_operand};

  static constexpr std::uint32_t no_operand = ~0U;
  friend auto operator<=>(const TapeStep&, const TapeStep&) = default;
};

struct TapeNumber {
  DType dtype;
  NumberValue value;
};

/// A computation without its reductions: each value is computed once, however often it is used and
/// wherever it was built.
struct Tape {
  std::vector<TapeStep> steps{};
  std::vector<std::uint32_t> roots{};  ///< steps whose values are needed
  std::vector<AnyArray> leaves{};      ///< broadcast to the shape of the computation
  std::vector<bool> is_gathered{};     ///< of each leaf: any element of its memory may be read
  std::vector<TapeNumber> numbers{};
  bool uses_indices = false;
};

/// Nodes whose values are already in an array: mostly reductions.
using KnownArrays = std::map<const ExpressionNode*, AnyArray>;

/// Nodes below `roots`, themselves included, that need a kernel of their own before the rest can
/// run, operands before users; without those in `known` and their operands.
///
/// @param shape  of the kernel that computes the roots
[[nodiscard]] std::vector<NodePointer> separate_nodes(const std::vector<NodePointer>& roots,
                                                      const Extents& shape,
                                                      const KnownArrays& known);

/// The tape that computes all roots for each index of `shape`, to which their shapes broadcast.
[[nodiscard]] Tape make_tape(const std::vector<NodePointer>& roots, const Extents& shape,
                             const KnownArrays& known);

}  // namespace rtcg::arrays::detail
