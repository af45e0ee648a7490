#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// Calls `visit` on each direct part of `expr`, left to right.
template <class Visit>
void for_each_child(const Expr& expr, const Visit& visit);

/// Calls `visit` on `expr` and everything within, outermost first. Where `visit` returns false, it
/// does not go further in.
template <class Visit>
void walk(const Expr& expr, const Visit& visit) {
  if (visit(expr)) {
    for_each_child(expr, [&](const Expr& child) { walk(child, visit); });
  }
}

/// `expr` with each direct part replaced by `map(part)`; the same node where nothing changes.
[[nodiscard]] Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& map);

/// `expr` rewritten from the inside out: `rewrite` gets each part after its own parts are done, and
/// gives its replacement, or nothing to keep it.
[[nodiscard]] Expr rewrite_bottom_up(
    const Expr& expr, const std::function<std::optional<Expr>(const Expr&)>& rewrite);

using Substitution = std::map<std::string, Expr, std::less<>>;
/// `expr` with names replaced. Inames of a reduction within are bound there: they are left alone.
[[nodiscard]] Expr substitute(const Expr& expr, const Substitution& values);
/// Renames names, arrays, called functions and inames of reductions alike.
[[nodiscard]] Expr rename_all(const Expr& expr,
                              const std::map<std::string, std::string, std::less<>>& new_names);

/// Calls `visit` on each name of free_names, once for each occurrence in `expr`.
template <class Visit>
void for_each_free_name(const Expr& expr, const Visit& visit);
/// Names used as values: inames (bound ones not), parameters, scalars. Not arrays, not functions.
[[nodiscard]] std::set<std::string, std::less<>> free_names(const Expr& expr);
/// Arrays that are accessed.
[[nodiscard]] std::set<std::string, std::less<>> accessed_arrays(const Expr& expr);
/// Functions and substitution rules that are called.
[[nodiscard]] std::set<std::string, std::less<>> called_functions(const Expr& expr);
/// Inames of reductions within.
[[nodiscard]] std::set<std::string, std::less<>> reduction_inames(const Expr& expr);

template <class Visit>
void for_each_child(const Expr& expr, const Visit& visit) {
  const auto all = [&](const std::vector<Expr>& exprs) {
    for (const Expr& each : exprs) {
      visit(each);
    }
  };
  match(
      expr, [](const Integer&) {}, [](const Real&) {}, [](const Name&) {},
      [&](const Sum& e) { all(e.terms); }, [&](const Product& e) { all(e.factors); },
      [&](const Quotient& e) { visit(e.numerator), visit(e.denominator); },
      [&](const FloorDiv& e) { visit(e.numerator), visit(e.denominator); },
      [&](const Modulo& e) { visit(e.numerator), visit(e.denominator); },
      [&](const Power& e) { visit(e.base), visit(e.exponent); },
      [&](const Comparison& e) { visit(e.left), visit(e.right); },
      [&](const Logical& e) { all(e.operands); }, [&](const Not& e) { visit(e.operand); },
      [&](const Bitwise& e) { visit(e.left), visit(e.right); },
      [&](const Conditional& e) { visit(e.condition), visit(e.then_value), visit(e.else_value); },
      [&](const Access& e) { all(e.indices); }, [&](const LinearAccess& e) { visit(e.index); },
      [&](const Call& e) { all(e.arguments); }, [&](const Cast& e) { visit(e.operand); },
      [&](const Reduction& e) { all(e.operands), all(e.order); });
}

namespace detail {

/// The inames of the reductions around a part of an expression.
struct BoundInames {
  const std::vector<std::string>& inames;
  const BoundInames* outer;
};

template <class Visit>
void visit_free_names(const Expr& expr, const BoundInames* bound, const Visit& visit) {
  if (const Name* name = get_if<Name>(expr)) {
    for (const BoundInames* each = bound; each != nullptr; each = each->outer) {
      if (std::find(each->inames.begin(), each->inames.end(), name->name) != each->inames.end()) {
        return;
      }
    }
    visit(name->name);
  } else if (const Reduction* reduction = get_if<Reduction>(expr)) {
    const BoundInames inner{reduction->inames, bound};
    for_each_child(expr, [&](const Expr& child) { visit_free_names(child, &inner, visit); });
  } else {
    for_each_child(expr, [&](const Expr& child) { visit_free_names(child, bound, visit); });
  }
}

}  // namespace detail

template <class Visit>
void for_each_free_name(const Expr& expr, const Visit& visit) {
  detail::visit_free_names(expr, nullptr, visit);
}

}  // namespace rtcg::loopy
