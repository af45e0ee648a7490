#include "rtcg/cgen/ast/traverse.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/walk.h"

namespace rtcg::cgen {
namespace {

/// Calls what `functions`, a ChildVisitor or WalkVisitor, has for the family of a tree.
template <class Visitor>
class ByFamily {
 public:
  explicit ByFamily(const Visitor& functions) : functions_(functions) {}
  auto operator()(const Type& tree) const { return call(functions_.type, tree); }
  auto operator()(const Expr& tree) const { return call(functions_.expr, tree); }
  auto operator()(const Statement& tree) const { return call(functions_.statement, tree); }

 private:
  template <class Tree>
  static bool call(const std::function<bool(const Tree&)>& function, const Tree& tree) {
    return !function || function(tree);
  }
  template <class Tree>
  static void call(const std::function<void(const Tree&)>& function, const Tree& tree) {
    if (function) {
      function(tree);
    }
  }

  const Visitor& functions_;
};

template <class Tree>
void visit_by_family(const Tree& tree, const ChildVisitor& visitor) {
  const ByFamily visit(visitor);
  detail::visit_children(tree, visit);
}

template <class Tree>
void walk_by_family(const Tree& tree, const WalkVisitor& visitor) {
  const ByFamily visit(visitor);
  detail::Walk{visit}(tree);
}

SourceOrigin origin_of(const Expr& expr) {
  return expr.where();
}
SourceOrigin origin_of(const Statement& statement) {
  return statement.where();
}

template <class Kind>
Type make_again(const Type&, Kind kind) {
  return Type(std::move(kind));
}
template <class Tree, class Kind>
Tree make_again(const Tree& tree, Kind kind) {
  return Tree(std::move(kind), origin_of(tree));
}

/// The node with `map` applied to each child in turn; the same node when no child changes.
template <class Tree, class Map>
Tree map_children(const Tree& tree, Map& map) {
  return match(tree, [&](const auto& kind) -> Tree {
    auto copy = kind;
    bool is_changed = false;
    auto replace = [&](auto& child) {
      auto mapped = map(child);
      if (&mapped.node() != &child.node()) {
        child = std::move(mapped);
        is_changed = true;
      }
    };
    detail::for_each_handle(copy, replace);
    return is_changed ? make_again(tree, std::move(copy)) : tree;
  });
}

template <class Tree>
bool has_children(const Tree& tree) {
  bool has_some = false;
  const auto note = [&](const auto&) { has_some = true; };
  detail::visit_children(tree, note);
  return has_some;
}

class Rewriting {
 public:
  explicit Rewriting(const Rewriter& rewriter) : rewriter_(rewriter) {}

  Type operator()(const Type& tree) { return run(tree, rewriter_.type, types_); }
  Expr operator()(const Expr& tree) {
    if (depth_ == most_depth) {
      rewrite_below(tree);
    }
    ++depth_;
    Expr result = run(tree, rewriter_.expr, exprs_);
    --depth_;
    return result;
  }
  Statement operator()(const Statement& tree) {
    return run(tree, rewriter_.statement, statements_);
  }

 private:
  static constexpr int most_depth = 200;

  /// Rewrites the deepest expressions first, so that a long chain needs no deep stack.
  void rewrite_below(const Expr& tree) {
    std::vector<const Expr*> order;
    std::unordered_set<const void*> seen;
    const auto visit = [&](const auto& part) {
      if (!has_children(part)) {
        return false;  // its parent rewrites it
      }
      const bool is_new = seen.insert(&part.node()).second;
      if constexpr (std::is_same_v<decltype(part), const Expr&>) {
        if (is_new) {
          order.push_back(&part);
        }
      }
      return is_new;
    };
    detail::Walk{visit}(tree);
    const int depth = std::exchange(depth_, 0);
    for (auto e = order.rbegin(); e != order.rend(); ++e) {
      (*this)(**e);
    }
    depth_ = depth;
  }

  // The key owns its node, so that no address is used twice while we run.
  template <class Tree>
  struct Done {
    Tree from;
    Tree to;
  };
  template <class Tree>
  using Memory = std::unordered_map<const void*, Done<Tree>>;

  template <class Tree>
  Tree run(const Tree& tree, const std::function<Tree(const Tree&)>& function,
           Memory<Tree>& memory) {
    if (const auto found = memory.find(&tree.node()); found != memory.end()) {
      return found->second.to;
    }
    bool has_some = false;
    bool has_changed = false;
    const auto note_change = [&](const auto& child) {
      has_some = true;
      const auto mapped = (*this)(child);
      has_changed = has_changed || &mapped.node() != &child.node();
    };
    // most nodes stay as they are: a node is copied only if a child changes, which is known by then
    detail::visit_children(tree, note_change);
    Tree result = has_changed ? map_children(tree, *this) : tree;
    if (function) {
      result = function(result);
    }
    if (has_some || &result.node() != &tree.node()) {
      memory.emplace(&tree.node(), Done<Tree>{tree, result});
    }
    return result;
  }

