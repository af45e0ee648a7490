#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// In which order the instances of statements run, and whether another order would let one read or
// write an element too early: what the transformations ask that change the order of loops.

namespace rtcg::loopy {

/// A loop around a statement. Neighbours with the same name at the same level share it.
struct LoopLevel {
  std::string loop{};
  /// The value by which its iterations are ordered, in inames of the kernel that is asked about.
  Affine value{};
};
struct StatementOrder {
  /// Outermost first.
  std::vector<LoopLevel> levels{};
  /// Among all statements.
  std::size_t place = 0;
};
/// By the id of the statement.
using IterationOrder = std::map<std::string, StatementOrder, std::less<>>;

/// The order that the kernel's loops have now; nothing where they cannot be nested, or not yet.
[[nodiscard]] std::optional<IterationOrder> iteration_order(const Kernel& kernel);
/// The kernel with all inames of lanes, threads and blocks as loops.
[[nodiscard]] Kernel as_loops(Kernel kernel);
struct IterationOrders {
  IterationOrder before{};
  IterationOrder after{};
};
/// The orders of two kernels, as_loops where both can run so; nothing where one has none.
[[nodiscard]] std::optional<IterationOrders> iteration_orders(const Kernel& before,
                                                              const Kernel& after);
/// The levels' values with names replaced.
[[nodiscard]] IterationOrder substitute(IterationOrder order,
                                        const std::map<std::string, Affine>& values);

struct DependenceOptions {
  /// What is read of a temporary, ahead of the only statement that sets it, does not count.
  bool are_temporaries_set_first = false;
  /// Only what two iterations prove that were found: nothing about indices that are not affine.
  bool is_proof = false;
};
/// Why the statements of `kernel` cannot run in the order `after`, where they ran in the order
/// `before`: two that touch one element, one of them writing, would change places. Nothing if
/// affine indices show no such pair.
///
/// Sums and products that a statement carries on (`s[i] = s[i] + a[i, k]`) may run in any order,
/// and variables that each iteration sets before it reads them do not count. Statements that one
/// of the orders does not have are not asked about.
/// @returns  a sentence with the element's array and two iterations
[[nodiscard]] std::optional<std::string> find_reversed_dependence(
    const Kernel& kernel, const IterationOrder& before, const IterationOrder& after,
    const DependenceOptions& options = {});

/// Why lanes, threads or blocks of the kernel cannot replace loops: one iteration hands an element
/// to another. Nothing if this is not proved, or if the user put barriers between the statements.
/// If they do not all nest as loops, each is examined alone.
[[nodiscard]] std::optional<std::string> find_value_carried_by_axes(const Kernel& kernel);

/// Refuses a transformation that adds or removes statements, where the loops around the others nest
/// in another order for it, and a dependence is reversed.
void refuse_reordering(const Kernel& before, const Kernel& after, const char* code);

}  // namespace rtcg::loopy
