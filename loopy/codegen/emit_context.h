#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct CallFrame;

/// Inames that have one value: copies of unrolled loops, lanes, inames that share an axis.
using KnownValues = std::map<std::string, Affine, std::less<>>;
using Guards = std::vector<Constraint>;

/// What holds at a place of the code. A value: passes change copies and hand them down.
struct EmitContext {
  ConstraintSet assumptions{};
  /// Inames with a C variable or a value.
  NameSet known{};
  KnownValues values{};
  /// On the host: within the loops over the threads of a block.
  bool in_threads = false;
  /// Within a loop of the tree that has more than a few iterations.
  bool in_loop = false;
  /// In the version of the code for tiles that the domain cuts off.
  bool is_partial_tile = false;
  /// The function of a call that the code is part of; null: none.
  std::shared_ptr<CallFrame> frame{};
};
using ContextRef = std::shared_ptr<const EmitContext>;

/// The inames with one value put in.
[[nodiscard]] Expr with_values(const KnownValues& values, const Expr& expr);
[[nodiscard]] Affine with_values(const KnownValues& values, const Affine& affine);
[[nodiscard]] Constraint with_values(const KnownValues& values, const Constraint& constraint);

/// Whether the condition holds, if the values put in, divisors, or one operand of `and` or `or`
/// settle it.
[[nodiscard]] std::optional<bool> known_condition(const Kernel& kernel, const KnownValues& values,
                                                  const Expr& condition);

/// Whether the constraint holds nowhere that the context holds.
[[nodiscard]] bool is_never(const ConstraintSet& context, const Constraint& constraint);

/// `context` in one lane.
[[nodiscard]] EmitContext at_lane(EmitContext context, const std::string& lane, std::int64_t value);

}  // namespace rtcg::loopy
