#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/polynomial.h"
#include "rtcg/loopy/schedule/loop_tree.h"

namespace rtcg::loopy {

/// How often something happens, as a function of the parameters of the kernel.
class Count {
 public:
  /// Once for each value that `inames` take in `points`.
  void add(ConstraintSet points, std::vector<std::string> inames);

  /// Exact where the points are described by affine bounds.
  /// @throws InvalidInput  loopy.statistics.missing_parameter
  /// @throws Unsupported   loopy.statistics.not_countable, where the bounds depend on what the
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
  /// How many elements lie between what a thread or a block touches and what its neighbour does, by
  /// the axes that the statement lies on, `l.0` and `g.1`; nothing where that differs from place to
  /// place.
  std::map<std::string, std::optional<Expr>> strides{};
  Count count{};
};

struct Statistics {
  /// Arithmetic on values by `add`, `multiply`, `divide`, `power`, `compare` or the function's
  /// name, and the type it is done in: `{"add", "f32"}`. A reduction does one operation for each
  /// value of its inames; subtracting is adding. Arithmetic of indices and conditions is left out.
  std::map<std::pair<std::string, std::string>, Count> operations{};
  /// By array.
  std::map<std::string, Count> loads{};
  std::map<std::string, Count> stores{};
  /// The same, told apart by their strides; in the order of the statements.
  std::vector<AccessCount> accesses{};
};

/// Counts what the statements of a kernel do in one run, over all its lanes, before any compiler
/// has its way. What fills a temporary is done by every block of the grid, along axes that it does
/// not mention too. Predicates and branches count where they are affine; what stands under others
/// is counted as if they always held.
///
/// @param kernel  with types, and rules expanded
[[nodiscard]] Statistics count_operations(const Kernel& kernel);

/// How often a block meets at a barrier, in all launches together: the block that does so most
/// often, where bounds of loops differ from block to block.
///
/// @param kernel  preprocessed
/// @param tree    its schedule, with barriers
[[nodiscard]] Count count_barriers(const Kernel& kernel, const LoopTree& tree);

/// How many launches a run makes. @param kernel, tree  as count_barriers
[[nodiscard]] Count count_launches(const Kernel& kernel, const LoopTree& tree);

}  // namespace rtcg::loopy
