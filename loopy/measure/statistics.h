#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/analyze/polynomial.h"
#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// A count as a function of the parameters of the kernel.
class Count {
 public:
  /// Once for each value that `inames` take in `points`.
  void add(ConstraintSet points, std::vector<std::string> inames);

  /// What of it is within the loops of an iname.
  [[nodiscard]] Count within(std::string_view iname) const;
  /// Exact if affine bounds describe the points.
  /// @throws InvalidInput  loopy.statistics.missing_parameter
  /// @throws Unsupported   loopy.statistics.not_countable, the bounds depend on values that the
  ///                       kernel computes or are congruences
  [[nodiscard]] std::int64_t evaluate(const IntegerValues& parameters) const;
  /// Holds for all parameters that leave no loop empty; nothing where one polynomial does not do.
  [[nodiscard]] std::optional<Polynomial> closed_form() const;

 private:
  struct Part {
    ConstraintSet points;
    std::vector<std::string> inames;
    std::int64_t times = 1;
  };
  std::vector<Part> parts_;
};

/// Accesses to an array that go through memory alike.
struct AccessCount {
  std::string array{};
  bool is_write = false;
  /// The distance in elements between the accesses of neighbouring threads or blocks, for each axis
  /// of the statement, `l.0` and `g.1`; nothing if it is not constant.
  std::map<std::string, std::optional<Expr>> strides{};
  Count count{};
};

struct Statistics {
  /// Arithmetic on values by `add`, `multiply`, `divide`, `power`, `compare` or the function's
  /// name, and the type it is done in: `{"add", "f32"}`. A reduction does one operation for each
  /// value of its inames; subtracting is adding. Arithmetic of indices is left out, also in conditions.
  std::map<std::pair<std::string, std::string>, Count> operations{};
  /// By array.
  std::map<std::string, Count> loads{};
  std::map<std::string, Count> stores{};
  /// The same, by strides; in the order of the statements.
  std::vector<AccessCount> accesses{};
};

/// How often the operations of an expression count that statements in the same loops contain
/// several times, as rules do that are used twice: each time, or once, as compilers compute it.
enum class RepeatedValues : std::uint8_t { each_time, once };

/// Counts the operations of the statements of a kernel in one run, over all its lanes, before any
/// compiler optimises. Every block of the grid fills its temporaries, also along axes that the
/// statement does not mention. Affine predicates and branches are counted exactly; others count as
/// if they always held.
///
/// @param kernel  with types, and rules expanded
[[nodiscard]] Statistics count_operations(const Kernel& kernel,
                                          RepeatedValues repeated = RepeatedValues::each_time);

/// The number of barriers that a block passes in all launches; the largest number if bounds of
/// loops differ from block to block.
///
/// @param kernel  preprocessed
/// @param tree    its schedule, with barriers
[[nodiscard]] Count count_barriers(const Kernel& kernel, const LoopTree& tree);

/// How many launches a run makes, where blocks can wait for a last one. @param kernel, tree  as count_barriers
[[nodiscard]] Count count_launches(const Kernel& kernel, const LoopTree& tree);

}  // namespace rtcg::loopy
