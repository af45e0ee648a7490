#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {

Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& map) {
  bool changed = false;
  const auto one = [&](const Expr& child) {
    Expr mapped = map(child);
    changed = changed || &mapped.node() != &child.node();
    return mapped;
  };
  const auto all = [&](const std::vector<Expr>& children) {
    std::vector<Expr> mapped;
    mapped.reserve(children.size());
    for (const Expr& child : children) {
      mapped.push_back(one(child));
    }
    return mapped;
  };
  const Expr mapped = match(
      expr, [&](const Integer&) -> Expr { return expr; }, [&](const Real&) -> Expr { return expr; },
      [&](const Name&) -> Expr { return expr; },
      [&](const Sum& e) -> Expr {
        // through the operator, so that constants that meet are folded
        const std::vector<Expr> terms = all(e.terms);
        if (!changed) {
          return expr;
        }
        Expr sum = terms.front();
        for (std::size_t i = 1; i < terms.size(); ++i) {
          sum = sum + terms[i];
        }
        return sum;
      },
      [&](const Product& e) -> Expr {
        const std::vector<Expr> factors = all(e.factors);
        if (!changed) {
          return expr;
        }
        Expr product = factors.front();
        for (std::size_t i = 1; i < factors.size(); ++i) {
          product = product * factors[i];
        }
        return product;
      },
      [&](const Quotient& e) -> Expr {
        return Quotient{one(e.numerator), one(e.denominator)};
      },
      [&](const FloorDiv& e) -> Expr { return floor_div(one(e.numerator), one(e.denominator)); },
      [&](const Modulo& e) -> Expr { return modulo(one(e.numerator), one(e.denominator)); },
      [&](const Power& e) -> Expr {
        return Power{one(e.base), one(e.exponent)};
      },
      [&](const Comparison& e) -> Expr {
        return Comparison{e.op, one(e.left), one(e.right)};
      },
      [&](const Logical& e) -> Expr {
        return Logical{e.op, all(e.operands)};
      },
      [&](const Not& e) -> Expr { return Not{one(e.operand)}; },
      [&](const Bitwise& e) -> Expr {
        return Bitwise{e.op, one(e.left), one(e.right)};
      },
      [&](const Conditional& e) -> Expr {
        return Conditional{one(e.condition), one(e.then_value), one(e.else_value)};
      },
      [&](const Access& e) -> Expr {
        return Access{e.array, all(e.indices)};
      },
      [&](const LinearAccess& e) -> Expr {
        return LinearAccess{e.array, one(e.index)};
      },
      [&](const Call& e) -> Expr {
        return Call{e.function, all(e.arguments)};
      },
      [&](const Cast& e) -> Expr {
        return Cast{e.type, one(e.operand)};
      },
      [&](const Reduction& e) -> Expr {
        return Reduction{e.operation, e.inames, all(e.operands)};
      });
  return changed ? mapped : expr;
}

Expr rewrite_bottom_up(const Expr& expr,
                       const std::function<std::optional<Expr>(const Expr&)>& rewrite) {
  const Expr inner =
      map_children(expr, [&](const Expr& child) { return rewrite_bottom_up(child, rewrite); });
  std::optional<Expr> rewritten = rewrite(inner);
  return rewritten ? *rewritten : inner;
}

Expr substitute(const Expr& expr, const Substitution& values) {
  if (values.empty()) {
    return expr;
  }
  if (const Name* name = get_if<Name>(expr)) {
    const auto found = values.find(name->name);
    return found == values.end() ? expr : found->second;
  }
  if (const Reduction* reduction = get_if<Reduction>(expr)) {
    Substitution outer = values;
    for (const std::string& iname : reduction->inames) {
      outer.erase(iname);
    }
    return map_children(expr, [&](const Expr& child) { return substitute(child, outer); });
  }
  return map_children(expr, [&](const Expr& child) { return substitute(child, values); });
}

Expr rename_all(const Expr& expr,
                const std::map<std::string, std::string, std::less<>>& new_names) {
  const auto renamed = [&](const std::string& old) {
    const auto found = new_names.find(old);
    return found == new_names.end() ? old : found->second;
  };
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    if (const Name* e = get_if<Name>(part)) {
      return Expr(Name{renamed(e->name)});
    }
    if (const Access* e = get_if<Access>(part)) {
      return Expr(Access{renamed(e->array), e->indices});
    }
    if (const LinearAccess* e = get_if<LinearAccess>(part)) {
      return Expr(LinearAccess{renamed(e->array), e->index});
    }
    if (const Call* e = get_if<Call>(part)) {
      return Expr(Call{renamed(e->function), e->arguments});
    }
    if (const Reduction* e = get_if<Reduction>(part)) {
      Reduction copy = *e;
      for (std::string& iname : copy.inames) {
        iname = renamed(iname);
      }
      return Expr(std::move(copy));
    }
    return std::nullopt;
  });
}

namespace {
using Names = std::set<std::string, std::less<>>;

void add_free_names(const Expr& expr, Names& names) {
  if (const Name* name = get_if<Name>(expr)) {
    names.insert(name->name);
    return;
  }
  if (const Reduction* reduction = get_if<Reduction>(expr)) {
    Names inner;
    for_each_child(expr, [&](const Expr& child) { add_free_names(child, inner); });
    for (const std::string& iname : reduction->inames) {
      inner.erase(iname);
    }
    names.merge(inner);
    return;
  }
  for_each_child(expr, [&](const Expr& child) { add_free_names(child, names); });
}
}  // namespace

Names free_names(const Expr& expr) {
  Names names;
  add_free_names(expr, names);
  return names;
}

Names accessed_arrays(const Expr& expr) {
  Names names;
  walk(expr, [&](const Expr& part) {
    if (const Access* e = get_if<Access>(part)) {
      names.insert(e->array);
    } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
      names.insert(linear->array);
    }
    return true;
  });
  return names;
}

Names called_functions(const Expr& expr) {
  Names names;
  walk(expr, [&](const Expr& part) {
    if (const Call* e = get_if<Call>(part)) {
      names.insert(e->function);
    }
    return true;
  });
  return names;
}

Names reduction_inames(const Expr& expr) {
  Names names;
  walk(expr, [&](const Expr& part) {
    if (const Reduction* e = get_if<Reduction>(part)) {
      names.insert(e->inames.begin(), e->inames.end());
    }
    return true;
  });
  return names;
}

}  // namespace rtcg::loopy
