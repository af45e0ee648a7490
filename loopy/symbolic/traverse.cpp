#include "rtcg/loopy/symbolic/traverse.h"

#include "rtcg/loopy/symbolic/fold.h"
#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::loopy {

namespace {

/// The parts of a node, mapped: copied only from the first changed part on.
class MappedList {
 public:
  MappedList(const std::vector<Expr>& parts, const std::function<Expr(const Expr&)>& map) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Expr mapped = map(parts[i]);
      if (mapped_.empty() && &mapped.node() == &parts[i].node()) {
        continue;
      }
      if (mapped_.empty()) {
        mapped_.reserve(parts.size());
        mapped_.assign(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i));
      }
      has_changed_ = true;
      mapped_.push_back(std::move(mapped));
    }
  }
  [[nodiscard]] bool has_changed() const noexcept { return has_changed_; }
  [[nodiscard]] std::vector<Expr> take() { return std::move(mapped_); }

 private:
  std::vector<Expr> mapped_;
  bool has_changed_ = false;
};

}  // namespace

Expr map_children(const Expr& expr, const std::function<Expr(const Expr&)>& map) {
  // a node is made only where a part has changed
  const auto is_same = [](const Expr& mapped, const Expr& part) {
    return &mapped.node() == &part.node();
  };
  const auto one = [&](const Expr& part, const auto& make) -> Expr {
    Expr mapped = map(part);
    return is_same(mapped, part) ? expr : Expr(make(std::move(mapped)));
  };
  const auto two = [&](const Expr& left, const Expr& right, const auto& make) -> Expr {
    Expr l = map(left);
    Expr r = map(right);
    return is_same(l, left) && is_same(r, right) ? expr : Expr(make(std::move(l), std::move(r)));
  };
  const auto all = [&](const std::vector<Expr>& parts, const auto& make) -> Expr {
    MappedList mapped(parts, map);
    return mapped.has_changed() ? Expr(make(mapped.take())) : expr;
  };
  return match(
      expr, [&](const Integer&) -> Expr { return expr; }, [&](const Real&) -> Expr { return expr; },
      [&](const Name&) -> Expr { return expr; },
      [&](const Sum& e) {
        return all(e.terms, sum_of);  // constants that meet are folded
      },
      [&](const Product& e) { return all(e.factors, product_of); },
      [&](const Quotient& e) {
        return two(e.numerator, e.denominator, [](Expr n, Expr d) {
          return Quotient{std::move(n), std::move(d)};
        });
      },
      [&](const FloorDiv& e) { return two(e.numerator, e.denominator, floor_div); },
      [&](const Modulo& e) { return two(e.numerator, e.denominator, modulo); },
      [&](const Power& e) {
        return two(e.base, e.exponent, [](Expr b, Expr x) {
          return Power{std::move(b), std::move(x)};
        });
      },
      [&](const Comparison& e) {
        return two(e.left, e.right, [&](Expr l, Expr r) {
          return Comparison{e.op, std::move(l), std::move(r)};
        });
      },
      [&](const Logical& e) {
        return all(e.operands, [&](std::vector<Expr> parts) {
          return Logical{e.op, std::move(parts)};
        });
      },
      [&](const Not& e) { return one(e.operand, [](Expr part) { return Not{std::move(part)}; }); },
      [&](const Bitwise& e) {
        return two(e.left, e.right, [&](Expr l, Expr r) {
          return Bitwise{e.op, std::move(l), std::move(r)};
        });
      },
      [&](const Conditional& e) -> Expr {
        Conditional mapped{map(e.condition), map(e.then_value), map(e.else_value)};
        const bool is_unchanged = is_same(mapped.condition, e.condition) &&
                                  is_same(mapped.then_value, e.then_value) &&
                                  is_same(mapped.else_value, e.else_value);
        return is_unchanged ? expr : Expr(std::move(mapped));
      },
      [&](const Access& e) {
        return all(e.indices, [&](std::vector<Expr> parts) {
          return Access{e.array, std::move(parts)};
        });
      },
      [&](const LinearAccess& e) {
        return one(e.index, [&](Expr part) { return LinearAccess{e.array, std::move(part)}; });
      },
      [&](const Call& e) {
        return all(e.arguments, [&](std::vector<Expr> parts) {
          return Call{e.function, std::move(parts)};
        });
      },
      [&](const Cast& e) {
        return one(e.operand, [&](Expr part) { return Cast{e.type, std::move(part)}; });
      },
      [&](const Reduction& e) -> Expr {
        MappedList operands(e.operands, map);
        MappedList order(e.order, map);
        if (!operands.has_changed() && !order.has_changed()) {
          return expr;
        }
        return Reduction{e.operation, e.inames,
                         operands.has_changed() ? operands.take() : e.operands,
                         order.has_changed() ? order.take() : e.order};
      });
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
      if (!is_known_operation(copy.operation)) {
        copy.operation = renamed(copy.operation);
      }
      return Expr(std::move(copy));
    }
    return std::nullopt;
  });
}

namespace {
using Names = std::set<std::string, std::less<>>;
}  // namespace

Names free_names(const Expr& expr) {
  Names names;
  for_each_free_name(expr, [&](const std::string& each) { names.insert(each); });
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
