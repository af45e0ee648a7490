#include "rtcg/loopy/transform/equal_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/kernel/rename_kernel.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// What the domains say of some inames alone, with other names.
ConstraintSet range_of_inames(const Kernel& kernel, const std::vector<std::string>& inames,
                              const NewNames& names) {
  const NameSet own(inames.begin(), inames.end());
  std::vector<std::string> others;
  for (const std::string& each : all_inames(kernel)) {
    if (own.count(each) == 0) {
      others.push_back(each);
    }
  }
  return constraints_of(kernel, own).project_out(others).rename([&](const std::string& old) {
    return new_name(names, old);
  });
}

bool implies_all(const ConstraintSet& set, const ConstraintSet& all) {
  return std::all_of(all.constraints().begin(), all.constraints().end(),
                     [&](const auto& each) { return set.implies(each); }) &&
         std::all_of(all.congruences().begin(), all.congruences().end(),
                     [&](const auto& each) { return set.implies(each); });
}

}  // namespace

NameSet free_inames(const Kernel& kernel, const Expr& expr) {
  NameSet names = free_names(expr);
  std::erase_if(names, [&](const std::string& each) { return !is_iname(kernel, each); });
  return names;
}

bool has_own_bounds(const Kernel& kernel, const Expr& expr) {
  const NameSet bound = reduction_inames(expr);
  NameSet own = free_inames(kernel, expr);
  own.insert(bound.begin(), bound.end());
  if (with_parent_inames(kernel, own) != own) {
    return false;
  }
  const auto ties_to_others = [&](const Affine& form) {
    const Affine::Terms terms = form.terms();
    return std::any_of(terms.begin(), terms.end(),
                       [&](const auto& term) { return bound.count(term.name) != 0; }) &&
           std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
             return own.count(term.name) == 0 && is_iname(kernel, term.name);
           });
  };
  return std::none_of(kernel.domains.begin(), kernel.domains.end(), [&](const Domain& domain) {
    const auto is_tied = [&](const auto& each) { return ties_to_others(each.expr); };
    return std::any_of(domain.constraints.constraints().begin(),
                       domain.constraints.constraints().end(), is_tied) ||
           std::any_of(domain.constraints.congruences().begin(),
                       domain.constraints.congruences().end(), is_tied);
  });
}

std::uint64_t OrderedExpressions::hash_without_inames(const Expr& expr) const {
  NameSet inames = free_inames(kernel_, expr);
  inames.merge(reduction_inames(expr));
  NewNames names;
  for (const std::string& each : inames) {
    names.emplace(each, std::string(1, '#'));
  }
  return rename_all(expr, names).hash();
}

const OrderedExpressions::Ordered& OrderedExpressions::ordered(const Expr& expr) {
  const auto known = known_.find(&expr.node());
  if (known != known_.end()) {
    return known->second;
  }
  const auto sorted = [&](std::vector<Expr> parts) {
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const Expr& a, const Expr& b) { return hash(a) < hash(b); });
    return parts;
  };
  const Expr inner = map_children(expr, [&](const Expr& child) { return in_order(child); });
  const Sum* sum = get_if<Sum>(inner);
  const Product* product = get_if<Product>(inner);
  const Expr result = sum != nullptr       ? Expr(Sum{sorted(sum->terms)})
                      : product != nullptr ? Expr(Product{sorted(product->factors)})
                                           : inner;
  return known_.emplace(&expr.node(), Ordered{expr, result, hash_without_inames(result)})
      .first->second;
}

EqualValues::EqualValues(const Kernel& kernel, const Expr& value,
                         const std::vector<std::string>& inames)
    : EqualValues(kernel, value, inames, std::make_shared<OrderedExpressions>(kernel)) {}

EqualValues::EqualValues(const Kernel& kernel, const Expr& value,
                         const std::vector<std::string>& inames,
                         std::shared_ptr<OrderedExpressions> ordered)
    : kernel_(kernel),
      ordered_(std::move(ordered)),
      value_(value),
      inames_(inames),
      form_(form_of(value)),
      hash_(ordered_->hash(value)) {}

EqualValues::Form EqualValues::form_of(const Expr& expr) const {
  Form form{ordered_->in_order(expr)};
  NewNames names;
  const auto number = [&](const std::string& name) {
    if (names.emplace(name, fmt::format("#{}", form.inames.size())).second) {
      form.inames.push_back(name);
    }
  };
  walk(form.expr, [&](const Expr& part) {
    if (const Name* name = get_if<Name>(part); name != nullptr && is_iname(kernel_, name->name)) {
      number(name->name);
    }
    if (const Reduction* reduction = get_if<Reduction>(part)) {
      std::for_each(reduction->inames.begin(), reduction->inames.end(), number);
    }
    return true;
  });
  form.expr = rename_all(form.expr, names);
  return form;
}

