#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "rtcg/cgen/ast/module.h"

namespace rtcg::cgen {

/// The callbacks for each type, expression and statement; empty ones are skipped.
struct ChildVisitor {
  std::function<void(const Type&)> type;
  std::function<void(const Expr&)> expr;
  std::function<void(const Statement&)> statement;
};

/// Calls the visitor for the direct children of a node, in the order in which they are printed
/// by and large: types, array extents, bodies, every branch of a preprocessor conditional, default
/// arguments, everything.
void for_each_child(const Type& tree, const ChildVisitor& visitor);
void for_each_child(const Expr& tree, const ChildVisitor& visitor);
void for_each_child(const Statement& tree, const ChildVisitor& visitor);

/// The callbacks for each node of a tree, parents first; nodes with an empty callback are only
/// passed through. If a function returns false, the walk skips that node's children.
struct WalkVisitor {
  std::function<bool(const Type&)> type;
  std::function<bool(const Expr&)> expr;
  std::function<bool(const Statement&)> statement;
};

/// Visits a tree and all below it, parents first, left to right. Does not recurse.
void walk(const Type& tree, const WalkVisitor& visitor);
void walk(const Expr& tree, const WalkVisitor& visitor);
void walk(const Statement& tree, const WalkVisitor& visitor);
void walk(const Module& module, const WalkVisitor& visitor);

/// The replacements of each node, whose children are rewritten already; an empty callback keeps it.
struct Rewriter {
  std::function<Type(const Type&)> type;
  std::function<Expr(const Expr&)> expr;
  std::function<Statement(const Statement&)> statement;
};

/// Rebuilds a tree from the leaves up.
///
/// A node without changes stays the same node, and a shared node is rewritten once, so sharing
/// survives. A rebuilt node keeps its origin; its type is inferred again.
[[nodiscard]] Type rewrite(const Type& tree, const Rewriter& rewriter);
[[nodiscard]] Expr rewrite(const Expr& tree, const Rewriter& rewriter);
[[nodiscard]] Statement rewrite(const Statement& tree, const Rewriter& rewriter);
[[nodiscard]] Module rewrite(const Module& module, const Rewriter& rewriter);

/// `tree` with every free variable that `values` names replaced by its value. Names that a lambda's
/// parameters hide, or a declaration within the statement, stay. Raw text stays as it is.
///
/// Recurses as deep as the tree. The values' own variables may be captured by declarations inside
/// `tree`: choose fresh names (NameGenerator) where that can happen.
[[nodiscard]] Expr substitute(const Expr& tree, const std::map<std::string, Expr>& values);
[[nodiscard]] Statement substitute(const Statement& tree,
                                   const std::map<std::string, Expr>& values);

/// The names that `tree` uses and does not declare: variables, functions, and the stated names of
/// raw text. Names of types are not among them.
[[nodiscard]] std::set<std::string> free_names(const Expr& tree);
[[nodiscard]] std::set<std::string> free_names(const Statement& tree);

}  // namespace rtcg::cgen
