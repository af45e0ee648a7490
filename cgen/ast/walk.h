#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rtcg/cgen/ast/fields.h"

// What traverse.h offers through std::function, with the callables known at compile time: for the
// passes that look at every node of every module, where calling would cost more than looking.

namespace rtcg::cgen::detail {

/// Visits trees and all below them, parents first, left to right. Does not recurse.
///
/// `Visit` takes a Type, an Expr or a Statement and says whether to enter its children. Where it
/// has `is_done(child)` as well, it is asked when the parent is entered, so earlier than in the
/// order of the visits: a child that is done is left out with all below it. One object serves any
/// number of trees, one after another, and keeps its stack from one to the next. Not to be used
/// again once `Visit` has thrown.
template <class Visit>
class Walk {
 public:
  explicit Walk(Visit& visit) : visit_(visit) {}

  template <class Tree>
  void operator()(const Tree& root) {
    enter(root);
    while (!stack_.empty()) {
      const AnyTree next = stack_.back();
      stack_.pop_back();
      switch (next.family) {
        case Family::type:
          enter(*static_cast<const Type*>(next.handle));
          break;
        case Family::expr:
          enter(*static_cast<const Expr*>(next.handle));
          break;
        case Family::statement:
          enter(*static_cast<const Statement*>(next.handle));
          break;
      }
    }
  }

 private:
  enum class Family { type, expr, statement };

  struct AnyTree {
    explicit AnyTree(const Type& tree) : handle(&tree), family(Family::type) {}
    explicit AnyTree(const Expr& tree) : handle(&tree), family(Family::expr) {}
    explicit AnyTree(const Statement& tree) : handle(&tree), family(Family::statement) {}
    const void* handle;  // not owned: the root holds all
    Family family;
  };

  template <class Tree>
  void enter(const Tree& tree) {
    if (!visit_(tree)) {
      return;
    }
    const std::size_t count = stack_.size();
    auto push = [this](const auto& child) {
      if constexpr (requires { visit_.is_done(child); }) {
        if (visit_.is_done(child)) {
          return;
        }
      }
      __builtin_prefetch(&child.node());  // looked at soon, and seldom in a cache
      stack_.push_back(AnyTree(child));
    };
    match(tree, [&](const auto& kind) { for_each_handle(kind, push); });
    // the first child is the first to be taken off
    std::reverse(stack_.begin() + static_cast<std::ptrdiff_t>(count), stack_.end());
  }

  Visit& visit_;
  std::vector<AnyTree> stack_;
};

/// Whether the node may stand in more than one place.
inline bool is_shared(const Expr& tree) {
  return NodeAccess::pointer(tree).use_count() > 1;
}

/// Asks for the memory of a statement that is looked at next. Its parts were mostly made just
/// before it, so they lie in front of it; where they do not, nothing is lost. Large trees are in no
/// cache, and waiting for each node in turn takes longer than printing it.
inline void fetch(const Statement& tree) {
  constexpr std::uintptr_t line_bytes = 64;
  const auto node = reinterpret_cast<std::uintptr_t>(&tree.node());
  for (std::uintptr_t at = node - 32 * line_bytes; at != node + 3 * line_bytes; at += line_bytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(at));
  }
}

/// Calls `visit` for the direct children of a node, in the order of for_each_child.
template <class Tree, class Visit>
void visit_children(const Tree& tree, Visit& visit) {
  match(tree, [&](const auto& kind) { for_each_handle(kind, visit); });
}

}  // namespace rtcg::cgen::detail
