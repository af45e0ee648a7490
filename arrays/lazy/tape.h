#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "rtcg/arrays/lazy/expression.h"

// Expressions as straight-line programs.

namespace rtcg::arrays::detail {

/// One step: an operation on the results of earlier steps. Of a leaf, a number or a sparse product,
/// `operands[0]` is its place in the tape's list; of a gather that of the leaf. Steps come next.
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

/// What a step of a product with a sparse matrix reads: see SparseEntries.
struct TapeProduct {
  SparseEntries::Columns columns = SparseEntries::Columns::listed;
  int block = 1;
  ColumnPackets packets{};
  std::uint32_t value = 0;  ///< leaves: they begin at the first element and step along no axis
  std::uint32_t column = 0;
  std::optional<std::uint32_t> base{};
  std::uint32_t x = 0;                        ///< a leaf with the step 0 along the rows
  std::optional<std::uint32_t> entry_step{};  ///< numbers of i64; 1 if there is none
  std::optional<std::uint32_t> x_step{};
  std::optional<std::uint32_t> x_count{};  ///< of diagonals

  friend bool operator==(const TapeProduct&, const TapeProduct&) = default;
};

/// A computation without its reductions: each value is computed once, however often it is used and
/// wherever it was built.
struct Tape {
  std::vector<TapeStep> steps{};
  std::vector<std::uint32_t> roots{};  ///< steps whose values are needed
  std::vector<AnyArray> leaves{};      ///< broadcast to the shape of the computation
  std::vector<bool> is_gathered{};     ///< of each leaf: any element of its memory may be read
  std::vector<TapeNumber> numbers{};
  std::vector<TapeProduct> products{};
  bool uses_indices = false;
};

/// Nodes whose values are already in an array: mostly reductions.
using KnownArrays = std::map<const ExpressionNode*, AnyArray>;

/// Nodes below `roots`, themselves included, that need a kernel of their own before the rest can
/// run, operands before users; without those in `known` and their operands.
///
/// @param shape   of the kernel that computes the roots
/// @param stream  of that kernel, if it can have products with sparse matrices
[[nodiscard]] std::vector<NodePointer> separate_nodes(
    const std::vector<NodePointer>& roots, const Extents& shape, const KnownArrays& known,
    std::optional<runtime::StreamRef> stream = {});

/// The tape that computes all roots for each index of `shape`, to which their shapes broadcast.
[[nodiscard]] Tape make_tape(const std::vector<NodePointer>& roots, const Extents& shape,
                             const KnownArrays& known);

}  // namespace rtcg::arrays::detail