bool EqualValues::takes_equal_values(const Form& other) const {
  NewNames names;
  std::vector<std::string> other_free;
  for (std::size_t i = 0; i < form_.inames.size(); ++i) {
    names[other.inames[i]] = form_.inames[i];
    if (std::find(inames_.begin(), inames_.end(), form_.inames[i]) != inames_.end()) {
      other_free.push_back(other.inames[i]);
    }
  }
  ConstraintSet own = range_of_inames(kernel_, form_.inames, {});
  const ConstraintSet others = range_of_inames(kernel_, other.inames, names);
  if (!implies_all(others, own)) {
    return false;
  }
  // reductions go over equally many values wherever the others are
  own.add(range_of_inames(kernel_, other_free, names));
  return implies_all(own, others);
}

std::optional<std::vector<std::string>> EqualValues::inames_of_equal(const Expr& expr) const {
  if (expr == value_) {
    return inames_;
  }
  if (expr.node().index != value_.node().index || ordered_->hash(expr) != hash_) {
    return std::nullopt;
  }
  const Form other = form_of(expr);
  if (!has_own_bounds(kernel_, expr) || !(other.expr == form_.expr) || !takes_equal_values(other)) {
    return std::nullopt;
  }
  std::vector<std::string> result;
  for (const std::string& each : inames_) {
    const auto found = std::find(form_.inames.begin(), form_.inames.end(), each);
    result.push_back(other.inames.at(static_cast<std::size_t>(found - form_.inames.begin())));
  }
  return result;
}

std::optional<Expr> EqualValues::factors_replaced(const Expr& expr, const Replace& replace) const {
  const Product* all = get_if<Product>(expr);
  const Product* wanted = get_if<Product>(value_);
  if (all == nullptr || wanted == nullptr || all->factors.size() <= wanted->factors.size()) {
    return std::nullopt;
  }
  std::vector<Expr> equal;
  std::vector<Expr> rest = all->factors;
  std::size_t place = rest.size();
  for (const Expr& each : wanted->factors) {
    const auto exact = std::find(rest.begin(), rest.end(), each);
    const auto found = exact != rest.end()
                           ? exact
                           : std::find_if(rest.begin(), rest.end(), [&](const Expr& other) {
                               return ordered_->hash(other) == ordered_->hash(each);
                             });
    if (found == rest.end()) {
      return std::nullopt;
    }
    place = std::min(place, static_cast<std::size_t>(found - rest.begin()));
    equal.push_back(*found);
    rest.erase(found);
  }
  const auto inames = inames_of_equal(Product{std::move(equal)});
  const auto element = inames ? replace(*inames) : std::nullopt;
  if (!element) {
    return std::nullopt;
  }
  rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(place), *element);
  return Product{std::move(rest)};
}

Expr EqualValues::replaced(const Expr& expr, const Replace& replace) const {
  if (as_scan(expr) != nullptr) {
    return expr;
  }
  if (const auto inames = inames_of_equal(expr)) {
    if (auto element = replace(*inames)) {
      return *element;
    }
  }
  const Expr outer = factors_replaced(expr, replace).value_or(expr);
  return map_children(outer, [&](const Expr& child) { return replaced(child, replace); });
}

int EqualValues::places() const {
  int places = 0;
  for (const Instruction& each : kernel_.instructions) {
    if (const Assignment* assignment = get_if<Assignment>(each)) {
      static_cast<void>(replaced(assignment->value, [&](const auto&) {
        ++places;
        return std::optional<Expr>(0);
      }));
    }
  }
  return places;
}

Expr most_shared_part(const Kernel& kernel, const Expr& value,
                      const std::vector<std::string>& inames) {
  const auto ordered = std::make_shared<OrderedExpressions>(kernel);
  const NameSet own = free_inames(kernel, value);
  Expr best = value;
  int most = EqualValues(kernel, value, inames, ordered).places();
  const auto look_at = [&](const Expr& part, const auto& again) -> void {
    if (free_inames(kernel, part) != own || reduction_inames(part).empty() ||
        as_scan(part) != nullptr) {
      return;
    }
    if (const int places = EqualValues(kernel, part, inames, ordered).places(); places > most) {
      best = part;
      most = places;
    }
    if (const Conditional* choice = get_if<Conditional>(part)) {
      again(choice->condition, again);
    } else if (!is<Logical>(part) && !is<Reduction>(part)) {
      for_each_child(part, [&](const Expr& child) { again(child, again); });
    }
  };
  look_at(value, look_at);
  return best;
}

}  // namespace rtcg::loopy
