#pragma once
// Internal header: it is not installed.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/operation_mix.h"
#include "rtcg/loopy/symbolic/affine.h"

// How much a kernel computes and moves, however it is sliced.

namespace rtcg::loopy::detail {

/// Counts the points of loops for some values of the parameters, and remembers what it found.
class PointCounter {
 public:
  /// @param kernel  outlives this object
  PointCounter(const Kernel& kernel, IntegerValues parameters)
      : kernel_(kernel), parameters_(std::move(parameters)) {}
  PointCounter(const Kernel&& kernel, IntegerValues parameters) = delete;

  /// Values that the inames take together; those of a box around them where they cannot be
  /// counted.
  [[nodiscard]] double points(const NameSet& inames);
  /// Values of one iname; 1 where they are not known.
  [[nodiscard]] double length(const std::string& iname);
  /// Different elements that an access touches, or fewer: indices that are not affine count as
  /// one.
  [[nodiscard]] double elements(const ArrayAccess& access);
  /// Just as many, where each index is a loop, apart from its sign and a shift.
  [[nodiscard]] std::optional<double> exact_elements(const ArrayAccess& access) const;
  /// Whether one of the indices shows that two accesses to an array have no element in common:
  /// `x[3*i]` and `x[3*i + 1]`, `x[i]` and `x[i + n]` for i < n, `x[i, 0]` and `x[i, 1]`.
  [[nodiscard]] bool are_apart(const ArrayAccess& a, const ArrayAccess& b);

 private:
  [[nodiscard]] ConstraintSet domain_of(const NameSet& inames) const;
  [[nodiscard]] std::optional<double> exact_points(const NameSet& inames) const;
  /// With the values of the parameters; nothing where it depends on more than loops.
  [[nodiscard]] std::optional<Affine> index_of(const Expr& expr) const;

  const Kernel& kernel_;
  const IntegerValues parameters_;
  std::map<NameSet, double> known_{};
  std::map<std::string, double> lengths_{};
};

struct KernelWork {
  OperationMix in_sum{};   ///< within the reduction that is cut
  OperationMix outside{};  ///< elsewhere
  /// Points of the longest sum of a statement; of the statement itself where it has none.
  double least_steps = 1;
  double compulsory_bytes = 0;  ///< elements of arrays that are read, and that are written, once
  double written_bytes = 0;     ///< each time
};

/// Of the arrays, what no access touches, such as one half of a matrix whose other half is a
/// triangle; 0 for arrays with accesses that are not counted.
/// @param kernel  with types, and rules expanded
[[nodiscard]] double untouched_bytes(const Kernel& kernel, const IntegerValues& parameters);

/// What is written of arrays that a statement reads before the first one writes them: these
/// elements move twice. Never more than that; indices that are not affine count as one.
/// @param kernel  with types, and rules expanded
[[nodiscard]] double updated_bytes(const Kernel& kernel, const IntegerValues& parameters);

/// Parts of operations, from 0 to 1: of those within the reduction that is cut, and of others.
struct IdleShares {
  double in_sum = 0;
  double outside = 0;
};

/// The operations of reductions that do not depend on a loop around their statement.
[[nodiscard]] IdleShares idle_shares(const Kernel& kernel, const IntegerValues& parameters,
                                     const std::string& cut, const std::string& loop);

/// @param kernel  with types, and rules expanded
/// @param cut     the reduction that is cut, or empty
[[nodiscard]] KernelWork count_work(const Kernel& kernel, const IntegerValues& parameters,
                                    const std::string& cut);

/// The operations of a step of the sum that is cut, as shares of all: those whose operands depend
/// on neither of two loops of the results, on the first one alone, on the second, and on both. A
/// compiler computes the first three once for several items of a thread. What occurs several times
/// counts once, so that the shares may add up to less than 1.
[[nodiscard]] std::array<double, 4> shares_of_loops(const Kernel& kernel,
                                                    const IntegerValues& parameters,
                                                    const std::string& cut,
                                                    const std::array<std::string, 2>& loops);

}  // namespace rtcg::loopy::detail
