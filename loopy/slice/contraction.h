#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/slice/slicing_problem.h"

// Contractions of arrays with many short axes as products of matrices: inames that the same arrays
// are indexed by become one.

namespace rtcg::loopy::detail {

/// A contraction with fused inames.
struct FusedContraction {
  std::vector<InameFusion> fusions{};
  /// As a product of matrices: each array has one axis for each fused iname.
  SlicingProblem problem{};
  /// Arrays that fused inames index, which are to be fetched: their reads divide.
  std::vector<std::string> viewed{};
};

/// The best ways to fuse the inames of a kernel, at most two: with and without tiles of inames
/// that stay together. None where it is not one statement with one sum over two arrays or more,
/// each read once, or where lengths are not known.
/// @param typed  has no rules
[[nodiscard]] std::vector<FusedContraction> fused_contractions(const Kernel& typed,
                                                               const IntegerValues& parameters,
                                                               const MachineModel& machine);

/// Copies of arrays with another order of axes, and sums of such: inames that are contiguous in the
/// result are fused until a warp has enough neighbours, and so are those that are contiguous in
/// what is read across them. Nothing where no axes are short.
/// @param typed  has no rules
[[nodiscard]] std::optional<FusedContraction> fused_permutation(const Kernel& typed,
                                                                const IntegerValues& parameters,
                                                                const MachineModel& machine);

/// Sets of operands of a contraction that are worth copying first, at most two: those that let its
/// tiles move fewer sectors than the best way to fuse its inames, and those that let all tiles be
/// copied along the rows and columns of the result, without transposing them. Each copy has the
/// axes of the operand but for one, which becomes the fastest. The sum takes much longer than they
/// do.
/// @param typed  has no rules
[[nodiscard]] std::vector<std::vector<StorePlan>> copies_of_operands(
    const Kernel& typed, const IntegerValues& parameters, const MachineModel& machine);

}  // namespace rtcg::loopy::detail
