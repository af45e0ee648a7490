#pragma once
// Internal header: it is not installed.

#include <unordered_set>

#include "rtcg/loopy/kernel/kernel.h"

// Values that statements compute again, which compilers compute once.

namespace rtcg::loopy::detail {

/// The expressions of one statement after the other, as long as the loops around them are the same
/// and nothing that they read is written.
class SeenValues {
 public:
  /// Begins a statement.
  void enter(const Instruction& instruction);
  /// Whether the expression was not seen before; it is from now on.
  bool add(const Expr& expr) { return seen_.insert(expr).second; }

 private:
  struct Hash {
    std::size_t operator()(const Expr& expr) const noexcept { return expr.hash(); }
  };

  NameSet inames_{};
  NameSet written_{};  ///< by the statement that was entered last
  std::unordered_set<Expr, Hash> seen_{};
};

}  // namespace rtcg::loopy::detail