  const Rewriter& rewriter_;
  Memory<Type> types_;
  Memory<Expr> exprs_;
  Memory<Statement> statements_;
  int depth_ = 0;  // of expressions that are being rewritten
};

using Values = std::map<std::string, Expr>;

/// Removes from `values` the names that `statement` declares for what follows it.
void hide_declared(const Statement& statement, Values& values) {
  match(
      statement, [&](const Declaration& d) { values.erase(d.name); },
      [&](const Function& f) { values.erase(f.name); },
      [&](const StructuredBinding& b) {
        for (const std::string& name : b.names) {
          values.erase(name);
        }
      },
      [&](const RawStatement& r) {
        for (const std::string& name : r.names_declared) {
          values.erase(name);
        }
      },
      [&](const Group& g) {
        for (const Statement& inner : g.statements) {
          hide_declared(inner, values);
        }
      },
      [&](const PreprocessorIf& p) {
        for (const PreprocessorBranch& branch : p.branches) {
          for (const Statement& inner : branch.body) {
            hide_declared(inner, values);
          }
        }
      },
      [](const auto&) {});
}

void hide_parameters(const std::vector<Parameter>& parameters, Values& values) {
  for (const Parameter& parameter : parameters) {
    values.erase(parameter.name);
  }
}

/// Substitution within one scope: the values shrink as declarations hide them.
class Substitution {
 public:
  explicit Substitution(Values values) : values_(std::move(values)) {}

  Type operator()(const Type& type) { return map_children(type, *this); }

  Expr operator()(const Expr& expr) {
    if (const auto* variable = get_if<Variable>(expr)) {
      const auto found = values_.find(variable->name);
      return found == values_.end() ? expr : found->second;
    }
    if (const auto found = done_.find(&expr.node()); found != done_.end()) {
      return found->second.second;
    }
    Expr result = substitute_within(expr);
    done_.emplace(&expr.node(), std::make_pair(expr, result));
    return result;
  }

  Statement operator()(const Statement& statement) {
    if (const auto* attempt = get_if<Try>(statement)) {
      return substitute_handlers(statement, *attempt);
    }
    Values inner_values = values_;
    if (const auto* function = get_if<Function>(statement)) {
      hide_parameters(function->parameters, inner_values);
    }
    Substitution inner(std::move(inner_values));
    Statement result = map_children(statement, inner);
    const std::size_t count = values_.size();
    hide_declared(statement, values_);
    if (values_.size() != count) {
      done_.clear();
    }
    return result;
  }

 private:
  /// Each handler hides its own parameter.
  Statement substitute_handlers(const Statement& statement, const Try& attempt) const {
    Try result = attempt;
    Substitution body(values_);
    result.body = body(attempt.body);
    bool is_changed = &result.body.node() != &attempt.body.node();
    for (Handler& handler : result.handlers) {
      Values inner_values = values_;
      if (handler.exception) {
        hide_parameters({*handler.exception}, inner_values);
      }
      Substitution inner(std::move(inner_values));
      const Statement changed = inner(handler.body);
      is_changed = is_changed || &changed.node() != &handler.body.node();
      handler.body = changed;
    }
    return is_changed ? Statement(std::move(result), statement.where()) : statement;
  }

  Expr substitute_within(const Expr& expr) {
    if (const auto* lambda = get_if<Lambda>(expr)) {
      Values inner_values = values_;
      hide_parameters(lambda->parameters, inner_values);
      Substitution inner(std::move(inner_values));
      return map_children(expr, inner);
    }
    return map_children(expr, *this);
  }

  Values values_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;
};

}  // namespace

void for_each_child(const Type& tree, const ChildVisitor& visitor) {
  visit_by_family(tree, visitor);
}
void for_each_child(const Expr& tree, const ChildVisitor& visitor) {
  visit_by_family(tree, visitor);
}
void for_each_child(const Statement& tree, const ChildVisitor& visitor) {
  visit_by_family(tree, visitor);
}

void walk(const Type& tree, const WalkVisitor& visitor) {
  walk_by_family(tree, visitor);
}
void walk(const Expr& tree, const WalkVisitor& visitor) {
  walk_by_family(tree, visitor);
}
void walk(const Statement& tree, const WalkVisitor& visitor) {
  walk_by_family(tree, visitor);
}
void walk(const Module& module, const WalkVisitor& visitor) {
  for (const Statement& item : module.items) {
    walk(item, visitor);
  }
}

Type rewrite(const Type& tree, const Rewriter& rewriter) {
  return Rewriting(rewriter)(tree);
}
Expr rewrite(const Expr& tree, const Rewriter& rewriter) {
  return Rewriting(rewriter)(tree);
}
Statement rewrite(const Statement& tree, const Rewriter& rewriter) {
  return Rewriting(rewriter)(tree);
}
Module rewrite(const Module& module, const Rewriter& rewriter) {
  Rewriting rewriting(rewriter);
  Module result{module.name, {}};
  for (const Statement& item : module.items) {
    result.items.push_back(rewriting(item));
  }
  return result;
}

Expr substitute(const Expr& tree, const std::map<std::string, Expr>& values) {
  return Substitution(values)(tree);
}
Statement substitute(const Statement& tree, const std::map<std::string, Expr>& values) {
  return Substitution(values)(tree);
}

}  // namespace rtcg::cgen
