#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// One place where a statement touches an array or a scalar variable.
struct ArrayAccess {
  std::string array{};
  /// Empty for scalars; the place in memory alone where `is_linear`.
  std::vector<Expr> indices{};
  bool is_write = false;
  bool is_linear = false;
  /// Id of the statement.
  std::string statement{};
  /// The inames whose values name one instance: those around the statement and those of the
  /// reductions around the access.
  NameSet inames{};
  /// It happens only if all of these hold: predicates, and the conditions of its branches.
  std::vector<Expr> conditions{};
};

/// The array and variable accesses of a statement in the order in which they happen: predicates,
/// then the value from the inside out, then the indices of each target, then the target itself.
/// Inames, parameters and rules are not among them; rules must be expanded for the answer to be
/// complete. Images that are sampled are not among them, their coordinates are. Of C text
/// they are those of its parts; its other variables are declared, and the elements are not known.
[[nodiscard]] std::vector<ArrayAccess> accesses_of(const Kernel& kernel,
                                                   const Instruction& instruction);
/// Those of all statements, in source order.
[[nodiscard]] std::vector<ArrayAccess> accesses_of(const Kernel& kernel);

}  // namespace rtcg::loopy
