#pragma once

#include <concepts>
#include <cstdint>

#include "rtcg/cgen/ast/statement.h"

// Structural equality and hashing. Where a node was built does not count. Neither recurses: trees
// of any depth are compared in a loop, and the hash is made with the node.

namespace rtcg::cgen {

[[nodiscard]] bool equal_trees(const Type& left, const Type& right);
[[nodiscard]] bool equal_trees(const Expr& left, const Expr& right);
[[nodiscard]] bool equal_trees(const Statement& left, const Statement& right);

inline bool operator==(const Type& left, const Type& right) {
  return equal_trees(left, right);
}
inline bool operator==(const Statement& left, const Statement& right) {
  return equal_trees(left, right);
}
/// Only for two expressions: `x == 0` is a mistake for `equal(x, 0)` and does not compile.
template <std::derived_from<Expr> Left, std::derived_from<Expr> Right>
bool operator==(const Left& left, const Right& right) {
  return equal_trees(left, right);
}

/// For std::unordered_map and its like.
struct TreeHash {
  template <class Tree>
  std::size_t operator()(const Tree& tree) const noexcept {
    return static_cast<std::size_t>(tree.hash());
  }
};

}  // namespace rtcg::cgen
